// docs/canonical-bytes.md in JavaScript, without dependencies. See canonical-bytes-check.mjs.
import { createHash } from "node:crypto";

const refuse = (problem) => { throw new RangeError(problem); };
const record = (names, value) => Object.fromEntries(names.map((name) => [name, value[name] ?? null]));

export function canonical(value) {
  if (typeof value === "string" && !value.isWellFormed()) refuse("wrong_form");
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (/[^\0-\x7f]/.test(Object.keys(value).join())) refuse("unknown_field");
  return `{${Object.keys(value).sort().map((n) => `${JSON.stringify(n)}:${canonical(value[n])}`).join()}}`;
}

export function parse(text) { // JSON.parse takes 1.0 for 1, so numbers are looked at as they are spelled.
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (token[0] !== '"' && /[.eE]/.test(token)) refuse("wrong_type");
    if (token[0] !== '"' && !Number.isSafeInteger(Number(token))) refuse("out_of_bounds");
  }
  canonical(JSON.parse(text)); // refuses what has no canonical form
  return JSON.parse(text);
}

function moment(text) {
  const form = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,3})0*)?(?:Z|\+00:00)$/;
  const [, body, fraction = ""] = (text.length <= 40 && form.exec(text)) || refuse("wrong_form");
  const written = `${body}.${fraction.padEnd(3, "0")}Z`, read = new Date(written);
  return read >= 0 && read.toISOString() === written ? written : refuse("wrong_form");
}

const overlaid = (registry, name) => [...new Map([registry, ...(registry.overlays ?? [])]
  .flatMap((each) => each[name] ?? []).map((declared) => [declared.id, declared])).values()];

export function closedView(registry, id) {
  const [workflows, entrypoints, transitions, sequences] =
    ["workflows", "entrypoints", "transitions", "workflow_sequences"].map((name) => overlaid(registry, name));
  const byId = (list) => list.sort((a, b) => (a.id < b.id ? -1 : 1));
  const declared = sequences.find((sequence) => sequence.id === id);
  const steps = declared.steps.map((s) => ({ workflows: s.workflows ?? [], transition: s.transition ?? null }));
  const entries = entrypoints.filter((e) => e.sequence === id).map((e) =>
    ({ accepts_initial_message: e.accepts_initial_message ?? false, ...record(["id", "sequence", "transition"], e) }));
  const chosen = transitions.filter((t) => [...entries, ...steps].some((each) => each.transition === t.id));
  const named = [...steps.flatMap((step) => step.workflows), ...chosen.map((t) => t.route_to)];
  const members = workflows.filter((w) => named.includes(w.id));
  const variables = (option) => (option.context_variables ?? []).map((v) => record(["name", "value"], v));
  const options = (t) => (t.options ?? []).map((option) =>
    ({ context_variables: variables(option), ...record(["id", "sequence", "route_to"], option) }));
  const transition = (t) => ({ transition_type: t.transition_type ?? "user_choice_context", options: options(t),
    ...record(["id", "route_to"], t) });
  return { sequence: { id, steps }, entrypoints: byId(entries), transitions: byId(chosen.map(transition)),
    workflows: byId(members.map((w) => ({ dependencies: w.dependencies ?? [], ...record(["id", "startup_mode"], w) }))) };
}

export function covered({ access, policy, route_choices = [], semantic_references = [], ...request }, definition_digest) {
  const limits = ["workflow_run", "task_attempt", "workflow_repair", "app_refinement"].map((n) => `max_${n}_starts`);
  limits.push("max_provider_retry_attempts", "max_structured_output_correction_attempts");
  const scope = record(["tenant_id", "owner_id", "workspace_id", "build_scope_id"], access);
  const artifacts = record(["on_non_success", "retain_until_utc"], policy.partial_artifact_policy);
  if (artifacts.retain_until_utc !== null) artifacts.retain_until_utc = moment(artifacts.retain_until_utc);
  const bounds = { deadline_utc: moment(policy.deadline_utc), partial_artifact_policy: artifacts };
  return { ...record(["workflow_sequence_id", "entry", "initial_message"], request), definition_digest, route_choices,
    semantic_references, creation_scope: Object.values(scope), policy: { ...policy, ...record(limits, policy), ...bounds } };
}

function projected(value, names, field = "") { // In the file every identity has a name, so there is no $?1.
  const at = (id) => names.findIndex((n) => n.value === id);
  if (/_id$|_token$/.test(field) && at(value) >= 0) return `$${names[at(value)].name}`;
  if (value === null || typeof value !== "object") return value;
  if (field === "workflow_runs") value.sort((a, b) => at(a.workflow_run_id) - at(b.workflow_run_id));
  if (Array.isArray(value)) return value.map((each) => projected(each, names));
  const kept = Object.keys(value).filter((key) => !/^(record|created)_version$/.test(key));
  return Object.fromEntries(kept.map((key) => [key, projected(value[key], names, key)]));
}

export function projection({ names, answers }) {
  const read = (operation) => parse(answers[operation]);
  return { J: projected({ snapshot: read("snapshot"), outcome: read("terminal_outcome"), settled: read("settled_result"),
    ...read("list_workflow_runs"), ...read("list_reservations"), ...read("list_discrepancies") }, names) };
}

const sha256 = (text) => createHash("sha256").update(text, "utf8").digest("hex");
export const digest = (value) => `sha256:${sha256(canonical(value))}`;
export const stateDigest = (value) => sha256(canonical(value)).slice(0, 32);
