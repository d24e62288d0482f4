"""The schemas of the requests once more, read by hand: which parts of a request are wrong.

Contracts on malformed requests must know that a request has one fault and no other, or its
refusal would prove nothing. This reading shares nothing with the decoder but the words of the
vocabulary, so that each can be held against the other.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

from wayproof.spec.journey.vocabulary import (
    MAXIMUM_INTEGER,
    AmbiguityCause,
    AttemptCounter,
    CancellationReason,
    FailureReason,
    Idempotency,
)


class Fault(NamedTuple):
    """One thing that is wrong with a request."""

    pointer: str
    """JSON Pointer to the member; to where it should be, if it is missing."""
    kind: str
    """``missing``, ``unknown``, ``version``, ``number``, ``text``, ``moment``, ``choice``,
    ``object``, ``list``, ``together``, ``size`` or ``operation``."""


Form = Callable[[object, str], Iterator[Fault]]
"""Yields the faults of a value that stands at a pointer."""


def number(minimum: int = 0, maximum: int = MAXIMUM_INTEGER) -> Form:
    """An integer within bounds."""

    def check(value: object, pointer: str) -> Iterator[Fault]:
        if type(value) is not int or not minimum <= value <= maximum:
            yield Fault(pointer, "number")

    return check


def text(pattern: str, maximum: int, minimum: int = 1) -> Form:
    """A string of so many characters, each of which matches."""
    compiled = re.compile(f"(?:{pattern})*", re.ASCII)

    def check(value: object, pointer: str) -> Iterator[Fault]:
        if (
            type(value) is not str
            or not minimum <= len(value) <= maximum
            or not compiled.fullmatch(value)
        ):
            yield Fault(pointer, "text")

    return check


def version(expected: str) -> Form:
    """The one schema version."""

    def check(value: object, pointer: str) -> Iterator[Fault]:
        if value != expected:
            yield Fault(pointer, "version")

    return check


def choice(*words: str) -> Form:
    """One of the words."""

    def check(value: object, pointer: str) -> Iterator[Fault]:
        if type(value) is not str or value not in words:
            yield Fault(pointer, "choice")

    return check


def registered(words: type[StrEnum]) -> Form:
    """A word of an enumeration."""
    return choice(*(word.value for word in words))


def moment(value: object, pointer: str) -> Iterator[Fault]:
    """An RFC 3339 moment since 1970, in UTC, no finer than a millisecond."""
    if type(value) is not str or not _is_moment(value):
        yield Fault(pointer, "moment")


_MOMENT: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,3}0*)?(?:Z|\+00:00)", re.ASCII
)


def _is_moment(value: str) -> bool:
    parts = _MOMENT.fullmatch(value)
    if parts is None or len(value) > 40:
        return False
    try:
        return datetime(*map(int, parts.groups()), tzinfo=UTC).year >= 1970  # type: ignore[misc, arg-type]
    except ValueError:
        return False


def nullable(form: Form) -> Form:
    """Null, or what the form says."""
    return lambda value, pointer: iter(()) if value is None else form(value, pointer)


def boolean(value: object, pointer: str) -> Iterator[Fault]:
    """True or false."""
    if not isinstance(value, bool):
        yield Fault(pointer, "type")


def anything(value: object, pointer: str) -> Iterator[Fault]:
    """Any JSON value."""
    return iter(())


def listing(form: Form, maximum: int, *, minimum: int = 0, unique: bool = False) -> Form:
    """A list of so many entries."""

    def check(value: object, pointer: str) -> Iterator[Fault]:
        if (
            not isinstance(value, list)
            or not minimum <= len(value) <= maximum
            or (unique and len({str(entry) for entry in value}) < len(value))
        ):
            yield Fault(pointer, "list")
            return
        for place, entry in enumerate(value):
            yield from form(entry, f"{pointer}/{place}")

    return check


def record(required: Mapping[str, Form], optional: Mapping[str, Form] | None = None) -> Form:
    """An object with these members and no other."""
    every = {**required, **(optional or {})}

    def check(value: object, pointer: str) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield Fault(pointer, "object")
            return
        for name in required:
            if name not in value:
                yield Fault(f"{pointer}/{name}", "missing")
        for name, member in value.items():
            if name in every:
                yield from every[name](member, f"{pointer}/{name}")
            else:
                escaped = str(name).replace("~", "~0").replace("/", "~1")
                yield Fault(f"{pointer}/{escaped}", "unknown")

    return check


IDENTIFIER: Final = text(r"[A-Za-z0-9._:+@/-]", 128)
REFERENCE: Final = text(r"[!-~]", 256)
_PLAIN = r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]"
COUNT: Final = number()
POSITIVE: Final = number(1)
LEASE: Final = number(1, 86_400_000)
GRACE: Final = number(1, 31_536_000)

ACCESS: Final = record(
    {
        "schema_version": version("wayproof.journey.execution_access.v1"),
        "tenant_id": IDENTIFIER,
        "owner_id": IDENTIFIER,
    },
    {"workspace_id": nullable(IDENTIFIER), "build_scope_id": nullable(IDENTIFIER)},
)

_ARTIFACTS = record(
    {"on_non_success": choice("delete", "retain_until")}, {"retain_until_utc": nullable(moment)}
)


def artifacts(value: object, pointer: str) -> Iterator[Fault]:
    """``delete`` without a moment, or ``retain_until`` with one."""
    faults = list(_ARTIFACTS(value, pointer))
    yield from faults
    if not faults and isinstance(value, dict):
        retained = value["on_non_success"] == "retain_until"
        if retained != (value.get("retain_until_utc") is not None):
            yield Fault(pointer, "together")


POLICY: Final = record(
    {
        "schema_version": version("mozaiks.journey_execution_policy.v1"),
        "deadline_utc": moment,
        "max_total_tokens": POSITIVE,
        "cancellation_mode": choice("cooperative"),
        "cancellation_grace_seconds": GRACE,
        "accounting_settlement_grace_seconds": GRACE,
        "partial_artifact_policy": artifacts,
    },
    {
        "max_workflow_run_starts": nullable(POSITIVE),
        "max_task_attempt_starts": nullable(POSITIVE),
        "max_provider_retry_attempts": nullable(COUNT),
        "max_structured_output_correction_attempts": nullable(COUNT),
        "max_workflow_repair_starts": nullable(COUNT),
        "max_app_refinement_starts": nullable(COUNT),
    },
)

START: Final = record(
    {
        "schema_version": version("wayproof.journey.start_request.v1"),
        "access": ACCESS,
        "idempotency_key": IDENTIFIER,
        "workflow_sequence_id": IDENTIFIER,
        "entry": record({"kind": choice("entrypoint", "stage"), "id": IDENTIFIER}),
        "policy": POLICY,
    },
    {
        "route_choices": listing(
            record({"transition_id": IDENTIFIER, "option_id": IDENTIFIER}), 32
        ),
        "initial_message": nullable(text(_PLAIN, 10_000, minimum=0)),
        "semantic_references": listing(
            record(
                {
                    "role": choice(
                        "application_manifest",
                        "semantic_graph",
                        "taxonomy_namespace",
                        "compilation_plan",
                        "build_context_binding",
                        "refinement_patch",
                        "artifact_revision",
                        "child_contract",
                    ),
                    "reference": REFERENCE,
                }
            ),
            32,
        ),
    },
)


def _journey(required: Mapping[str, Form], optional: Mapping[str, Form] | None = None) -> Form:
    return record({"access": ACCESS, "journey_id": IDENTIFIER, **required}, optional)


def _owner(**required: Form) -> Form:
    return _journey({"fencing_token": POSITIVE, **required})


_PAGE = {"after": COUNT, "limit": number(1, 1000)}

FORMS: Final[Mapping[str, Form]] = {
    "start": START,
    "snapshot": _journey({}),
    "list_workflow_runs": _journey({}),
    "terminal_outcome": _journey({}),
    "settled_result": _journey({}),
    "list_reservations": _journey({}, _PAGE),
    "list_discrepancies": _journey({}, _PAGE),
    "cancel": _journey(
        {},
        {
            "reason_code": registered(CancellationReason),
            "explanation": nullable(text(_PLAIN, 500, minimum=0)),
        },
    ),
    "claim_lease": _journey(
        {"operation_id": IDENTIFIER, "worker_id": IDENTIFIER, "lease_milliseconds": LEASE}
    ),
    "heartbeat": _owner(lease_milliseconds=LEASE),
    "begin_journey": _owner(),
    "list_dispatch_intents": _journey({}, {**_PAGE, "open_only": boolean}),
    "acknowledge_dispatch": _owner(workflow_run_id=IDENTIFIER),
    "claim_dispatched_run": _owner(workflow_run_id=IDENTIFIER),
    "request_input": _owner(operation_id=IDENTIFIER, workflow_run_id=IDENTIFIER),
    "submit_input": _journey(
        {"workflow_run_id": IDENTIFIER, "input_request_id": IDENTIFIER},
        {"option_id": nullable(IDENTIFIER)},
    ),
    "start_workflow_run": _owner(
        operation_id=IDENTIFIER,
        parent_workflow_run_id=IDENTIFIER,
        workflow_id=IDENTIFIER,
        purpose=choice("decomposition", "repair", "refinement"),
    ),
    "finish_workflow_run": _owner(
        workflow_run_id=IDENTIFIER, outcome=choice("completed", "failed")
    ),
    "claim_attempt": _owner(
        operation_id=IDENTIFIER,
        workflow_run_id=IDENTIFIER,
        counters=listing(registered(AttemptCounter), 2, minimum=1, unique=True),
    ),
    "complete_journey": _owner(),
    "fail_journey": _owner(reason_code=registered(FailureReason)),
    "reserve": _owner(
        workflow_run_id=IDENTIFIER,
        invocation_id=IDENTIFIER,
        transmission_id=IDENTIFIER,
        idempotency=registered(Idempotency),
        estimated_prompt_tokens=nullable(COUNT),
        max_output_tokens=nullable(POSITIVE),
        lease_milliseconds=LEASE,
    ),
    "transmit": _owner(transmission_id=IDENTIFIER),
    "renew_reservation": _owner(transmission_id=IDENTIFIER, lease_milliseconds=LEASE),
    "report_unsent": _owner(transmission_id=IDENTIFIER),
    "report_response": _journey({"transmission_id": IDENTIFIER, "usage": anything}),
    "report_ambiguity": _journey(
        {"transmission_id": IDENTIFIER, "cause": registered(AmbiguityCause)}
    ),
}
"""The form of each operation's arguments."""

MAXIMUM_BYTES: Final = 65_536


def faults(operation: str, arguments: Any) -> tuple[Fault, ...]:
    """Everything that is wrong with a request; empty if it is well formed."""
    form = FORMS.get(operation)
    if form is None:
        return (Fault("", "operation"),)
    found = tuple(form(arguments, ""))
    if found or operation == "report_response":  # the evidence itself may be of any size
        return found
    size = len(json.dumps(arguments, ensure_ascii=False, separators=(",", ":")).encode())
    return (Fault("", "size"),) if size > MAXIMUM_BYTES else ()
