"""The families of refusal: every defect, and every two defects of one request, so that the order
of the ladder decides; and every operation by a stranger."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from wayproof.conformance.generate import settings
from wayproof.conformance.generate.belief import due_instants
from wayproof.conformance.generate.goals import standing
from wayproof.conformance.generate.menus import (
    Scope,
    claim,
    on_transmission,
    reserve,
    run_of,
    start,
    token_name,
)
from wayproof.conformance.generate.scripts import (
    Action,
    Call,
    Draft,
    JsonValue,
    Sweep,
    Tick,
    call,
    owned,
)
from wayproof.conformance.generate.selection import Candidate, is_quiet, probe
from wayproof.conformance.generate.settings import OWNER
from wayproof.conformance.generate.situations import Situation, Worlds, explore
from wayproof.model.journey.state import State

WORLDS: Final[Worlds] = (
    (settings.ORDINARY, Scope(transmissions=2, attempts=False), 300),
    (settings.LIMITED, Scope(transmissions=2, grouped=False), 300),
    (settings.FORBIDDEN, Scope(transmissions=1, grouped=False), 100),
    (settings.ORDINARY, Scope(owner_lease=settings.SHORT_LEASE, transmissions=1), 150),
    (settings.TIGHT, Scope(transmissions=2, attempts=False), 100),
)
"""Where situations are searched for these families."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """One thing wrong with a request."""

    name: str
    field: str
    """The argument that it spoils; a request without that field cannot have it."""
    spoil: Callable[[JsonValue], JsonValue]


def _always(value: JsonValue) -> Callable[[JsonValue], JsonValue]:
    return lambda _right: value


DEFECTS: Final[tuple[Defect, ...]] = (
    Defect(name="a stranger's access", field="access", spoil=_always("$stranger")),
    Defect(
        name="an unknown schema version",
        field="access",
        spoil=_always({**OWNER, "schema_version": "wayproof.journey.execution_access.v2"}),
    ),
    Defect(name="an unknown journey", field="journey_id", spoil=_always("journey-of-nobody")),
    Defect(name="a lease of no time", field="lease_milliseconds", spoil=_always(0)),
    Defect(name="a token that is no number", field="fencing_token", spoil=_always("one")),
    Defect(name="an unregistered reason", field="reason_code", spoil=_always("weather")),
    Defect(name="a dead token", field="fencing_token", spoil=_always(999)),
    Defect(name="an unknown run", field="workflow_run_id", spoil=_always("run-of-nobody")),
    Defect(name="an unknown parent", field="parent_workflow_run_id", spoil=_always("nobody")),
    Defect(name="an unknown input request", field="input_request_id", spoil=_always("nothing")),
    Defect(name="an option of nobody", field="option_id", spoil=_always("nobody")),
    Defect(name="an unknown transmission", field="transmission_id", spoil=_always("nowhere")),
    Defect(name="a used operation id", field="operation_id", spoil=_always("lease-1")),
    Defect(name="an amount over any ceiling", field="max_output_tokens", spoil=_always(2**53 - 1)),
    Defect(name="no estimate", field="estimated_prompt_tokens", spoil=_always(None)),
)
"""Defects that can be combined; what the journey itself refuses comes from the situation."""


def requests(situation: Situation) -> Iterator[Call]:
    """One right request of each operation that a situation has the parts for."""
    state = situation.state
    token = token_name(state)
    for read in (
        "snapshot",
        "list_workflow_runs",
        "terminal_outcome",
        "settled_result",
        "list_reservations",
        "list_discrepancies",
    ):
        yield owned(read)
    yield owned("cancel", reason_code="caller_requested")
    yield claim(state, situation.scope)
    yield owned("heartbeat", fencing_token=token, lease_milliseconds=settings.LONG_LEASE)
    yield owned("begin_journey", fencing_token=token)
    yield owned("complete_journey", fencing_token=token)
    yield owned("fail_journey", fencing_token=token, reason_code="workflow_failed")
    if state.runs:
        yield from _on_runs(state, token)
    for transmission in state.transmissions[-1:]:
        for operation in ("transmit", "renew_reservation", "report_unsent"):
            yield on_transmission(operation, transmission)
        yield on_transmission("report_response", transmission, usage=12)
        yield on_transmission("report_ambiguity", transmission, cause="connection_reset")


def staged_requests(situation: Situation) -> Iterator[Call]:
    """One right request of each operation that belongs to an outbox or to inputs."""
    state = situation.state
    token = token_name(state)
    if state.intents or state.inputs:
        yield owned("list_dispatch_intents")
        yield owned(
            "request_input", fencing_token=token, operation_id="pause-7", workflow_run_id="$R1"
        )
    for intent in state.intents[-1:]:
        run = run_of(state, intent.workflow_run_id)
        for operation in ("acknowledge_dispatch", "claim_dispatched_run"):
            yield owned(operation, fencing_token=token, workflow_run_id=run)
    for number, asked in list(enumerate(state.inputs, start=1))[-1:]:
        for option in ({}, {"option_id": "small"}):
            yield owned(
                "submit_input",
                workflow_run_id=run_of(state, asked.workflow_run_id),
                input_request_id=f"$I{number}",
                **option,
            )


def _on_runs(state: State, token: Any) -> Iterator[Call]:
    for purpose in ("decomposition", "repair", "refinement"):
        yield owned(
            "start_workflow_run",
            fencing_token=token,
            operation_id="child-7",
            parent_workflow_run_id="$R1",
            workflow_id="Aside",
            purpose=purpose,
        )
    yield owned(
        "finish_workflow_run", fencing_token=token, workflow_run_id="$R1", outcome="completed"
    )
    for counters in (
        ["task_attempt_starts"],
        ["structured_output_correction_attempts", "task_attempt_starts"],
    ):
        yield owned(
            "claim_attempt",
            fencing_token=token,
            operation_id="attempt-7",
            workflow_run_id="$R1",
            counters=counters,
        )
    yield reserve(state, invocation="call-7")
    for transmission in state.transmissions[-1:]:
        grouped = transmission.idempotency.value == "authoritative"
        yield reserve(state, invocation=transmission.invocation_id, grouped=grouped)
        yield reserve(state, invocation=transmission.invocation_id, grouped=not grouped)


def candidates(
    worlds: Worlds = WORLDS, asked: Callable[[Situation], Iterator[Call]] = requests
) -> Iterator[Candidate]:
    """Every request with none, one and two defects, in time and past what is due; once for all
    situations in which each defect alone has the same effect."""
    told: set[Hashable] = set()
    for setting, scope, most in worlds:
        for situation in explore(setting, scope, most):
            for prefix in _times(situation):
                for request in asked(situation):
                    yield from _spoilt(situation, prefix, request, told)


def _times(situation: Situation) -> Iterator[tuple[Action, ...]]:
    yield ()
    journey = situation.world.journeys[0]
    later = [i for i in due_instants(journey.terms, journey.state) if i > situation.now]
    for instant in sorted(set(later)):
        yield (Tick(instant),)


def _spoilt(
    situation: Situation, prefix: tuple[Action, ...], request: Call, told: set[Hashable]
) -> Iterator[Candidate]:
    fitting = [defect for defect in DEFECTS if defect.field in request.arguments]
    right = _code(situation, prefix, request)
    codes = {d.name: _code(situation, prefix, _with(request, (d,))) for d in fitting}
    alike = (request.operation, standing(situation.state), right, tuple(codes.values()))
    if alike in told:
        return
    told.add(alike)
    for defects in ((), *((d,) for d in fitting), *combinations(fitting, 2)):
        if len({defect.field for defect in defects}) < len(defects):
            continue
        spoilt = _with(request, defects)
        probed = probe(situation, (*prefix, spoilt))
        if probed is None or probed.last.step.code is None:
            continue
        step = probed.last.step
        apart = tuple(sorted({str(codes[d.name]) for d in defects} | {str(right)}))
        names = " and ".join(defect.name for defect in defects) or "nothing wrong in itself"
        foreign = any(defect.field == "access" for defect in defects)
        goals: set[Hashable] = {("refusals", step.operation, apart, step.code)}
        if len(defects) == 1:
            goals.add(("refusals", step.operation, right, names, step.code))
        if foreign and len(defects) == 1:
            goals.add(("access", step.operation, standing(situation.state)))
        yield Candidate(
            draft=Draft(
                family="access" if foreign and len(defects) == 1 else "refusal",
                topic="strangers"
                if foreign and len(defects) == 1
                else step.operation.replace("_", "-"),
                setting=situation.setting,
                script=(*probed.script, Sweep()),
                focus=len(situation.script) + len(prefix),
                title=f"{step.operation} with {names}, {situation.state.lifecycle}: {step.code}",
            ),
            goals=frozenset(goals),
            quiet=is_quiet(probed),
        )


def _with(request: Call, defects: tuple[Defect, ...]) -> Call:
    arguments = dict(request.arguments)
    for defect in defects:
        arguments[defect.field] = defect.spoil(arguments[defect.field])
    return call(request.operation, **arguments)


def _code(situation: Situation, prefix: tuple[Action, ...], request: Call) -> object:
    probed = probe(situation, (*prefix, request))
    return None if probed is None else probed.last.step.code


NEARLY: Final = {
    "another tenant": {**OWNER, "tenant_id": "tenant-z"},
    "another owner": {**OWNER, "owner_id": "owner-z"},
    "another workspace": {**OWNER, "workspace_id": "workspace-z"},
    "no workspace": {k: v for k, v in OWNER.items() if k != "workspace_id"},
    "a build scope besides": {**OWNER, "build_scope_id": "build-z"},
}
"""Accesses that differ from the creation scope in one field."""


def nearly_owners() -> Iterator[Draft]:
    """Every operation by accesses that are nearly the owner's."""
    scope = Scope(transmissions=1, attempts=False)
    wanted = 3
    running = [
        s for s in explore(settings.ORDINARY, scope, 200) if s.state.runs and s.state.transmissions
    ][:wanted]
    for name, access in NEARLY.items():
        for situation in running[:1]:
            for request in requests(situation):
                yield Draft(
                    family="access",
                    topic="nearly",
                    setting=situation.setting,
                    script=(*situation.script, _as(request, access), request),
                    focus=len(situation.script),
                    title=f"{request.operation} by {name}",
                )


def _as(request: Call, access: JsonValue) -> Call:
    return call(request.operation, **{**request.arguments, "access": access})


def unknown_operations() -> Iterator[Draft]:
    """Words that are no operation."""
    for word in ("pause", "start_journey", "delete", "Snapshot"):
        yield Draft(
            family="refusal",
            topic="unknown-operation",
            setting=settings.ORDINARY,
            script=(start(Scope()), owned(word), owned("snapshot")),
            focus=1,
            title=f"{word} is no operation",
        )
