"""Canonical JSON is RFC 8785; the two digests are fixed, and change with all that they cover."""

import hashlib
import json
from collections.abc import Iterator
from copy import deepcopy
from datetime import datetime
from typing import Any, Literal, get_args, get_origin

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st
from tests.spec.malformations import Path, at, base_of, pointer_of, walk, with_value
from tests.spec.samples import good_request

from wayproof.spec.journey.definitions import resolve_definition
from wayproof.spec.journey.digests import canonical_json, definition_digest, digest_of, request_hash
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.registries import decode_registry
from wayproof.spec.journey.requests import JourneyStartRequest
from wayproof.spec.journey.validation import decode

# Canonical JSON

KEYS = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=8)
LEAVES = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=20)
ALLOWED = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@given(ALLOWED)
@example('\x00\b\t\n\x0b\f\r\x1f "\\/\x7f\x80\u2028\ufeff\N{SHOPPING BAGS}')
@example({"b": 1, "a": 2, "B": 3, "": 4, "a_": 5, "aa": 6, "10": 7, "9": 8})
@example([2**53 - 1, -(2**53) + 1, 0])
def test_canonical_json_is_that_of_rfc_8785(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


@given(ALLOWED)
def test_canonical_json_loses_nothing(value: Any) -> None:
    assert json.loads(canonical_json(value)) == value


def test_canonical_json_has_no_word_for_nan() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json({"usage": float("nan")})


def test_the_written_form_of_canonical_json() -> None:
    value = {
        "text": 'tab\t, "quote", \N{LATIN SMALL LETTER A WITH DIAERESIS}',
        "b": [1, None],
        "a": True,
    }
    written = '{"a":true,"b":[1,null],"text":"tab\\t, \\"quote\\", \u00e4"}'.encode()
    assert canonical_json(value) == written
    assert digest_of(value) == f"sha256:{hashlib.sha256(written).hexdigest()}"


# The definition

REGISTRY: dict[str, Any] = {
    "workflows": [
        {"id": "Builder", "dependencies": ["Designer"]},
        {"id": "Unrelated"},
    ],
    "entrypoints": [
        {"id": "styled_entry", "sequence": "styled", "transition": "style"},
        {"id": "other_entry", "sequence": "other"},
    ],
    "transitions": [
        {
            "id": "style",
            "options": [
                {"id": "plain"},
                {
                    "id": "fancy",
                    "sequence": "styled",
                    "context_variables": [{"name": "look", "value": "fancy"}],
                },
            ],
        },
        {"id": "unrelated", "options": [{"id": "plain"}]},
    ],
    "workflow_sequences": [
        {"id": "styled", "steps": [{"workflows": ["Builder"]}]},
        {"id": "other", "steps": [{"workflows": ["Unrelated"]}]},
    ],
}

CLOSED_VIEW = (
    b'{"entrypoints":[{"accepts_initial_message":false,"id":"styled_entry","sequence":"styled",'
    b'"transition":"style"}],'
    b'"sequence":{"id":"styled","steps":[{"transition":null,"workflows":["Builder"]}]},'
    b'"transitions":[{"id":"style","options":['
    b'{"context_variables":[],"id":"plain","route_to":null,"sequence":null},'
    b'{"context_variables":[{"name":"look","value":"fancy"}],"id":"fancy","route_to":null,'
    b'"sequence":"styled"}],"route_to":null,"transition_type":"user_choice_context"}],'
    b'"workflows":[{"dependencies":["Designer"],"id":"Builder","startup_mode":null}]}'
)
"""Written by hand from the registry above."""

DEFINITION_DIGEST = "sha256:396331045efcd2ed8531db16f960b6a367e115b0796ab384186ae1e01a4b44b9"
"""sha256sum of the closed view."""


def version_of(registry: dict[str, Any]) -> str:
    definition = resolve_definition(decode_registry(registry), "styled")
    assert definition is not None
    return definition_digest(definition)


def test_the_digest_of_a_definition_is_that_of_its_closed_view() -> None:
    definition = resolve_definition(decode_registry(REGISTRY), "styled")
    assert canonical_json(encode(definition)) == CLOSED_VIEW
    assert version_of(REGISTRY) == DEFINITION_DIGEST


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("workflow_sequences", 0, "steps"), [{"workflows": ["Builder", "Unrelated"]}]),
        (("workflow_sequences", 0, "steps"), [{"workflows": ["Builder"]}, {"transition": "style"}]),
        (("workflow_sequences", 0, "steps"), [{"workflows": ["Builder"]}] * 2),
        (("workflow_sequences", 0, "steps", 0, "workflows", 0), "Unrelated"),
        (("transitions", 0, "options", 0, "id"), "simple"),
        (("transitions", 0, "options", 0, "sequence"), "styled"),
        (("transitions", 0, "options", 1, "sequence"), "other"),
        (("transitions", 0, "options"), [{"id": "plain"}]),
        (("transitions", 0, "options", 0, "route_to"), "Builder"),
        (("transitions", 0, "options", 1, "context_variables"), []),
        (("transitions", 0), {"id": "style", "transition_type": "workflow_complete"}),
        (("workflows", 0, "dependencies"), []),
        (("workflows", 0, "dependencies"), ["Designer", "Unrelated"]),
        (("entrypoints", 0, "id"), "entry"),
        (("entrypoints", 0, "accepts_initial_message"), True),
        (("workflows", 0, "startup_mode"), "automatic"),
        (("entrypoints", 0, "transition"), None),
        (("entrypoints", 0, "transition"), "unrelated"),
        (("entrypoints", 1, "sequence"), "styled"),
    ],
)
def test_a_change_of_what_the_sequence_depends_on_changes_its_version(
    path: Path, value: Any
) -> None:
    assert version_of(with_value(REGISTRY, path, value)) != DEFINITION_DIGEST


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("workflow_sequences", 1, "steps"), [{"workflows": ["Builder"]}] * 2),
        (("transitions", 1, "options"), [{"id": "fancy"}]),
        (("workflows", 1, "dependencies"), ["Builder"]),
        (("entrypoints", 1, "transition"), "unrelated"),
        (("workflow_sequences", 0, "steps", 0, "transition"), None),
        *(((name,), declared[::-1]) for name, declared in REGISTRY.items()),
    ],
)
def test_a_change_of_anything_else_and_the_order_of_declarations_do_not(
    path: Path, value: Any
) -> None:
    changed = with_value(REGISTRY, path, value)
    assert changed != REGISTRY
    assert version_of(changed) == DEFINITION_DIGEST


def test_an_unknown_sequence_has_no_definition() -> None:
    assert resolve_definition(decode_registry(REGISTRY), "missing") is None


# The request

REQUEST_HASH = "sha256:cef670121a6fb9d6bed1d992458b9b655d059ed82a669d47736b39342557924e"
"""sha256sum of the covered inputs of the good start, under the definition above."""

COVERED = {
    "creation_scope": ["tenant-1", "owner-1", "workspace-1", "scope-1"],
    "definition_digest": DEFINITION_DIGEST,
    "entry": {"id": "styled_entry", "kind": "entrypoint"},
    "initial_message": "Build me\ta shop,\nplease. \N{SHOPPING BAGS}",
    "policy": {
        "accounting_settlement_grace_seconds": 60,
        "cancellation_grace_seconds": 30,
        "cancellation_mode": "cooperative",
        "deadline_utc": "2030-01-01T01:00:00.000Z",
        "max_app_refinement_starts": 10,
        "max_provider_retry_attempts": 10,
        "max_structured_output_correction_attempts": 10,
        "max_task_attempt_starts": 10,
        "max_total_tokens": 100_000,
        "max_workflow_repair_starts": 10,
        "max_workflow_run_starts": 10,
        "partial_artifact_policy": {
            "on_non_success": "retain_until",
            "retain_until_utc": "2030-02-01T00:00:00.000Z",
        },
        "schema_version": "mozaiks.journey_execution_policy.v1",
    },
    "route_choices": [{"option_id": "plain", "transition_id": "style"}],
    "semantic_references": [{"reference": "sha256:1", "role": "semantic_graph"}],
    "workflow_sequence_id": "styled",
}
"""Written by hand from the good start."""

NOT_COVERED = {"/idempotency_key"}
"""The key names the start; it is no part of what is asked for."""

Spoilt = tuple[Path, Any]


def hash_of(arguments: Any, definition: str | None = DEFINITION_DIGEST) -> str:
    request = decode("start", arguments)
    assert isinstance(request, JourneyStartRequest)
    return request_hash(request, definition)


def test_the_request_hash_covers_exactly_what_it_should() -> None:
    assert hash_of(good_request("start")) == digest_of(COVERED) == REQUEST_HASH


def other_values(path: Path, hint: Any, value: Any, *, nullable: bool) -> Iterator[Any]:
    """Other good values of a field; none for a field that has only one."""
    base = base_of(hint)
    if nullable and path[-1] != "retain_until_utc":
        yield None
    if get_origin(base) is Literal:
        if path[-1] != "on_non_success":  # goes with its moment: see below
            yield from (word for word in get_args(base) if word != value)
    elif base is datetime:
        yield value.replace(".000Z", ".001Z")
    elif base is int:
        yield value + 1
    elif base is str:
        yield f"{value}x"
        yield value.swapcase()
    elif get_origin(base) is tuple:
        yield []
        yield [*value, *value]


CHANGES: list[Spoilt] = [
    (path, other)
    for path, hint, nullable in walk(JourneyStartRequest)
    for other in other_values(path, hint, at(good_request("start"), path), nullable=nullable)
] + [
    (("policy", "partial_artifact_policy"), {"on_non_success": "delete"}),
    (("initial_message",), ""),
]


@pytest.mark.parametrize(("path", "other"), CHANGES, ids=lambda part: ascii(part)[:60])
def test_another_value_of_any_field_is_another_request(path: Path, other: Any) -> None:
    same = hash_of(with_value(good_request("start"), path, other)) == REQUEST_HASH
    assert same == (pointer_of(path) in NOT_COVERED)


def test_every_field_that_has_another_value_is_among_the_changes() -> None:
    changed = {pointer_of(path) for path, _ in CHANGES}
    assert {pointer_of(path) for path, _, _ in walk(JourneyStartRequest)} - changed == {
        "/schema_version",
        "/access",
        "/access/schema_version",
        "/entry",
        "/policy",
        "/policy/schema_version",
        "/policy/cancellation_mode",
        "/policy/partial_artifact_policy/on_non_success",
        "/route_choices/0",
        "/semantic_references/0",
    }


def test_another_definition_is_another_request() -> None:
    hashes = {hash_of(good_request("start"), definition) for definition in ("a", "b", None)}
    assert len(hashes | {REQUEST_HASH}) == 4


@pytest.mark.parametrize(
    "written",
    [
        "2030-01-01T01:00:00Z",
        "2030-01-01T01:00:00.0Z",
        "2030-01-01T01:00:00.00Z",
        "2030-01-01T01:00:00.000Z",
        "2030-01-01T01:00:00.000000Z",
        "2030-01-01T01:00:00+00:00",
        "2030-01-01T01:00:00.000+00:00",
    ],
)
def test_equal_instants_written_differently_are_one_request(written: str) -> None:
    assert hash_of(with_value(good_request("start"), ("policy", "deadline_utc"), written)) == (
        REQUEST_HASH
    )


def test_an_absent_optional_field_and_a_null_one_are_one_request() -> None:
    for path, _, nullable in walk(JourneyStartRequest):
        if nullable and path[-1] != "retain_until_utc":
            absent = deepcopy(good_request("start"))
            del at(absent, path[:-1])[path[-1]]
            assert hash_of(absent) == hash_of(with_value(good_request("start"), path, None))


def test_the_order_of_members_says_nothing() -> None:
    def reversed_members(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: reversed_members(value[name]) for name in reversed(value)}
        return [reversed_members(entry) for entry in value] if isinstance(value, list) else value

    assert hash_of(reversed_members(good_request("start"))) == REQUEST_HASH
