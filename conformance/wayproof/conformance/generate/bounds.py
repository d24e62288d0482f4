"""The family of bad input: each field of each operation, with one of each problem.

The request types are walked, so that no field can be forgotten. One vector spoils one field in
every way; each spoilt request must be refused and leave the journey as it was.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import EnumMeta
from types import NoneType
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

from wayproof.conformance.generate import settings
from wayproof.conformance.generate.menus import Scope, start
from wayproof.conformance.generate.scripts import Action, Call, Draft, JsonValue, owned
from wayproof.conformance.generate.settings import LONG_LEASE, OWNER, policy
from wayproof.conformance.vectors.names import NUMBER
from wayproof.spec.journey.constraints import Bounds, Items, Text
from wayproof.spec.journey.operations import OPERATIONS

Path = tuple[str | int, ...]

ABSENT: Final = object()
"""Stands for taking a field away."""

LEAD: Final[tuple[Call, ...]] = (
    start(Scope()),
    owned(
        "claim_lease",
        operation_id="lease-1",
        worker_id="worker-1",
        lease_milliseconds=LONG_LEASE,
    ),
    owned("begin_journey", fencing_token="$F1"),
    owned(
        "reserve",
        fencing_token="$F1",
        workflow_run_id="$R1",
        invocation_id="call-1",
        transmission_id="send-1",
        idempotency="none",
        estimated_prompt_tokens=10,
        max_output_tokens=20,
        lease_milliseconds=LONG_LEASE,
    ),
)
"""A running journey with one reservation, on which everything can be asked."""

WHOLE_START: Final[dict[str, Any]] = {
    **start(Scope()).arguments,
    "access": {**OWNER, "build_scope_id": "build-1"},
    "idempotency_key": "key-2",
    "policy": policy(
        partial_artifact_policy={
            "on_non_success": "retain_until",
            "retain_until_utc": settings.at(1000),
        },
        max_workflow_run_starts=5,
        max_task_attempt_starts=5,
        max_provider_retry_attempts=5,
        max_structured_output_correction_attempts=5,
        max_workflow_repair_starts=5,
        max_app_refinement_starts=5,
    ),
    "route_choices": [{"transition_id": "style", "option_id": "plain"}],
    "initial_message": "build me a shop",
    "semantic_references": [{"role": "semantic_graph", "reference": "sha256:aaaa"}],
}

_OWN: Final[dict[str, Any]] = {
    "access": {**OWNER},
    "journey_id": "$J",
    "fencing_token": "$F1",
    "operation_id": "operation-9",
    "worker_id": "worker-9",
    "lease_milliseconds": LONG_LEASE,
    "parent_workflow_run_id": "$R1",
    "workflow_run_id": "$R1",
    "workflow_id": "Aside",
    "purpose": "decomposition",
    "outcome": "completed",
    "counters": ["task_attempt_starts"],
    "reason_code": "caller_requested",
    "explanation": "no longer needed",
    "invocation_id": "call-9",
    "transmission_id": "send-1",
    "idempotency": "none",
    "estimated_prompt_tokens": 1,
    "max_output_tokens": 1,
    "usage": 1,
    "cause": "client_timeout",
    "after": 0,
    "limit": 10,
    "open_only": True,
    "input_request_id": "input-9",
    "option_id": "plain",
}


def good_arguments(operation: str) -> dict[str, JsonValue]:
    """A right request with every field filled in."""
    if operation == "start":
        return deepcopy(WHOLE_START)
    names = [field.name for field in fields(OPERATIONS[operation].request)]
    good = {name: deepcopy(_OWN[name]) for name in names}
    if operation == "fail_journey":
        good["reason_code"] = "workflow_failed"
    if operation == "reserve":
        good["transmission_id"] = "send-9"
    return good


def drafts() -> Iterator[Draft]:
    """One story for each field of each operation, and one for each operation as a whole."""
    for operation, catalogued in OPERATIONS.items():
        yield _story(operation, (), [[], "text", 7, None, True], "its arguments as a whole")
        for path, hint, required in _walk(catalogued.request, ()):
            spoilt = list(_spoilt(hint))
            if required:
                spoilt.append(ABSENT)
            yield _story(operation, path, spoilt, "/" + "/".join(map(str, path)))
        unknown = [
            _with(good_arguments(operation), (*path, "surplus"), 1)
            for path in _objects(catalogued.request, ())
        ]
        yield _refused(operation, "unknown-field", unknown, "fields that nobody knows")
        yield _refused(
            operation, "other-name", _other_names(operation), "identities of other names"
        )
    yield _refused(
        "start", "together", _ill_together(), "fields that are right, and wrong together"
    )
    for name, usage in (("fraction", "1.5"), ("exponent", "1e3"), ("zero", "0.0")):
        yield _usage(name, usage)


ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "journey_id": ("run_id", "chat_id", "session_id", "journey", "id"),
    "workflow_sequence_id": ("sequence_id", "workflow_sequence", "pattern_id", "workflow_id"),
    "workflow_run_id": ("run_id", "workflow_id", "id"),
    "parent_workflow_run_id": ("workflow_run_id", "parent_run_id", "parent_id"),
    "idempotency_key": ("key", "operation_id", "request_id"),
    "invocation_id": ("response_id", "call_id", "provider_response_id"),
    "transmission_id": ("request_id", "attempt_id", "invocation_id"),
}
"""Names that identities have elsewhere, and that the contract does not give them."""

PROPOSALS: Final = ("journey_id", "workflow_run_id", "workflow_run_ids", "fencing_token")
"""What only the server makes."""


def _other_names(operation: str) -> list[dict[str, JsonValue]]:
    """Identities under other names, beside their own and in their place; and proposed ones."""
    good = good_arguments(operation)
    wrong = []
    for name, aliases in ALIASES.items():
        for alias in aliases if name in good else ():
            if alias not in good:
                value = good[name]
                wrong.append({**{k: v for k, v in good.items() if k != name}, alias: value})
                wrong.append({**good, alias: value})
    wrong.extend({**good, name: "proposed-1"} for name in PROPOSALS if name not in good)
    return wrong


def _ill_together() -> list[dict[str, JsonValue]]:
    """Starts whose fields contradict each other."""
    kept = {"on_non_success": "retain_until", "retain_until_utc": settings.at(1000)}
    artifacts: list[JsonValue] = [
        {**kept, "on_non_success": "delete"},
        {"on_non_success": "retain_until"},
        {"on_non_success": "delete", "retain_until_utc": settings.at(-1000)},
    ]
    return [
        _with(good_arguments("start"), ("policy", "partial_artifact_policy"), each)
        for each in artifacts
    ]


def _refused(operation: str, topic: str, requests: list[Any], where: str) -> Draft:
    script = [*LEAD, *(Call(operation=operation, arguments=each) for each in requests)]
    return _draft(operation, topic, [*script, owned("snapshot")], where)


def _story(operation: str, path: Path, spoilt: list[Any], where: str) -> Draft:
    good = good_arguments(operation)
    script: list[Action] = [*LEAD]
    for value in spoilt:
        arguments = _with(good, path, value)
        script.append(Call(operation=operation, arguments=arguments))
    script.append(owned("snapshot"))
    return _draft(operation, "field" if path else "whole", script, where)


def _draft(operation: str, topic: str, script: list[Action], where: str) -> Draft:
    return Draft(
        family="bounds",
        topic=f"{operation.replace('_', '-')}-{topic}",
        setting=settings.ORDINARY,
        script=tuple(script),
        focus=len(LEAD),
        title=f"{operation}: {where}, spoilt in every way",
    )


def _usage(name: str, spelling: str) -> Draft:
    script = (
        *LEAD,
        owned("transmit", fencing_token="$F1", transmission_id="send-1"),
        owned("report_response", transmission_id="send-1", usage={NUMBER: spelling}),
        owned("report_response", transmission_id="send-1", usage=7),
    )
    return Draft(
        family="accounting",
        topic="malformed-usage",
        setting=settings.ORDINARY,
        script=script,
        focus=len(LEAD),
        title=f"usage written as a {name} is malformed, and may still be reconciled",
    )


def _with(arguments: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    changed = deepcopy(arguments)
    place = changed
    for part in path[:-1]:
        place = place[part]
    if value is ABSENT:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return changed


def _walk(record: type, path: Path) -> Iterator[tuple[Path, Any, bool]]:
    hints = get_type_hints(record, include_extras=True)
    for field in fields(record):
        required = field.default is MISSING and field.default_factory is MISSING
        yield from _below(hints[field.name], (*path, field.name), required)


def _below(hint: Any, path: Path, required: bool) -> Iterator[tuple[Path, Any, bool]]:
    yield path, hint, required
    base = _base(hint)[0]
    if is_dataclass(base) and isinstance(base, type):
        yield from _walk(base, path)
    elif get_origin(base) is tuple:
        yield from _below(get_args(base)[0], (*path, 0), False)


def _objects(record: type, path: Path) -> Iterator[Path]:
    yield path
    for below, hint, _required in _walk(record, path):
        if is_dataclass(_base(hint)[0]):
            yield below


def _base(hint: Any) -> tuple[Any, tuple[Any, ...], bool]:
    """The type, its markers, and whether null is right."""
    nullable = NoneType in get_args(hint) and get_origin(hint) is not Literal
    if nullable:
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    if get_origin(hint) is Annotated:
        base, *markers = get_args(hint)
        return base, tuple(markers), nullable
    return hint, (), nullable


def _spoilt(hint: Any) -> Iterator[Any]:
    """Wrong values for one field: of another type, and past each of its bounds."""
    base, markers, nullable = _base(hint)
    if base is Any:
        return
    if not nullable:
        yield None
    if get_origin(base) is Literal or isinstance(base, EnumMeta):
        yield from ("weather", "", 1, True, [], {})
    elif base is str:
        yield from _texts(markers[0])
    elif base is int:
        yield from _integers(markers[0])
    elif base is datetime:
        yield from (
            "2030-01-01T00:00:00.000",
            "2030-01-01T00:00:00.000+01:00",
            "2030-01-01T00:00:00.0001Z",
            "2030-01-01",
            "2030-02-30T00:00:00.000Z",
            "1969-12-31T23:59:59.999Z",
            1_893_456_000_000,
            "",
            [],
        )
    elif get_origin(base) is tuple:
        yield from _lists(markers[0])
    else:
        yield from ([], "text", 1, True)


def _texts(text: Text) -> Iterator[Any]:
    yield from (7, True, [], {}, "x" * (text.maximum + 1), "bell\x07", "nul\x00")
    if text.minimum:
        yield from ("", "two words", "line\n", "umlaut \u00e4")


def _integers(bounds: Bounds) -> Iterator[Any]:
    yield from (bounds.minimum - 1, bounds.maximum + 1, -(2**53), 2**64, "1", True, [], {})
    yield from ({NUMBER: "1.0"}, {NUMBER: "1.5"})


def _lists(items: Items) -> Iterator[Any]:
    yield from ("text", 1, True, {"0": 1}, [None], [1])
    if items.minimum:
        yield []
