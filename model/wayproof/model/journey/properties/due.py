"""What would stop a request: time that ran out, a limit that it exceeds, a turn not its own.

Like ``situation.py``, written from the catalogue and apart from the rules.
"""

from typing import Final, Literal

from wayproof.model.journey.properties.contract import JourneyStep
from wayproof.model.journey.properties.entering import run_starts
from wayproof.model.journey.properties.exposure import exposure_of
from wayproof.model.journey.properties.sequence import wanted_at
from wayproof.model.journey.properties.situation import (
    LIVE,
    OPEN,
    conservative_amount,
    earlier_of_invocation,
    is_terminal,
    named,
    proceeds,
    reaches_checkpoint,
    workflow_run,
)
from wayproof.model.journey.state import State, Terms
from wayproof.spec.journey import requests
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import (
    COUNTER_EXHAUSTION_REASONS,
    UNFINISHED_RUN_STATES,
    AccountingStatus,
    Counter,
    Idempotency,
    LifecycleState,
    ReservationState,
    WorkflowRunState,
)

ENDING_REQUESTS: Final = (
    requests.CancelRequest,
    requests.CompleteJourneyRequest,
    requests.FailJourneyRequest,
)
"""Requests that ask for an end of the journey."""

Overdue = Literal["deadline", "cutoff", "accounting"]


def effective_cutoff(terms: Terms, state: State) -> int | None:
    """When a cancelling journey is cancelled at the latest; None if it is not cancelling."""
    if state.lifecycle is not LifecycleState.CANCELLING or state.cancellation is None:
        return None
    return min(state.cancellation.deadline, terms.deadline)


def overdue(step: JourneyStep) -> Overdue | None:
    """What has fallen due for the journey as a whole."""
    before, now = step.before, step.now
    if before.lifecycle in LIVE:
        return "deadline" if now >= step.terms.deadline else None
    cutoff = effective_cutoff(step.terms, before)
    if cutoff is not None:
        return "cutoff" if now >= cutoff else None
    if before.accounting is AccountingStatus.PENDING and before.accounting_deadline is not None:
        return "accounting" if now >= before.accounting_deadline else None
    return None


def time_takes_effect(step: JourneyStep) -> bool:
    """Whether the step lets take effect what is overdue: a sweep, or a request that gets as far
    as the checkpoint."""
    return step.request is None or reaches_checkpoint(step)


def is_expired(step: JourneyStep) -> bool:
    """Whether the step finds a pending or running journey at or past its deadline."""
    return step.before.lifecycle in LIVE and step.now >= step.terms.deadline


def meets_deadline(step: JourneyStep) -> bool:
    """Whether a request gets as far as the checkpoint of an expired journey."""
    return is_expired(step) and reaches_checkpoint(step)


def is_stopping(step: JourneyStep) -> bool:
    """Whether the step finds the journey cancelling, before its cutoff."""
    return step.before.lifecycle is LifecycleState.CANCELLING and overdue(step) is None


def ends(step: JourneyStep) -> bool:
    """Whether the step commits the journey's terminal transition."""
    return is_terminal(step.after) and not is_terminal(step.before)


def became(step: JourneyStep, lifecycle: LifecycleState) -> bool:
    """Whether the step moved the journey into that state."""
    return step.after.lifecycle is lifecycle and step.before.lifecycle is not lifecycle


def end_of(state: State) -> tuple[object, ...]:
    """What the execution outcome is made of: it must never change once there is one."""
    return (
        state.lifecycle,
        state.terminal_reason,
        state.finished_at,
        tuple(
            (run.workflow_run_id, run.workflow_id, run.state)
            for run in sorted(state.runs, key=lambda run: run.workflow_run_id)
        ),
    )


def claims(step: JourneyStep) -> dict[Counter, int]:
    """What a request would claim, if it got that far."""
    match step.request:
        case requests.BeginJourneyRequest():
            members = wanted_at(step.terms, step.terms.entry_position)
            starts = sum(run.workflow_id is not None for run in members)
            return {Counter.WORKFLOW_RUN_STARTS: starts} if starts else {}
        case requests.FinishWorkflowRunRequest() | requests.SubmitInputRequest():
            starts = run_starts(step)
            return {Counter.WORKFLOW_RUN_STARTS: starts} if starts else {}
        case requests.StartWorkflowRunRequest(purpose=purpose):
            claimed = {Counter.WORKFLOW_RUN_STARTS: 1}
            if purpose == "repair":
                claimed[Counter.WORKFLOW_REPAIR_STARTS] = 1
            if purpose == "refinement":
                claimed[Counter.APP_REFINEMENT_STARTS] = 1
            return claimed
        case requests.ClaimAttemptRequest(counters=counters):
            return {Counter(counter.value): 1 for counter in counters}
        case requests.ReserveRequest():
            return {Counter.PROVIDER_RETRY_ATTEMPTS: 1} if earlier_of_invocation(step) else {}
    return {}


def exhausted_counter(step: JourneyStep) -> Counter | None:
    """The first counter, in policy order, that a request would take past its limit."""
    claimed = claims(step)
    if claimed:
        for counter, count, limit in zip(
            Counter, step.before.counters, step.terms.limits, strict=True
        ):
            if limit is not None and counter in claimed and count + claimed[counter] > limit:
                return counter
    return None


def exhaustion_code(counter: Counter) -> RefusalCode:
    """The code with which an exhausted counter refuses."""
    return RefusalCode(COUNTER_EXHAUSTION_REASONS[counter].value)


def is_over_the_ceiling(step: JourneyStep) -> bool:
    """Whether a reserve request asks for more than the ceiling leaves, whatever else stops it."""
    request = step.request
    if not isinstance(request, requests.ReserveRequest):
        return False
    amount = conservative_amount(request)
    if amount is None:
        return False
    if request.idempotency is Idempotency.AUTHORITATIVE:
        group = exposure_of(earlier_of_invocation(step)).total
        amount = max(0, amount - group)
    return exposure_of(step.before.transmissions).total + amount > step.terms.max_total_tokens


def is_over_budget(step: JourneyStep) -> bool:
    """Whether a request asks for more tokens or claims than are left, whatever else stops it."""
    return is_over_the_ceiling(step) or exhausted_counter(step) is not None


def out_of_turn(step: JourneyStep) -> RefusalCode | None:
    """With what a request that passed the stops is refused because its step is not due."""
    request, before, now = step.request, step.before, step.now
    match request:
        case requests.ClaimLeaseRequest():
            if before.lease is not None and now < before.lease.expires_at:
                return RefusalCode.LEASE_HELD
        case requests.StartWorkflowRunRequest():
            return _parent_out_of_turn(before, request)
        case requests.ClaimAttemptRequest() | requests.RequestInputRequest():
            return _idle(before, request.workflow_run_id)
        case requests.FinishWorkflowRunRequest():
            idle = _idle(before, request.workflow_run_id)
            return idle if idle is RefusalCode.WORKFLOW_RUN_NOT_ACTIVE else None
        case requests.ReserveRequest():
            if idle := _idle(before, request.workflow_run_id):
                return idle
            if request.idempotency is Idempotency.NONE and any(
                record.state in OPEN for record in earlier_of_invocation(step)
            ):
                return RefusalCode.PREDECESSOR_UNRESOLVED
        case requests.TransmitRequest() | requests.RenewReservationRequest():
            return _transmission_out_of_turn(step)
        case requests.CompleteJourneyRequest():
            if is_incomplete(before):
                return RefusalCode.JOURNEY_INCOMPLETE
    return None


def is_incomplete(state: State) -> bool:
    """Whether completion has something to wait for: the beginning, an unfinished run, or a
    failed run that no repair superseded."""
    return state.started_at is None or any(
        run.state in UNFINISHED_RUN_STATES
        or (run.state is WorkflowRunState.FAILED and not run.superseded)
        for run in state.runs
    )


def _idle(state: State, workflow_run_id: str) -> RefusalCode | None:
    run = workflow_run(state, workflow_run_id)
    if run is None or run.state is WorkflowRunState.ACTIVE:
        return None
    if run.state in UNFINISHED_RUN_STATES:
        return RefusalCode.WORKFLOW_RUN_NOT_ACTIVE
    return RefusalCode.WORKFLOW_RUN_FINISHED


def _parent_out_of_turn(
    state: State, request: requests.StartWorkflowRunRequest
) -> RefusalCode | None:
    parent = workflow_run(state, request.parent_workflow_run_id)
    if parent is None:
        return None
    if request.purpose == "decomposition":
        return _idle(state, parent.workflow_run_id)
    if request.purpose == "repair" and (
        parent.state is not WorkflowRunState.FAILED or parent.superseded
    ):
        return RefusalCode.PARENT_NOT_FAILED
    return None


def _transmission_out_of_turn(step: JourneyStep) -> RefusalCode | None:
    record = named(step)
    if record is None:
        return None
    if isinstance(step.request, requests.TransmitRequest):
        if idle := _idle(step.before, record.workflow_run_id):
            return idle
        if record.state is not ReservationState.RESERVED:
            return RefusalCode.TRANSMISSION_NOT_RESERVED
    elif record.state not in OPEN:
        return RefusalCode.TRANSMISSION_CLOSED
    if step.now >= record.lease_expires_at:
        return RefusalCode.RESERVATION_LEASE_EXPIRED
    return None


def meets_limits(step: JourneyStep) -> bool:
    """Whether a request passes the stops and the progress guards, so that tokens and counters
    are next."""
    request = step.request
    return (
        (
            not isinstance(request, requests.ReserveRequest)
            or conservative_amount(request) is not None
        )
        and proceeds(step)
        and out_of_turn(step) is None
    )
