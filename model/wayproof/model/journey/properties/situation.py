"""What a step meets: how far its request gets, read from the state before it.

Contracts ask these questions to know what is at stake. They are written from the catalogue's
order of checks, apart from the rules, so that a wrong guard cannot excuse itself.
"""

from collections.abc import Callable
from typing import TypeVar

from wayproof.model.journey.properties.contract import JourneyStep
from wayproof.model.journey.properties.exposure import exposure_of
from wayproof.model.journey.properties.sequence import is_offered
from wayproof.model.journey.state import InputRequest, Intent, Run, State, Transmission
from wayproof.spec.journey import requests
from wayproof.spec.journey.vocabulary import (
    MAXIMUM_INTEGER,
    TERMINAL_STATES,
    AccountingStatus,
    Counter,
    Idempotency,
    LifecycleState,
    ReservationState,
    WorkflowRunState,
)

LIVE = (LifecycleState.PENDING, LifecycleState.RUNNING)
OPEN = (ReservationState.RESERVED, ReservationState.TRANSMITTED)
SENT = (ReservationState.TRANSMITTED, ReservationState.EXPIRED_CONSERVATIVELY)
NEVER_SENT = (ReservationState.RESERVED, ReservationState.RELEASED_UNTRANSMITTED)
SETTLED = (ReservationState.RECONCILED, ReservationState.RELEASED_UNTRANSMITTED)

OF_OPERATION_ID = (
    requests.ClaimLeaseRequest,
    requests.StartWorkflowRunRequest,
    requests.ClaimAttemptRequest,
    requests.RequestInputRequest,
)
OF_TRANSMISSION = (
    requests.TransmitRequest,
    requests.RenewReservationRequest,
    requests.ReportUnsentRequest,
    requests.ReportResponseRequest,
    requests.ReportAmbiguityRequest,
)
OF_RUN = (
    requests.FinishWorkflowRunRequest,
    requests.ClaimAttemptRequest,
    requests.ReserveRequest,
    requests.RequestInputRequest,
)
OF_INTENT = (requests.AcknowledgeDispatchRequest, requests.ClaimDispatchedRunRequest)
REPORTS = (
    requests.ReportUnsentRequest,
    requests.ReportResponseRequest,
    requests.ReportAmbiguityRequest,
)
READS = (
    requests.SnapshotRequest,
    requests.ListWorkflowRunsRequest,
    requests.TerminalOutcomeRequest,
    requests.SettledResultRequest,
    requests.ListReservationsRequest,
    requests.ListDiscrepanciesRequest,
    requests.ListDispatchIntentsRequest,
)

Answer = TypeVar("Answer")


def remembered(ask: Callable[[JourneyStep], Answer]) -> Callable[[JourneyStep], Answer]:
    """Ask once what many contracts ask of the same step, one after the other."""
    last: list[tuple[JourneyStep, Answer]] = []

    def answer(step: JourneyStep) -> Answer:
        if not last or last[0][0] is not step:
            last[:] = [(step, ask(step))]
        return last[0][1]

    answer.__doc__ = ask.__doc__
    return answer


def transmission(state: State, transmission_id: str) -> Transmission | None:
    """The record of that transmission."""
    for record in state.transmissions:
        if record.transmission_id == transmission_id:
            return record
    return None


def workflow_run(state: State, workflow_run_id: str) -> Run | None:
    """The run of that id."""
    for run in state.runs:
        if run.workflow_run_id == workflow_run_id:
            return run
    return None


def intent_of(state: State, workflow_run_id: str) -> Intent | None:
    """The latest dispatch intent of a run."""
    found = [intent for intent in state.intents if intent.workflow_run_id == workflow_run_id]
    return found[-1] if found else None


def input_request(state: State, request: requests.SubmitInputRequest) -> InputRequest | None:
    """The input request that a submitted input names."""
    for asked in state.inputs:
        if (asked.workflow_run_id, asked.input_request_id) == (
            request.workflow_run_id,
            request.input_request_id,
        ):
            return asked
    return None


def fits_what_waits(step: JourneyStep) -> bool:
    """Whether a submitted input names an option exactly where one is chosen, and one that the
    pinned transition offers to this sequence."""
    request = step.request
    if not isinstance(request, requests.SubmitInputRequest):
        return False
    run = workflow_run(step.before, request.workflow_run_id)
    if run is None:
        return False
    if run.workflow_id is not None:
        return request.option_id is None
    return request.option_id is not None and is_offered(
        step.terms, run.sequence_position, request.option_id
    )


@remembered
def named(step: JourneyStep) -> Transmission | None:
    """The record, before the step, of the transmission that a transmit, renewal or report
    names."""
    if isinstance(step.request, OF_TRANSMISSION):
        return transmission(step.before, step.request.transmission_id)
    return None


def named_after(step: JourneyStep) -> Transmission | None:
    """The record, after the step, of the transmission that the request names."""
    if isinstance(step.request, (*OF_TRANSMISSION, requests.ReserveRequest)):
        return transmission(step.after, step.request.transmission_id)
    return None


def nothing_changed(step: JourneyStep) -> bool:
    """Whether the step left everything as it was."""
    return step.after == step.before


def is_terminal(state: State) -> bool:
    """Whether the journey has ended."""
    return state.lifecycle in TERMINAL_STATES


def is_live(state: State, token: int, now: int) -> bool:
    """Whether a token is the latest granted one, with its lease unexpired."""
    lease = state.lease
    return lease is not None and lease.fencing_token == token and now < lease.expires_at


def identity_is_known(step: JourneyStep) -> bool:
    """Whether the request is answered, or found in conflict, by what it is known by."""
    request, before = step.request, step.before
    if isinstance(request, OF_OPERATION_ID):
        return any(known.operation_id == request.operation_id for known in before.operations)
    if isinstance(request, requests.BeginJourneyRequest):
        return before.started_at is not None
    if isinstance(request, requests.FinishWorkflowRunRequest):
        run = workflow_run(before, request.workflow_run_id)
        return run is not None and run.state in (
            WorkflowRunState.COMPLETED,
            WorkflowRunState.FAILED,
            WorkflowRunState.STOPPED,
        )
    if isinstance(request, requests.SubmitInputRequest):
        asked = input_request(before, request)
        return asked is not None and asked.answered
    if isinstance(request, requests.ReserveRequest):
        return transmission(before, request.transmission_id) is not None or any(
            (sibling.workflow_run_id, sibling.idempotency)
            != (request.workflow_run_id, request.idempotency)
            for sibling in earlier_of_invocation(step)
        )
    return False


def references_are_known(step: JourneyStep) -> bool:
    """Whether the run and the transmission that the request names exist."""
    request = step.request
    if isinstance(request, OF_TRANSMISSION):
        return named(step) is not None
    if isinstance(request, OF_RUN):
        return workflow_run(step.before, request.workflow_run_id) is not None
    if isinstance(request, requests.StartWorkflowRunRequest):
        return workflow_run(step.before, request.parent_workflow_run_id) is not None
    if isinstance(request, OF_INTENT):
        return intent_of(step.before, request.workflow_run_id) is not None
    if isinstance(request, requests.SubmitInputRequest):
        return input_request(step.before, request) is not None and fits_what_waits(step)
    return True


def token_is_right(step: JourneyStep) -> bool:
    """Whether the request shows the token that it needs, or needs none."""
    request = step.request
    if not isinstance(request, requests.OwnerRequest):
        return True
    if isinstance(request, OF_TRANSMISSION):
        record = named(step)
        if record is None or record.fencing_token != request.fencing_token:
            return False
        if isinstance(request, requests.ReportUnsentRequest):
            return True
    return is_live(step.before, request.fencing_token, step.now)


def reaches_token_check(step: JourneyStep) -> bool:
    """Whether a request is neither a read nor known, and names only what exists."""
    return (
        step.request is not None
        and not isinstance(step.request, READS)
        and not identity_is_known(step)
        and references_are_known(step)
    )


@remembered
def reaches_checkpoint(step: JourneyStep) -> bool:
    """Whether what is overdue for the journey takes effect before the request is looked at."""
    return reaches_token_check(step) and token_is_right(step)


def goes_on(step: JourneyStep) -> bool:
    """Whether the journey is pending or running and not past its deadline."""
    return step.before.lifecycle in LIVE and step.now < step.terms.deadline


def proceeds(step: JourneyStep) -> bool:
    """Whether the request passes every check up to the stops: the progress guards are next."""
    return goes_on(step) and reaches_checkpoint(step)


def run_is_active(state: State, workflow_run_id: str) -> bool:
    """Whether that run is active."""
    run = workflow_run(state, workflow_run_id)
    return run is not None and run.state is WorkflowRunState.ACTIVE


def earlier_of_invocation(step: JourneyStep) -> list[Transmission]:
    """What was reserved before for the invocation that a reserve request names."""
    request = step.request
    if not isinstance(request, requests.ReserveRequest):
        return []
    invocation_id = request.invocation_id
    return [record for record in step.before.transmissions if record.invocation_id == invocation_id]


def meets_predecessors(step: JourneyStep) -> bool:
    """Whether a reserve request gets as far as its predecessors."""
    return (
        isinstance(step.request, requests.ReserveRequest)
        and proceeds(step)
        and run_is_active(step.before, step.request.workflow_run_id)
    )


def meets_budget(step: JourneyStep) -> bool:
    """Whether a reserve request gets past its predecessors, so that amounts are next."""
    request = step.request
    return (
        isinstance(request, requests.ReserveRequest)
        and meets_predecessors(step)
        and (
            request.idempotency is Idempotency.AUTHORITATIVE
            or all(record.state not in OPEN for record in earlier_of_invocation(step))
        )
    )


def conservative_amount(request: requests.ReserveRequest) -> int | None:
    """Prompt estimate plus maximum output; None if either is absent."""
    if request.estimated_prompt_tokens is None or request.max_output_tokens is None:
        return None
    return request.estimated_prompt_tokens + request.max_output_tokens


@remembered
def increase(step: JourneyStep) -> int | None:
    """By how much a reserve request that gets as far as the ceiling would raise the exposure;
    None if it does not get there."""
    request = step.request
    if not isinstance(request, requests.ReserveRequest) or not meets_budget(step):
        return None
    amount = conservative_amount(request)
    if amount is None or request.idempotency is Idempotency.NONE:
        return amount
    return max(0, amount - exposure_of(earlier_of_invocation(step)).total)


def ceiling_admits(step: JourneyStep) -> bool | None:
    """Whether the ceiling has room for what a reserve request adds; None if the request does
    not get there."""
    more = increase(step)
    if more is None:
        return None
    return exposure_of(step.before.transmissions).total + more <= step.terms.max_total_tokens


def retries_admit(step: JourneyStep) -> bool:
    """Whether a reserve request claims no provider retry, or there is one left."""
    place = list(Counter).index(Counter.PROVIDER_RETRY_ATTEMPTS)
    limit = step.terms.limits[place]
    if limit is None or not earlier_of_invocation(step):
        return True
    return step.before.counters[place] < limit


def is_to_be_granted(step: JourneyStep) -> bool:
    """Whether nothing stands in the way of a reserve request."""
    return ceiling_admits(step) is True and retries_admit(step)


def is_newly_granted(step: JourneyStep) -> bool:
    """Whether a reserve request was granted, and is no replay."""
    return (
        isinstance(step.request, requests.ReserveRequest)
        and step.answer is not None
        and transmission(step.before, step.request.transmission_id) is None
    )


def accounting_is_open(step: JourneyStep) -> bool:
    """Whether accounting is pending, and a report is served before its deadline."""
    before = step.before
    return before.accounting is AccountingStatus.PENDING and (
        before.accounting_deadline is None or step.now < before.accounting_deadline
    )


def closes_accounting(step: JourneyStep) -> bool:
    """Whether the step is a sweep or a checkpoint at or past the pending accounting deadline."""
    before = step.before
    return (
        before.accounting is AccountingStatus.PENDING
        and before.accounting_deadline is not None
        and step.now >= before.accounting_deadline
        and (step.request is None or reaches_checkpoint(step))
    )


@remembered
def usage_of(step: JourneyStep) -> int | None:
    """The number that a response states; None if there is none, or it is malformed, or no
    total could hold it."""
    request, record = step.request, named(step)
    if not isinstance(request, requests.ReportResponseRequest) or record is None:
        return None
    usage = request.usage
    if type(usage) is not int or not 0 <= usage <= MAXIMUM_INTEGER:
        return None
    if record.state in SENT and accounting_is_open(step) and not _fits(step.before, record, usage):
        return None
    return usage


def _fits(before: State, record: Transmission, usage: int) -> bool:
    if before.observed + usage > MAXIMUM_INTEGER:
        return False
    if before.totals.exposure + usage <= MAXIMUM_INTEGER:
        return True
    reconciled = record._replace(state=ReservationState.RECONCILED, actual_tokens=usage)
    settled = [
        reconciled
        if other is record
        else other._replace(state=ReservationState.RECONCILED, actual_tokens=usage)
        if usage > 0 and is_sibling(record, other) and other.state in SENT
        else other
        for other in before.transmissions
    ]
    return exposure_of(settled).total <= MAXIMUM_INTEGER


def is_sibling(record: Transmission, other: Transmission) -> bool:
    """Whether two records are different members of one authoritative group."""
    return (
        record.idempotency is Idempotency.AUTHORITATIVE
        and other.idempotency is Idempotency.AUTHORITATIVE
        and other.invocation_id == record.invocation_id
        and other.transmission_id != record.transmission_id
    )


@remembered
def settles(step: JourneyStep) -> int | None:
    """The number with which a report reconciles what it names: a sent transmission, while
    accounting is open; None if it does not."""
    record = named(step)
    if record is None or record.state not in SENT or not accounting_is_open(step):
        return None
    if isinstance(step.request, requests.ReportUnsentRequest):
        return 0 if token_is_right(step) else None
    return usage_of(step)


def changed_transmissions(step: JourneyStep) -> bool:
    """Whether any reservation was added or changed."""
    return (
        step.after.transmissions is not step.before.transmissions
        and step.after.transmissions != step.before.transmissions
    )
