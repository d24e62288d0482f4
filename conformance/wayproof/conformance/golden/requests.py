"""Cases of the request hash: each covered field changed alone, and all that changes nothing."""

import json
from collections.abc import Iterator
from typing import Any, Final

from wayproof.conformance.golden.cases import Case, FalseClaim, entry
from wayproof.conformance.vectors.changes import apply_changes
from wayproof.conformance.vectors.format import REMOVED
from wayproof.spec.journey.digests import canonical_json, digest_of, request_hash
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.requests import JourneyStartRequest
from wayproof.spec.journey.validation import decode_record

DIGEST: Final = "sha256:" + 64 * "0"
"""Of a resolved definition; which one does not matter here."""

REQUEST: Final[dict[str, Any]] = {
    "schema_version": "wayproof.journey.start_request.v1",
    "access": {
        "schema_version": "wayproof.journey.execution_access.v1",
        "tenant_id": "tenant-1",
        "owner_id": "owner-1",
        "workspace_id": "workspace-1",
        "build_scope_id": "scope-1",
    },
    "idempotency_key": "key-1",
    "workflow_sequence_id": "shop",
    "entry": {"kind": "entrypoint", "id": "shop_entry"},
    "policy": {
        "schema_version": "mozaiks.journey_execution_policy.v1",
        "deadline_utc": "2030-01-01T01:00:00.250Z",
        "max_total_tokens": 100000,
        "cancellation_mode": "cooperative",
        "cancellation_grace_seconds": 30,
        "accounting_settlement_grace_seconds": 60,
        "partial_artifact_policy": {
            "on_non_success": "retain_until",
            "retain_until_utc": "2030-02-01T00:00:00.000Z",
        },
        "max_workflow_run_starts": 10,
        "max_task_attempt_starts": 10,
        "max_provider_retry_attempts": 0,
        "max_structured_output_correction_attempts": 10,
        "max_workflow_repair_starts": 10,
        "max_app_refinement_starts": 10,
    },
    "route_choices": [{"transition_id": "style", "option_id": "plain"}],
    "initial_message": "Build a caf\u00e9",
    "semantic_references": [
        {"role": "semantic_graph", "reference": "sha256:1"},
        {"role": "compilation_plan", "reference": "sha256:2"},
    ],
}
"""Every optional field is filled in."""

_OPTIONAL: Final = (
    "/access/workspace_id",
    "/access/build_scope_id",
    "/policy/max_workflow_run_starts",
    "/policy/max_task_attempt_starts",
    "/policy/max_provider_retry_attempts",
    "/policy/max_structured_output_correction_attempts",
    "/policy/max_workflow_repair_starts",
    "/policy/max_app_refinement_starts",
    "/initial_message",
)
"""The fields that may be null."""

_LISTS: Final = ("/route_choices", "/semantic_references")

_COVERED: Final[tuple[tuple[str, Any], ...]] = (
    ("/access/tenant_id", "tenant-2"),
    ("/access/owner_id", "owner-2"),
    ("/access/workspace_id", "workspace-2"),
    ("/access/build_scope_id", "scope-2"),
    ("/workflow_sequence_id", "Shop"),
    ("/entry/kind", "stage"),
    ("/entry/id", "shop_side_entry"),
    ("/policy/deadline_utc", "2030-01-01T01:00:00.251Z"),
    ("/policy/max_total_tokens", 9007199254740991),
    ("/policy/cancellation_grace_seconds", 31),
    ("/policy/accounting_settlement_grace_seconds", 61),
    ("/policy/partial_artifact_policy", {"on_non_success": "delete"}),
    ("/policy/partial_artifact_policy/retain_until_utc", "2030-02-01T00:00:00.001Z"),
    ("/policy/max_workflow_run_starts", 11),
    ("/policy/max_task_attempt_starts", 11),
    ("/policy/max_provider_retry_attempts", 1),
    ("/policy/max_structured_output_correction_attempts", 11),
    ("/policy/max_workflow_repair_starts", 11),
    ("/policy/max_app_refinement_starts", 11),
    ("/route_choices/0/transition_id", "colour"),
    ("/route_choices/0/option_id", "rich"),
    ("/initial_message", "Build a cafe"),
    ("/semantic_references/0/role", "application_manifest"),
    ("/semantic_references/0/reference", "sha256:3"),
)
"""Another value of each covered field; a field of one possible value has none."""

_OTHER: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    (
        "NFD message",
        "A message that only looks the same is another message.",
        {"/initial_message": "Build a cafe\u0301"},
    ),
    (
        "empty message",
        "An empty message is not an absent one (see no message).",
        {"/initial_message": ""},
    ),
    (
        "no limit",
        "Null limits nothing, zero allows nothing.",
        {"/policy/max_provider_retry_attempts": REMOVED},
    ),
    (
        "no message",
        "An absent message is neither a message nor an empty one.",
        {"/initial_message": REMOVED},
    ),
    (
        "references in another order",
        "The order of the list counts.",
        {"/semantic_references": REQUEST["semantic_references"][::-1]},
    ),
    (
        "a choice twice",
        "Lists are covered as they are, also what a later check refuses.",
        {"/route_choices/1": REQUEST["route_choices"][0]},
    ),
)

_MOMENTS: Final = (
    "2030-01-01T01:00:00.25Z",
    "2030-01-01T01:00:00.250000000Z",
    "2030-01-01T01:00:00.250+00:00",
)


def request_entries() -> Iterator[dict[str, Any]]:
    """Every case of a request hash."""
    yield _entry(Case(name="base", why="Every field has a value.", text=json.dumps(REQUEST)))
    yield from _same()
    yield from _absent()
    for pointer, value in _COVERED:
        why = f"{pointer.split('/')[1]} is covered: this field alone makes another request."
        yield _entry(
            Case(name=pointer, why=why, text=_changed({pointer: value}), differs_from="base")
        )
    for name, why, changes in _OTHER:
        yield _entry(Case(name=name, why=why, text=_changed(changes), differs_from="base"))
    yield _entry(
        Case(
            name="another definition",
            why="The digest of the resolved definition is covered.",
            text=json.dumps(REQUEST),
            differs_from="base",
        ),
        "sha256:" + 64 * "1",
    )
    yield _entry(
        Case(
            name="no definition",
            why="An unknown sequence has the digest null.",
            text=json.dumps(REQUEST),
            differs_from="base",
        ),
        None,
    )


def _same() -> Iterator[dict[str, Any]]:
    for name, why, text in (
        (
            "another key",
            "The idempotency key names the start and is no part of what is asked for.",
            _changed({"/idempotency_key": "key-2"}),
        ),
        (
            "members in another order",
            "The order of members says nothing.",
            json.dumps(REQUEST, sort_keys=True, indent=1),
        ),
        (
            "escapes",
            "How a text is escaped says nothing.",
            json.dumps(REQUEST, ensure_ascii=False).replace("shop", "\\u0073hop"),
        ),
        *(
            (
                f"moment {moment}",
                "Equal instants have one written form, whichever way they were sent.",
                _changed({"/policy/deadline_utc": moment}),
            )
            for moment in _MOMENTS
        ),
    ):
        yield _entry(Case(name=name, why=why, text=text, same_as="base"))


def _absent() -> Iterator[dict[str, Any]]:
    unset: dict[str, Any] = {
        **{pointer: None for pointer in _OPTIONAL},
        **{pointer: [] for pointer in _LISTS},
    }
    yield _entry(
        Case(
            name="null and empty",
            why="No optional field has a value.",
            text=_changed(unset),
            differs_from="base",
        )
    )
    yield _entry(
        Case(
            name="absent",
            why="An absent optional field equals null, an absent list an empty one.",
            text=_changed(dict.fromkeys(unset, REMOVED)),
            same_as="null and empty",
        )
    )


def covered_inputs(request: JourneyStartRequest, definition: str | None) -> dict[str, Any]:
    """What the request hash covers, as JSON: a second writing of the specification's own."""
    access = request.access
    return {
        "creation_scope": [
            access.tenant_id,
            access.owner_id,
            access.workspace_id,
            access.build_scope_id,
        ],
        "definition_digest": definition,
        **{
            name: encode(getattr(request, name))
            for name in (
                "workflow_sequence_id",
                "entry",
                "route_choices",
                "semantic_references",
                "policy",
                "initial_message",
            )
        },
    }


def _entry(case: Case, definition: str | None = DIGEST) -> dict[str, Any]:
    request = decode_record(JourneyStartRequest, json.loads(case.text))
    covered = covered_inputs(request, definition)
    digest = request_hash(request, definition)
    if digest != digest_of(covered):
        raise FalseClaim(f"{case.name}: the request hash covers something else")
    return entry(case, canonical_json(covered), definition_digest=definition, digest=digest)


def _changed(changes: dict[str, Any]) -> str:
    return json.dumps(apply_changes(REQUEST, changes))
