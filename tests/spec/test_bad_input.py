"""Bad input at every operation and every field is refused with its code, at its field."""

import json
from dataclasses import MISSING, fields
from typing import Any

import pytest
from pydantic import TypeAdapter
from tests.spec.canaries import SECRET, secret_requests
from tests.spec.malformations import (
    CROSS_FIELD,
    MALFORMED_USAGE,
    BadRequest,
    at,
    bad_requests,
    field_pointers,
    pointer_of,
    with_value,
)
from tests.spec.samples import good_request

from wayproof.spec.journey import validation
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.requests import ReportResponseRequest
from wayproof.spec.journey.validation import (
    MAXIMUM_DEPTH,
    MAXIMUM_REQUEST_BYTES,
    Problem,
    adapter,
    decode,
)

every_operation = pytest.mark.parametrize("operation", OPERATIONS)

Answer = tuple[str | None, ...]


def answer_to(operation: object, arguments: Any) -> Answer:
    """Code, pointer and problem of the refusal; empty if the request is accepted."""
    try:
        decode(operation, arguments)
    except Refusal as refusal:
        assert refusal.detail.keys() <= {"pointer", "problem"}
        return (refusal.code.value, refusal.detail.get("pointer"), refusal.detail.get("problem"))
    return ()


def wrongly_answered(operation: str) -> list[str]:
    return [
        f"{bad}: expected {expected}, got {answered}"
        for bad in bad_requests(operation)
        if (answered := answer_to(operation, bad.arguments)) != (expected := expected_of(bad))
    ]


def expected_of(bad: BadRequest) -> Answer:
    return (bad.code, bad.pointer, bad.problem)


@every_operation
def test_a_good_request_is_accepted(operation: str) -> None:
    assert isinstance(decode(operation, good_request(operation)), OPERATIONS[operation].request)


@every_operation
def test_a_good_request_is_accepted_without_its_optional_fields(operation: str) -> None:
    request = OPERATIONS[operation].request
    required = {field.name for field in fields(request) if field.default is MISSING}
    arguments = {name: at(good_request(operation), (name,)) for name in required}
    assert isinstance(decode(operation, arguments), request)


@every_operation
def test_every_malformation_of_every_field_is_refused_at_its_field(operation: str) -> None:
    assert wrongly_answered(operation) == []


@every_operation
def test_the_malformations_cover_every_field_that_the_schema_has(operation: str) -> None:
    schema = adapter(OPERATIONS[operation].request).json_schema()

    def pointers(node: dict[str, Any], path: tuple[str | int, ...]) -> set[str]:
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rpartition("/")[2]]
        found: set[str] = set()
        for name, below in node.get("properties", {}).items():
            found |= {pointer_of((*path, name))} | pointers(below, (*path, name))
        if "items" in node:
            found |= {pointer_of((*path, 0))} | pointers(node["items"], (*path, 0))
        for choice in node.get("anyOf", ()):
            found |= pointers(choice, path)
        return found

    expected = pointers(schema, ())
    assert expected
    assert field_pointers(operation) == expected


def test_a_decoder_that_converts_silently_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lax:
        """Accepts "1" and 1.0 for 1, as a decoder does that is not strict."""

        def __init__(self, record: type) -> None:
            self.adapter: TypeAdapter[Any] = TypeAdapter(record)

        def validate_json(self, text: bytes) -> Any:
            converted = text.replace(b'"limit":"1"', b'"limit":1').replace(b":1.0}", b":1}")
            return self.adapter.validate_json(converted)

    monkeypatch.setattr(validation, "adapter", Lax)
    caught = wrongly_answered("list_reservations")
    assert any("/limit: a number as text" in problem for problem in caught)
    assert any("/limit: the fraction 1.0" in problem for problem in caught)


def test_a_decoder_that_ignores_unknown_fields_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ignorant:
        """Drops what it does not know."""

        def __init__(self, record: type) -> None:
            self.adapter: TypeAdapter[Any] = TypeAdapter(record)

        def validate_json(self, text: bytes) -> Any:
            return self.adapter.validate_json(text.replace(b',"extra":"value"', b""))

    monkeypatch.setattr(validation, "adapter", Ignorant)
    assert any("an unknown field" in problem for problem in wrongly_answered("snapshot"))


@pytest.mark.parametrize(
    ("operation", "what"),
    [(operation, index) for operation, cases in CROSS_FIELD.items() for index in range(len(cases))],
)
def test_fields_that_do_not_go_together_are_refused(operation: str, what: int) -> None:
    _, path, spoil, problem = CROSS_FIELD[operation][what]
    good = good_request(operation)
    spoilt = with_value(good, path, spoil(at(good, path)))
    assert answer_to(operation, spoilt) == ("invalid_request", pointer_of(path), problem)


@pytest.mark.parametrize("operation", ["", "Start", "start ", "begin", None, 1, [], {}, b"start"])
def test_an_operation_that_is_not_catalogued_is_unknown(operation: object) -> None:
    assert answer_to(operation, good_request("start")) == ("unknown_operation", None, None)


def test_an_unknown_schema_version_comes_before_every_other_problem() -> None:
    request = good_request("start")
    request["policy"]["schema_version"] = "mozaiks.journey_execution_policy.v2"
    request |= {"extra": 1, "idempotency_key": 5}
    assert answer_to("start", request) == (
        "unsupported_schema_version",
        "/policy/schema_version",
        None,
    )


def test_a_schema_version_where_none_belongs_is_an_unknown_field() -> None:
    request = good_request("snapshot") | {"schema_version": "wayproof.journey.snapshot.v2"}
    assert answer_to("snapshot", request) == ("invalid_request", "", "unknown_field")


def test_everything_else_is_looked_at_before_the_reason_of_a_cancellation() -> None:
    request = good_request("cancel") | {"reason_code": "weather", "explanation": 5}
    assert answer_to("cancel", request) == ("invalid_request", "/explanation", "wrong_type")


def of_size(size: int) -> dict[str, Any]:
    """A good start request of so many bytes of canonical JSON."""
    request = good_request("start")
    request["initial_message"] = "\N{SHOPPING BAGS}" * 10_000
    request["route_choices"] = [{"transition_id": "x" * 128, "option_id": "x" * 128}] * 32
    request["semantic_references"] = [
        {"role": "semantic_graph", "reference": '"' * 256} for _ in range(32)
    ]
    surplus = size_of(request) - size
    for reference in request["semantic_references"]:
        plain = min(surplus, 256)
        reference["reference"] = "x" * plain + '"' * (256 - plain)
        surplus -= plain
    assert size_of(request) == size
    return request


def size_of(request: Any) -> int:
    return len(json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode())


def test_a_request_of_the_greatest_size_is_accepted_and_one_byte_more_is_not() -> None:
    assert answer_to("start", of_size(MAXIMUM_REQUEST_BYTES)) == ()
    assert answer_to("start", of_size(MAXIMUM_REQUEST_BYTES + 1)) == (
        "invalid_request",
        "",
        "too_large",
    )


def nested(depth: int, container: type[list[Any]] | type[dict[str, Any]]) -> Any:
    value: Any = None
    for _ in range(depth):
        value = [value] if container is list else {"a": value}
    return value


@pytest.mark.parametrize("container", [list, dict])
@pytest.mark.parametrize("depth", [MAXIMUM_DEPTH, 1_000, 100_000])
def test_a_depth_bomb_is_refused(
    depth: int, container: type[list[Any]] | type[dict[str, Any]]
) -> None:
    bomb = nested(depth, container)
    expected = ("invalid_request", "", "too_deep")
    assert answer_to("snapshot", good_request("snapshot") | {"journey_id": bomb}) == expected
    assert answer_to("snapshot", good_request("snapshot") | {"extra": bomb}) == expected
    defuse(bomb)


def defuse(value: Any) -> None:
    """Take a deep value apart from outside, so that freeing it needs no deep recursion."""
    while value:
        value = value.pop() if isinstance(value, list) else value.pop("a")


def test_a_value_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless += [endless, endless]
    answered = answer_to("snapshot", good_request("snapshot") | {"journey_id": endless})
    assert answered in (
        ("invalid_request", "", "too_deep"),
        ("invalid_request", "", "too_large"),
    )


def test_a_small_value_that_unfolds_into_a_great_one_is_refused() -> None:
    laughs: Any = "ha"
    for _ in range(MAXIMUM_DEPTH - 2):
        laughs = [laughs] * 10
    assert answer_to("snapshot", good_request("snapshot") | {"journey_id": laughs}) == (
        "invalid_request",
        "",
        "too_large",
    )


@pytest.mark.parametrize("value", [b"bytes", object(), {1, 2}, {1: 2}, {None: 1}, 1j, OPERATIONS])
def test_what_is_no_json_value_is_refused(value: object) -> None:
    assert answer_to("snapshot", good_request("snapshot") | {"journey_id": value}) == (
        "invalid_request",
        "",
        "not_json",
    )


@pytest.mark.parametrize("usage", MALFORMED_USAGE, ids=lambda usage: ascii(type(usage)))
def test_malformed_usage_is_a_good_request(usage: Any) -> None:
    request = decode("report_response", good_request("report_response") | {"usage": usage})
    assert isinstance(request, ReportResponseRequest)
    assert request.usage is None


def test_usage_that_is_nested_without_end_is_a_good_request() -> None:
    bomb = nested(100_000, list)
    request = decode("report_response", good_request("report_response") | {"usage": bomb})
    assert isinstance(request, ReportResponseRequest)
    assert request.usage is None
    defuse(bomb)


@pytest.mark.parametrize("usage", [0, 1, 2**53 - 1])
def test_well_formed_usage_is_kept(usage: int) -> None:
    request = decode("report_response", good_request("report_response") | {"usage": usage})
    assert isinstance(request, ReportResponseRequest)
    assert request.usage == usage


@every_operation
def test_no_refusal_repeats_what_the_request_contained(operation: str) -> None:
    refused = 0
    requests = secret_requests(operation, good_request(operation))
    for arguments in requests:
        try:
            decode(operation, arguments)
        except Refusal as refusal:
            refused += 1
            assert SECRET not in f"{refusal} {refusal!r} {refusal.detail}"
            assert refusal.__context__ is None or refusal.__suppress_context__
            problem = refusal.detail.get("problem")
            assert problem is None or problem in frozenset(Problem)
    assert refused > len(requests) / 2
