"""The transition function of one journey: what a request does, and everything it may do."""

from collections.abc import Callable

from wayproof.model.journey.dispatch import (
    acknowledge_dispatch,
    claim_dispatched_run,
    request_input,
    submit_input,
)
from wayproof.model.journey.guards import answer
from wayproof.model.journey.lifecycle import checkpoint, is_terminal, later, suppressed
from wayproof.model.journey.ownership import (
    begin_journey,
    claim_attempt,
    claim_lease,
    complete_journey,
    fail_journey,
    finish_workflow_run,
    heartbeat,
    start_workflow_run,
)
from wayproof.model.journey.reports import report_ambiguity, report_response, report_unsent
from wayproof.model.journey.reservations import renew_reservation, reserve, transmit
from wayproof.model.journey.stages import plan, planned_behind
from wayproof.model.journey.state import Cancellation, State, Terms
from wayproof.model.journey.sweeps import sweep
from wayproof.model.journey.transition import Transition, realises
from wayproof.model.journey.views import read, snapshot
from wayproof.spec.journey import requests
from wayproof.spec.journey.vocabulary import LifecycleState, WorkflowRunState


@realises(
    {
        "cancel.requested": (
            "cancel-01 cancel-03 cancel-04 cancel-08 dispatch-06 lifecycle-04 reason-08 observe-06"
        ),
        "cancel.unchanged": "cancel-05 observe-13",
    }
)
def cancel(
    terms: Terms, state: State, request: requests.CancelRequest, now: int
) -> tuple[State, tuple[str, ...]]:
    """Make a pending or running journey cancelling, and stop what is queued or waits; a stopped
    one stays as it is."""
    state, labels = checkpoint(terms, state, now)
    if state.lifecycle is LifecycleState.CANCELLING or is_terminal(state):
        return state, (*labels, "cancel.unchanged")
    cancellation = Cancellation(
        reason=request.reason_code.value,
        requested_at=now,
        deadline=later(now, terms.cancellation_grace),
    )
    state = state._replace(
        lifecycle=LifecycleState.CANCELLING,
        cancellation=cancellation,
        runs=tuple(
            run._replace(state=WorkflowRunState.STOPPED, finished_at=now)
            if run.state in (WorkflowRunState.QUEUED, WorkflowRunState.WAITING)
            else run
            for run in state.runs
        ),
        intents=suppressed(state.intents),
    )
    return state, ("cancel.requested",)


_STARTS: dict[type[requests.Request], Callable[..., Transition]] = {
    requests.BeginJourneyRequest: begin_journey,
    requests.StartWorkflowRunRequest: start_workflow_run,
    requests.FinishWorkflowRunRequest: finish_workflow_run,
    requests.SubmitInputRequest: submit_input,
}
"""What may start runs, and needs ids for them."""

_OTHERS: dict[type[requests.Request], Callable[..., Transition]] = {
    requests.ClaimLeaseRequest: claim_lease,
    requests.HeartbeatRequest: heartbeat,
    requests.AcknowledgeDispatchRequest: acknowledge_dispatch,
    requests.ClaimDispatchedRunRequest: claim_dispatched_run,
    requests.RequestInputRequest: request_input,
    requests.ClaimAttemptRequest: claim_attempt,
    requests.CompleteJourneyRequest: complete_journey,
    requests.FailJourneyRequest: fail_journey,
    requests.ReserveRequest: reserve,
    requests.TransmitRequest: transmit,
    requests.RenewReservationRequest: renew_reservation,
    requests.ReportUnsentRequest: report_unsent,
    requests.ReportResponseRequest: report_response,
    requests.ReportAmbiguityRequest: report_ambiguity,
}


def step(
    terms: Terms, state: State, request: requests.Request, now: int, run_ids: tuple[str, ...] = ()
) -> Transition:
    """Serve one request on one journey: the model's own choice among :func:`allowed`.

    ``now`` is in milliseconds since 1970 UTC. ``run_ids`` are fresh server-made ids, at least
    :func:`runs_to_start`. Access and decoding are the world's matter.
    """
    if isinstance(request, requests.CancelRequest):
        after, labels = cancel(terms, state, request, now)
        after = versioned(state, after)
        return answer(after, snapshot(terms, after), *labels)
    if type(request) in _STARTS:
        transition = _STARTS[type(request)](terms, state, request, now, run_ids)
    elif type(request) in _OTHERS:
        transition = _OTHERS[type(request)](terms, state, request, now)
    else:
        return answer(state, read(terms, state, request), "read.answered")
    return transition._replace(state=versioned(state, transition.state))


def runs_to_start(terms: Terms, state: State, request: requests.Request) -> int:
    """How many runs a request starts at most, whatever takes effect before it."""
    match request:
        case requests.BeginJourneyRequest():
            return len(list(plan(terms, terms.entry_position)))
        case requests.StartWorkflowRunRequest():
            return 1
        case requests.FinishWorkflowRunRequest() | requests.SubmitInputRequest():
            option = getattr(request, "option_id", None)
            return planned_behind(terms, state, option)
    return 0


@realises({"version.raised": "observe-12 lifecycle-15"})
def versioned(before: State, after: State) -> State:
    """Raise the record version if anything changed that a read shows: all but leases of owners
    and remembered operations."""
    shown = after._replace(lease=before.lease, operations=before.operations)
    if shown == before:
        return after
    return after._replace(record_version=before.record_version + 1)


def swept(terms: Terms, state: State, now: int) -> tuple[State, tuple[str, ...]]:
    """The state after a sweep, and the labels of what was due."""
    after, labels = sweep(terms, state, now)
    return versioned(state, after), labels
