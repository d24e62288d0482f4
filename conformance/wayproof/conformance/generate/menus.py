"""What can be asked of a world: the commands that lead on, and those that probe.

Every command is symbolic (see ``scripts.py``) and made for one journey, the first. A menu looks
at the model's state only to name what exists and to hit amounts exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from wayproof.conformance.generate.scripts import Call, call, owned
from wayproof.conformance.generate.settings import (
    LONG_LEASE,
    RESERVATION_LEASE,
)
from wayproof.model.journey.lifecycle import is_open
from wayproof.model.journey.stages import offered
from wayproof.model.journey.state import InputRequest, State, Transmission
from wayproof.model.journey.totals import OPEN
from wayproof.model.journey.world import Journey, World
from wayproof.spec.journey.vocabulary import (
    DispatchState,
    ReservationState,
    WorkflowRunState,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """How far a menu goes."""

    sequence: str = "solo"
    owner_lease: int = LONG_LEASE
    reservation_lease: int = RESERVATION_LEASE
    transmissions: int = 2
    grouped: bool = True
    groups: int = 1
    plain: bool = True
    """Whether there are transmissions that are no member of a group."""
    children: int = 1
    attempts: bool = True
    ends: bool = True
    """Whether runs and the journey may be ended by a request."""
    pauses: int = 0
    """How often runs may be paused for input."""


SENDS: Final = ("send-c", "send-a", "send-e", "send-b", "send-d")
"""The transmissions in their order, which is not the order of their names."""


def next_send(state: State) -> str:
    """The name of the journey's next transmission."""
    made = len(state.transmissions)
    return SENDS[made] if made < len(SENDS) else f"send-{made}"


def run_name(index: int) -> str:
    """The name of the journey's run at that index."""
    return f"$R{index + 1}"


def token_name(state: State) -> Any:
    """The name of the latest fencing token; while there is none, a number that cannot be it."""
    return f"$F{state.lease.fencing_token}" if state.lease else 1


def start(scope: Scope, **changes: Any) -> Call:
    """The start of the first journey."""
    arguments: dict[str, Any] = {
        "schema_version": "wayproof.journey.start_request.v1",
        "access": "$owner",
        "idempotency_key": "key-1",
        "workflow_sequence_id": scope.sequence,
        "entry": {"kind": "entrypoint", "id": f"{scope.sequence}_entry"},
        "policy": "$policy",
        **changes,
    }
    return call("start", **{k: v for k, v in arguments.items() if v is not ...})


def claim(state: State, scope: Scope) -> Call:
    """The next claim of the owner lease."""
    number = 1 if state.lease is None else state.lease.fencing_token + 1
    return owned(
        "claim_lease",
        operation_id=f"lease-{number}",
        worker_id=f"worker-{number}",
        lease_milliseconds=scope.owner_lease,
    )


def reserve(
    state: State,
    *,
    run: str = "$R1",
    invocation: str = "call-1",
    transmission: str | None = None,
    grouped: bool = False,
    estimate: Any = 10,
    output: Any = 20,
    lease: int = RESERVATION_LEASE,
    token: Any = None,
) -> Call:
    """A reservation; by default of the next transmission."""
    return owned(
        "reserve",
        fencing_token=token or token_name(state),
        workflow_run_id=run,
        invocation_id=invocation,
        transmission_id=transmission or next_send(state),
        idempotency="authoritative" if grouped else "none",
        estimated_prompt_tokens=estimate,
        max_output_tokens=output,
        lease_milliseconds=lease,
    )


def on_transmission(operation: str, transmission: Transmission, **more: Any) -> Call:
    """A request about one transmission by the token under which it was reserved."""
    if operation in ("transmit", "renew_reservation", "report_unsent"):
        more = {"fencing_token": f"$F{transmission.fencing_token}", **more}
    if operation == "renew_reservation":
        more = {"lease_milliseconds": 2 * RESERVATION_LEASE, **more}
    return owned(operation, transmission_id=transmission.transmission_id, **more)


def leading(world: World, scope: Scope) -> Iterator[Call]:
    """The commands that lead to other situations."""
    if not world.journeys:
        yield start(scope)
        return
    state = world.journeys[0].state
    token = token_name(state)
    yield claim(state, scope)
    yield owned("begin_journey", fencing_token=token)
    for index, run in enumerate(state.runs):
        if run.state is WorkflowRunState.ACTIVE and scope.ends:
            for outcome in ("completed", "failed"):
                yield owned(
                    "finish_workflow_run",
                    fencing_token=token,
                    workflow_run_id=run_name(index),
                    outcome=outcome,
                )
    yield from staged(world.journeys[0], scope, token)
    yield from _children(state, scope, token)
    if scope.attempts:
        yield from _attempts(state, token)
    yield from _transmissions(state, scope)
    if not scope.ends:
        return
    yield owned("cancel")
    yield owned("complete_journey", fencing_token=token)
    yield owned("fail_journey", fencing_token=token, reason_code="workflow_failed")


def staged(journey: Journey, scope: Scope, token: Any) -> Iterator[Call]:
    """What leads on from stage to stage: deliveries, pauses and inputs."""
    state = journey.state
    for intent in state.intents:
        if is_open(intent):
            run = run_of(state, intent.workflow_run_id)
            if intent.state is DispatchState.RECORDED:
                yield owned("acknowledge_dispatch", fencing_token=token, workflow_run_id=run)
            yield owned("claim_dispatched_run", fencing_token=token, workflow_run_id=run)
    paused = sum(o.operation_id.startswith("pause-") for o in state.operations)
    for index, run_state in enumerate(run.state for run in state.runs):
        if run_state is WorkflowRunState.ACTIVE and paused < scope.pauses:
            yield owned(
                "request_input",
                fencing_token=token,
                operation_id=f"pause-{paused + 1}",
                workflow_run_id=run_name(index),
            )
    for number, asked in enumerate(state.inputs, start=1):
        if not asked.answered:
            yield from answers(journey, asked, number)


def answers(journey: Journey, asked: InputRequest, number: int) -> Iterator[Call]:
    """Inputs for one request: with every option that its transition offers, or without one."""
    run = next(r for r in journey.state.runs if r.workflow_run_id == asked.workflow_run_id)
    offers = offered(journey.terms.definition, run.stage_id) if run.workflow_id is None else {}
    for option in offers or (None,):
        chosen = {} if option is None else {"option_id": option}
        yield owned(
            "submit_input",
            workflow_run_id=run_of(journey.state, run.workflow_run_id),
            input_request_id=f"$I{number}",
            **chosen,
        )


def run_of(state: State, workflow_run_id: str) -> str:
    """The name of a run."""
    ids = [run.workflow_run_id for run in state.runs]
    return run_name(ids.index(workflow_run_id))


def _children(state: State, scope: Scope, token: Any) -> Iterator[Call]:
    started = sum(run.parent_workflow_run_id is not None for run in state.runs)
    if not state.runs or started >= scope.children:
        return
    for index, _run in enumerate(state.runs):
        for purpose in ("decomposition", "repair", "refinement"):
            yield owned(
                "start_workflow_run",
                fencing_token=token,
                operation_id=f"child-{started + 1}",
                parent_workflow_run_id=run_name(index),
                workflow_id="Aside",
                purpose=purpose,
            )


def _attempts(state: State, token: Any) -> Iterator[Call]:
    made = sum(o.operation_id.startswith("attempt-") for o in state.operations)
    if not state.runs or made >= 2:
        return
    for counters in (
        ["task_attempt_starts"],
        ["structured_output_correction_attempts"],
        ["structured_output_correction_attempts", "task_attempt_starts"],
    ):
        yield owned(
            "claim_attempt",
            fencing_token=token,
            operation_id=f"attempt-{made + 1}",
            workflow_run_id="$R1",
            counters=counters,
        )


def _transmissions(state: State, scope: Scope) -> Iterator[Call]:
    if state.runs and len(state.transmissions) < scope.transmissions:
        lasts, further = scope.reservation_lease, bool(state.transmissions)
        if scope.plain:
            yield reserve(state, lease=lasts)
            if further:
                yield reserve(state, invocation="call-2", lease=lasts)
            if len(state.runs) > 1:
                yield reserve(state, invocation="call-of-another", run="$R2", lease=lasts)
        for number in range(1, scope.groups + 1) if scope.grouped else ():
            for estimate in (10, 20, 0) if further else (10,):
                yield reserve(
                    state,
                    invocation=f"group-{number}",
                    grouped=True,
                    estimate=estimate,
                    lease=lasts,
                )
    for transmission in state.transmissions:
        if transmission.state in OPEN:
            yield on_transmission("transmit", transmission)
            yield on_transmission("report_unsent", transmission)
        if transmission.state in (
            ReservationState.TRANSMITTED,
            ReservationState.EXPIRED_CONSERVATIVELY,
        ):
            for usage in (0, 12, transmission.reserved_tokens + 5, None):
                yield on_transmission("report_response", transmission, usage=usage)
        if transmission.state is ReservationState.TRANSMITTED:
            yield on_transmission("report_ambiguity", transmission, cause="client_timeout")
