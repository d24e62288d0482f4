"""The published JSON Schemas accept exactly the requests that decoding accepts.

Decoding refuses a little more: what JSON Schema cannot say. :func:`beyond_json_schema` lists all
of it.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.spec.malformations import CROSS_FIELD, Path, at, bad_requests, with_value
from tests.spec.samples import good_request

from wayproof.conformance.publish.schemas import SCHEMA_FOLDER, schema_files
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.validation import decode

every_operation = pytest.mark.parametrize("operation", OPERATIONS)
SCHEMAS = {path: json.loads(content) for path, content in schema_files().items()}


@cache
def validator(operation: str) -> Draft202012Validator:
    return Draft202012Validator(SCHEMAS[SCHEMA_FOLDER / f"requests/{operation}.json"])


def accepted_by_schema(operation: str, arguments: Any) -> bool:
    try:
        return validator(operation).is_valid(arguments)
    except ValueError:  # a number too long for the message that refuses it
        return False


def disagreement(operation: str, arguments: Any) -> str | None:
    """How schema and decoding disagree about a request; None if they agree, or may differ."""
    accepted = accepted_by_schema(operation, arguments)
    try:
        decode(operation, arguments)
    except Refusal as refusal:
        if accepted and beyond_json_schema(arguments, refusal) is None:
            return f"only decoding refuses: {refusal.code} {refusal.detail}"
    else:
        if not accepted:
            return "only the schema refuses"
    return None


def beyond_json_schema(arguments: Any, refusal: Refusal) -> str | None:
    """Why JSON Schema cannot refuse what decoding refuses; None if it could."""
    pointer, problem = refusal.detail["pointer"], refusal.detail.get("problem")
    value = at(arguments, path_of(pointer))
    match problem, value:
        case "wrong_form", {"on_non_success": str()}:
            return "retain_until_utc goes with retain_until, and only with it"
        case "wrong_form", str() if re.match(r"\d{4}-(02|04|06|09|11)-(29|30|31)T", value):
            return "a month that has no such day"
        case "wrong_type", float() if value.is_integer():
            return "an integer with a fraction of zero"
        case "wrong_form", str() if re.search("[\ud800-\udfff]", value):
            return "a lone surrogate, which JSON cannot write as UTF-8"
        case "too_large", _:
            return "the size of the whole request"
    return None


def path_of(pointer: str) -> Path:
    return tuple(int(part) if part.isdigit() else part for part in pointer.split("/")[1:])


def test_every_schema_is_a_valid_schema_with_an_identity_of_its_own() -> None:
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert schema["title"] and schema["description"]
        assert "wayproof generate" in schema["$comment"]
    assert len({schema["$id"] for schema in SCHEMAS.values()}) == len(SCHEMAS)


@every_operation
def test_the_schema_accepts_the_good_request(operation: str) -> None:
    validator(operation).validate(good_request(operation))
    assert disagreement(operation, good_request(operation)) is None


@every_operation
def test_schema_and_decoding_agree_about_every_malformation(operation: str) -> None:
    disagreeing = [
        f"{bad}: {found}"
        for bad in bad_requests(operation)
        if (found := disagreement(operation, bad.arguments)) is not None
    ]
    assert disagreeing == []


def test_every_exception_is_one() -> None:
    """Each thing that the schema is excused from refusing does occur: no excuse is idle."""
    excused = set()
    for operation, bad in all_bad_requests():
        try:
            decode(operation, bad)
        except Refusal as refusal:
            if accepted_by_schema(operation, bad):
                excused.add(beyond_json_schema(bad, refusal))
    assert excused == {
        "retain_until_utc goes with retain_until, and only with it",
        "a month that has no such day",
        "an integer with a fraction of zero",
        "a lone surrogate, which JSON cannot write as UTF-8",
        "the size of the whole request",
    }


def all_bad_requests() -> Iterator[tuple[str, Any]]:
    for operation in OPERATIONS:
        for bad in bad_requests(operation):
            yield operation, bad.arguments
        for _, path, spoil, _ in CROSS_FIELD.get(operation, ()):
            good = good_request(operation)
            yield operation, with_value(good, path, spoil(at(good, path)))
    large = good_request("start")
    large["initial_message"] = "\N{SHOPPING BAGS}" * 10_000
    large["semantic_references"] = [{"role": "semantic_graph", "reference": '"' * 256}] * 32
    large["route_choices"] = [{"transition_id": "x" * 128, "option_id": "x" * 128}] * 32
    yield "start", large


def test_a_schema_whose_pattern_lets_a_final_line_break_through_is_caught() -> None:
    lenient = json.loads(json.dumps(SCHEMAS[SCHEMA_FOLDER / "requests/snapshot.json"]))
    del lenient["$defs"]["Identifier"]["not"]
    request = good_request("snapshot") | {"journey_id": "journey-1\n"}
    assert Draft202012Validator(lenient).is_valid(request)
    assert not validator("snapshot").is_valid(request)


def paths_in(value: Any, path: Path = ()) -> list[Path]:
    """Every path in a JSON value, the whole included."""
    match value:
        case dict():
            below = [paths_in(entry, (*path, name)) for name, entry in value.items()]
        case list():
            below = [paths_in(entry, (*path, index)) for index, entry in enumerate(value)]
        case _:
            below = []
    return [path, *(inner for entry in below for inner in entry)]


WORDS = st.sampled_from(
    sorted(
        {
            value
            for operation in OPERATIONS
            for path in paths_in(good_request(operation))
            if isinstance(value := at(good_request(operation), path), str)
        }
    )
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.sampled_from([1000, 1001, 86_400_000, 86_400_001, 31_536_001, 2**53 - 1, 2**53, 10**30])
    | st.floats()
    | WORDS
    | st.text(max_size=6)
    | st.sampled_from(["x" * length for length in (128, 129, 256, 257, 500, 501, 10_000, 10_001)])
    | st.from_regex(r"\A[A-Za-z0-9._:+@/!-]{1,8}\n?\Z")
    | st.datetimes().map(lambda moment: moment.isoformat(timespec="milliseconds") + "Z")
    | st.datetimes().map(lambda moment: moment.isoformat() + "+00:00")
)
VALUES = LEAVES | st.lists(LEAVES, max_size=3) | st.dictionaries(WORDS, LEAVES, max_size=2)


@st.composite
def mutated_requests(draw: st.DrawFn) -> tuple[str, Any]:
    """A good request with one to three changes, good and bad ones."""
    operation = draw(st.sampled_from(sorted(OPERATIONS)))
    arguments: Any = good_request(operation)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(paths_in(arguments)))
        value = at(arguments, path)
        change = draw(st.sampled_from(["replace", "vary", "remove", "add"]))
        if change == "vary" and isinstance(value, int | str):
            other = st.integers(1, 1000) if isinstance(value, int) else WORDS
            arguments = with_value(arguments, path, draw(other))
        elif change == "add" and isinstance(value, dict):
            arguments = with_value(arguments, path, value | {draw(WORDS): draw(VALUES)})
        elif change == "add" and isinstance(value, list):
            added = draw(VALUES | st.sampled_from(value)) if value else draw(VALUES)
            arguments = with_value(arguments, path, [*value, added])
        elif change == "remove" and path and isinstance(path[-1], str):
            rest = dict(at(arguments, path[:-1]))
            del rest[path[-1]]
            arguments = with_value(arguments, path[:-1], rest)
        else:
            arguments = with_value(arguments, path, draw(VALUES))
    return operation, arguments


@settings(
    max_examples=2000, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(mutated_requests())
def test_schema_and_decoding_agree_about_mutated_requests(mutated: tuple[str, Any]) -> None:
    operation, arguments = mutated
    assert disagreement(operation, arguments) is None


def test_the_mutated_requests_are_of_both_kinds() -> None:
    kinds = {True: 0, False: 0}

    @settings(max_examples=300, derandomize=True, database=None, deadline=None)
    @given(mutated_requests())
    def count(mutated: tuple[str, Any]) -> None:
        kinds[validator(mutated[0]).is_valid(mutated[1])] += 1

    count()
    assert min(kinds.values()) > 20
