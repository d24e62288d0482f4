// Does canonical-bytes.mjs reproduce the golden file? Exit code 0 if it does:
//   node examples/canonical-bytes-check.mjs conformance/golden/journey.json
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { canonical, closedView, covered, digest, parse, projection, stateDigest } from "./canonical-bytes.mjs";

const golden = JSON.parse(readFileSync(process.argv[2], "utf8"));
const input = (entry) => parse(entry.input);
const request = (entry) => covered(input(entry), entry.definition_digest);
const view = (entry) => closedView(input(entry), entry.sequence);
let reproduced = 0;
for (const [section, valueOf, digestOf] of [
  ["canonical_json", input, digest],
  ["definitions", view, digest],
  ["requests", request, digest],
  ["projections", projection, stateDigest],
  ["states", input, stateDigest],
]) {
  for (const entry of golden[section]) {
    const where = `${section}, ${entry.name}`;
    const text = canonical(valueOf(entry));
    if (entry.canonical !== undefined) assert.equal(text, entry.canonical, where);
    if (entry.hex !== undefined) assert.equal(Buffer.from(text).toString("hex"), entry.hex, where);
    assert.equal(digestOf(valueOf(entry)), entry.digest, where);
    reproduced += 1;
  }
}
const judged = golden.refused.filter((entry) => entry.rule !== "schema");
for (const entry of judged) {
  assert.throws(() => request(entry), { message: entry.problem }, `refused, ${entry.name}`);
}
console.log(`${reproduced} reproduced, ${judged.length} refused, ${golden.refused.length - judged.length} left to the schemas`);
