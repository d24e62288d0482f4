"""The golden bytes: two readings in Python and one in JavaScript agree on them, and the SQLite
backend keeps to them."""

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import rfc8785
from tests.conftest import NOT_RUN
from tests.spec.malformations import pointer_of, walk

from wayproof.conformance.golden import refusals
from wayproof.conformance.golden.cases import FalseClaim, section
from wayproof.conformance.golden.files import GOLDEN_FOLDER, MARKER, golden_files
from wayproof.conformance.golden.requests import DIGEST
from wayproof.conformance.protocol.backend import Answer, Refused, Reply, World, WorldSetup
from wayproof.conformance.protocol.sqlite_backend import SqliteBackend
from wayproof.conformance.run.names import Names
from wayproof.conformance.vectors.changes import state_digest
from wayproof.spec.journey.definitions import resolve_definition
from wayproof.spec.journey.digests import canonical_json, definition_digest, digest_of, request_hash
from wayproof.spec.journey.registries import decode_registry
from wayproof.spec.journey.requests import JourneyStartRequest
from wayproof.spec.journey.validation import decode_record

ROOT = Path(__file__).parents[2]
FILE = ROOT / GOLDEN_FOLDER / "journey.json"
GOLDEN: dict[str, Any] = json.loads(FILE.read_bytes())
PAGE = (ROOT / "docs/canonical-bytes.md").read_text(encoding="utf-8")
REGISTRY: dict[str, Any] = json.loads(GOLDEN["definitions"][0]["input"])
SECTIONS = ("canonical_json", "definitions", "requests", "projections", "states")

Writing = Callable[[Any], bytes]


def test_the_committed_file_is_what_would_be_written_today() -> None:
    assert golden_files() == {FILE.relative_to(ROOT): FILE.read_bytes()}


def test_the_file_is_small_and_ascii_and_says_that_it_is_generated() -> None:
    assert FILE.read_bytes().isascii()
    assert FILE.stat().st_size < 200_000
    assert GOLDEN["$comment"] == MARKER


# The bytes


def wrongly_written(writing: Writing) -> set[str]:
    """The cases of canonical JSON whose bytes a way of writing gets wrong."""
    wrong = set()
    for entry in GOLDEN["canonical_json"]:
        canonical = entry.get("canonical") or same_as(entry, "canonical_json")["canonical"]
        assert canonical.encode() == bytes.fromhex(entry["hex"])
        if writing(json.loads(entry["input"])) != canonical.encode():
            wrong.add(entry["name"])
    return wrong


def same_as(entry: dict[str, Any], where: str) -> dict[str, Any]:
    (other,) = (each for each in GOLDEN[where] if each["name"] == entry["same_as"])
    assert isinstance(other, dict)
    return other


def plain(value: Any, **options: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), **options).encode()


def test_the_specification_and_the_library_write_every_case_alike() -> None:
    assert wrongly_written(canonical_json) == wrongly_written(rfc8785.dumps) == set()


@pytest.mark.parametrize(
    ("writing", "caught"),
    [
        (lambda value: plain(value, sort_keys=True), "NFC"),
        (lambda value: plain(value, ensure_ascii=False), "members in order"),
        (lambda value: rfc8785.dumps(value) + b"\n", "empty object"),
        (lambda value: rfc8785.dumps(value).replace(b"\x7f", b"\\u007f"), "no other escapes"),
        (lambda value: rfc8785.dumps(value).replace(b"/", b"\\/"), "needless escapes"),
        (lambda value: rfc8785.dumps(value).replace(b"\\u001f", b"\\u001F"), "other control char"),
        (lambda value: rfc8785.dumps(value).replace(b"e\xcc\x81", b"\xc3\xa9"), "NFD"),
        (lambda value: rfc8785.dumps(value).replace(b'"a":null,', b""), "null"),
        (lambda value: plain(doubles(value)), "largest integers"),
    ],
)
def test_a_wrong_way_of_writing_is_caught(writing: Writing, caught: str) -> None:
    assert any(name.startswith(caught) for name in wrongly_written(writing))


def doubles(value: Any) -> Any:
    if isinstance(value, list):
        return [doubles(entry) for entry in value]
    return value * 1.0 if type(value) is int else value


@pytest.mark.parametrize("where", SECTIONS)
def test_every_canonical_text_is_that_of_the_library_and_has_its_digest(where: str) -> None:
    for entry in GOLDEN[where]:
        text = (entry if "canonical" in entry else same_as(entry, where))["canonical"].encode()
        assert rfc8785.dumps(json.loads(text)) == text, entry["name"]
        found = hashlib.sha256(text).hexdigest()
        short = where in ("projections", "states")
        assert entry["digest"] == (found[:32] if short else f"sha256:{found}"), entry["name"]


def test_beyond_what_records_hold_the_two_differ() -> None:
    """Why the page bounds numbers and names: elsewhere our writing is not RFC 8785."""
    names = {"\uff5e": 1, "\N{SHOPPING BAGS}": 2}
    assert canonical_json(names) != rfc8785.dumps(names)
    assert canonical_json(1.0) != rfc8785.dumps(1.0)
    assert canonical_json(2**53) == b"9007199254740992"
    with pytest.raises(rfc8785.IntegerDomainError):
        rfc8785.dumps(2**53)


# What the cases say of each other


def test_a_false_claim_is_not_written() -> None:
    one, other = {"name": "one", "digest": "1"}, {"name": "other", "digest": "2"}
    assert section([one, other | {"differs_from": "one"}])
    with pytest.raises(FalseClaim, match="is not the same"):
        section([one, other | {"same_as": "one"}])
    with pytest.raises(FalseClaim, match="does not differ"):
        section([one, {"name": "other", "digest": "1", "differs_from": "one"}])
    with pytest.raises(FalseClaim, match="twice"):
        section([one, one])


def test_a_refusal_that_is_none_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "_MOMENTS", (("right", "It is.", "2030-01-01T01:00:00Z"),))
    with pytest.raises(FalseClaim, match="right is accepted"):
        list(refusals.refusal_entries())


def test_every_covered_field_is_changed_alone() -> None:
    changed = {e["name"] for e in GOLDEN["requests"] if e.get("differs_from") == "base"}
    leaves = {pointer_of(path) for path, _, _ in walk(JourneyStartRequest)}
    inner = {leaf for leaf in leaves if any(other.startswith(f"{leaf}/") for other in leaves)}
    assert leaves - inner - changed == {
        "/schema_version",
        "/access/schema_version",
        "/idempotency_key",
        "/policy/schema_version",
        "/policy/cancellation_mode",
        "/policy/partial_artifact_policy/on_non_success",  # goes with its moment
    }


# The backend


@pytest.fixture
def world() -> Iterator[World]:
    backend = SqliteBackend()
    yield backend.open("golden", WorldSetup(registry=REGISTRY, now=1_893_456_000_000))
    backend.close()


def wrongly_replayed(world: World) -> list[str]:
    """The cases of a request hash that are taken for another request than they are."""
    first: dict[str, tuple[str, Reply]] = {}
    wrong = []
    for entry in GOLDEN["requests"]:
        if entry["definition_digest"] != DIGEST:
            continue  # the same text under another registry
        request = json.loads(entry["input"])
        start = json.dumps([request["access"], request["idempotency_key"]])
        reply = world.call("start", request)
        digest, answer = first.setdefault(start, (entry["digest"], reply))
        right = reply == answer if entry["digest"] == digest else conflicts(reply)
        if not isinstance(answer, Answer) or not right:
            wrong.append(entry["name"])
    assert len(first) > 5  # each field of the access, and the key
    return wrong


def conflicts(reply: Reply) -> bool:
    return isinstance(reply, Refused) and reply.code == "idempotency_conflict"


def test_the_backend_takes_equal_requests_for_one_and_all_others_for_others(world: World) -> None:
    assert wrongly_replayed(world) == []


def test_a_backend_that_looks_at_the_key_alone_is_caught(world: World) -> None:
    call, answers = world.call, dict[str, Reply]()

    class Careless:
        def call(self, operation: str, arguments: Any) -> Reply:
            key = json.dumps([arguments["access"], arguments["idempotency_key"]])
            return answers.setdefault(key, call(operation, arguments))

    wrong = wrongly_replayed(cast(World, Careless()))
    assert "/policy/deadline_utc" in wrong and "members in another order" not in wrong


def test_the_backend_answers_the_definition_digests(world: World) -> None:
    for entry in GOLDEN["definitions"]:
        world.reconfigure(json.loads(entry["input"]))
        request = json.loads(GOLDEN["requests"][0]["input"])
        key = re.sub(r"\W", "-", entry["name"])
        reply = world.call("start", request | {"idempotency_key": key})
        assert isinstance(reply, Answer), (entry["name"], reply)
        assert reply.value["definition_digest"] == entry["digest"], entry["name"]


def test_the_backend_refuses_what_is_refused(world: World) -> None:
    for entry in GOLDEN["refused"]:
        if entry["kind"] == "start":
            detail = {"pointer": entry["pointer"], "problem": entry["problem"]}
            expected = Refused(code=entry["code"], detail=detail)
            assert world.call("start", json.loads(entry["input"])) == expected, entry["name"]


# The page


def blocks(heading: str) -> list[str]:
    text = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```(?:json|text)\n(.*?)\n```", text, re.DOTALL)


def test_the_example_of_canonical_json() -> None:
    written, canonical, digest = blocks("Canonical JSON")
    assert canonical_json(json.loads(written)) == rfc8785.dumps(json.loads(written))
    assert canonical_json(json.loads(written)).decode() == canonical
    assert digest_of(json.loads(written)) == f"sha256:{digest}"


def test_the_examples_of_the_definition_digest_and_the_request_hash() -> None:
    registry, view, digest = blocks("The definition digest")
    definition = resolve_definition(decode_registry(json.loads(registry)), "shop")
    assert definition is not None
    assert definition_digest(definition) == digest == digest_of(json.loads(view))
    assert rfc8785.dumps(json.loads(view)).decode() == view
    request, covered, hashed = blocks("The request hash")
    decoded = decode_record(JourneyStartRequest, json.loads(request))
    assert request_hash(decoded, digest) == hashed == digest_of(json.loads(covered))
    assert rfc8785.dumps(json.loads(covered)).decode() == covered


def test_the_example_of_the_state_digest() -> None:
    answer, projection, digest = blocks("The state digest")
    assert state_digest(json.loads(projection)) == digest
    assert rfc8785.dumps(json.loads(projection)).decode() == projection
    names = Names({})
    names.bind({"J": "/journey_id"}, {}, {"journey_id": "j-1"})
    runs = {"workflow_run_ids": ["run-8", "run-9"]}
    binds = {"R2": "/workflow_run_ids/1", "R1": "/workflow_run_ids/0"}
    names.bind(binds, {"journey_id": "j-1"}, runs)
    assert names.abstract(json.loads(answer)) == json.loads(projection)["J"]


# The program

NODE = shutil.which("node")
NEEDS_NODE = pytest.mark.skipif(
    NODE is None,
    reason=f"{NOT_RUN}the golden bytes in JavaScript; install nodejs to check them",
)


def reproduced(file: Path) -> "subprocess.CompletedProcess[str]":
    assert NODE is not None
    program = ROOT / "examples/canonical-bytes-check.mjs"
    return subprocess.run(
        [NODE, program, file], capture_output=True, text=True, timeout=60, check=False
    )


@NEEDS_NODE
def test_the_program_reproduces_every_golden() -> None:
    done = reproduced(FILE)
    assert done.returncode == 0, done.stderr
    by_schema = sum(entry["rule"] == "schema" for entry in GOLDEN["refused"])
    assert done.stdout == (
        f"{sum(len(GOLDEN[where]) for where in SECTIONS)} reproduced, "
        f"{len(GOLDEN['refused']) - by_schema} refused, {by_schema} left to the schemas\n"
    )


@NEEDS_NODE
@pytest.mark.parametrize("where", SECTIONS)
def test_the_program_tells_a_wrong_golden(where: str, tmp_path: Path) -> None:
    spoilt = json.loads(FILE.read_bytes())
    spoilt[where][-1]["digest"] = spoilt[where][-1]["digest"].translate(
        str.maketrans("0123456789abcdef", "123456789abcdef0")
    )
    (tmp_path / "spoilt.json").write_text(json.dumps(spoilt))
    done = reproduced(tmp_path / "spoilt.json")
    assert done.returncode == 1
    assert f"{where}, {spoilt[where][-1]['name']}" in done.stderr
