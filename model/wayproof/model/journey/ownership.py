"""Operations of a journey's owner: leases, runs, attempts, completion and failure."""

from wayproof.model.journey.counters import claimed, exhausted
from wayproof.model.journey.guards import (
    active_run,
    answer,
    fenced,
    find_run,
    recorded,
    refuse,
    refuse_ended,
    replayed,
    stopped,
)
from wayproof.model.journey.lifecycle import end, end_failed, later, summary
from wayproof.model.journey.stages import advanced, enter, entered_by, unentered
from wayproof.model.journey.state import Lease, Run, State, Terms
from wayproof.model.journey.totals import is_grouped
from wayproof.model.journey.transition import Transition, realises
from wayproof.spec.journey.constraints import from_milliseconds
from wayproof.spec.journey.records import (
    AttemptClaimed,
    LeaseExtended,
    LeaseGranted,
    WorkflowRunReading,
    WorkflowRunsStarted,
)
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.requests import (
    BeginJourneyRequest,
    ClaimAttemptRequest,
    ClaimLeaseRequest,
    CompleteJourneyRequest,
    FailJourneyRequest,
    FinishWorkflowRunRequest,
    HeartbeatRequest,
    StartWorkflowRunRequest,
)
from wayproof.spec.journey.vocabulary import (
    UNFINISHED_RUN_STATES,
    Counter,
    LifecycleState,
    ReservationState,
    TerminalReason,
    WorkflowRunPurpose,
    WorkflowRunState,
)

FINISHED_BY_REPORT = (
    WorkflowRunState.COMPLETED,
    WorkflowRunState.FAILED,
    WorkflowRunState.STOPPED,
)


@realises(
    {
        "claim_lease.granted": "lease-01 lease-03 lease-10 lease-11",
        "claim_lease.lease_held": "lease-01 precedence-11",
        "claim_lease.provider_transmission_ambiguous": "lease-08",
        "claim_lease.orphan_recovery_unsafe": "lease-09 reason-05",
    }
)
def claim_lease(terms: Terms, state: State, request: ClaimLeaseRequest, now: int) -> Transition:
    """Grant the owner lease, or take over an expired one where that is proven safe.

    A takeover is safe only if no worker can have left anything half done: no open ordinary
    transmission, no active run.
    """
    replay = replayed(state, request.operation_id, request)
    if replay is not None:
        return replay
    passed = stopped(terms, state, now)
    if isinstance(passed, Transition):
        return passed
    lease = state.lease
    if lease is not None and now < lease.expires_at:
        return refuse(state, RefusalCode.LEASE_HELD, "claim_lease.lease_held")
    if lease is not None:
        unsafe = _unsafe_to_recover(terms, state, now)
        if unsafe is not None:
            return unsafe
    granted = Lease(
        fencing_token=lease.fencing_token + 1 if lease is not None else 1,
        expires_at=later(now, request.lease_milliseconds),
    )
    reply = LeaseGranted(
        fencing_token=granted.fencing_token,
        lease_expires_at=from_milliseconds(granted.expires_at),
    )
    state = recorded(state._replace(lease=granted), request.operation_id, request, reply)
    return answer(state, reply, "claim_lease.granted")


def _unsafe_to_recover(terms: Terms, state: State, now: int) -> Transition | None:
    for transmission in state.transmissions:
        if transmission.state is ReservationState.TRANSMITTED and not is_grouped(transmission):
            reason = TerminalReason.PROVIDER_TRANSMISSION_AMBIGUOUS
            break
    else:
        if not any(run.state is WorkflowRunState.ACTIVE for run in state.runs):
            return None
        reason = TerminalReason.ORPHAN_RECOVERY_UNSAFE
    ended = end_failed(terms, state, now, reason)
    return refuse_ended(terms, ended, RefusalCode(reason), f"claim_lease.{reason}")


@realises({"heartbeat.extended": "lease-02 cancel-09"})
def heartbeat(terms: Terms, state: State, request: HeartbeatRequest, now: int) -> Transition:
    """Extend the owner lease; never shorten it. Allowed while cancelling, so that the owner can
    still report its stop."""
    refused = fenced(state, request.fencing_token, now)
    if refused is not None:
        return refused
    passed = stopped(terms, state, now, while_cancelling=True)
    if isinstance(passed, Transition):
        return passed
    assert state.lease is not None
    expires_at = max(state.lease.expires_at, later(now, request.lease_milliseconds))
    state = state._replace(lease=state.lease._replace(expires_at=expires_at))
    reply = LeaseExtended(lease_expires_at=from_milliseconds(expires_at))
    return answer(state, reply, "heartbeat.extended")


@realises(
    {
        "begin_journey.begun": "lifecycle-02 run-01 run-02 run-03 "
        "lifecycle-11 run-04 run-05 identity-01 identity-02",
        "begin_journey.replayed": "idempotency-09 observe-13",
    }
)
def begin_journey(
    terms: Terms, state: State, request: BeginJourneyRequest, now: int, run_ids: tuple[str, ...]
) -> Transition:
    """Enter the entry stage in one commit; with it the journey is running."""
    if state.started_at is not None:
        return answer(state, _begun(state), "begin_journey.replayed")
    refused = fenced(state, request.fencing_token, now)
    if refused is not None:
        return refused
    passed = stopped(terms, state, now)
    if isinstance(passed, Transition):
        return passed
    entered = enter(terms, state, now, terms.entry_position, run_ids, by=None)
    if isinstance(entered, Transition):
        return entered
    state = entered.state._replace(lifecycle=LifecycleState.RUNNING, started_at=now)
    return answer(state, _begun(state), *entered.labels, "begin_journey.begun")


def _begun(state: State) -> WorkflowRunsStarted:
    runs, waits_for = entered_by(state, None)
    return WorkflowRunsStarted(workflow_run_ids=runs, input_request_id=waits_for)


PURPOSE_COUNTERS = {
    WorkflowRunPurpose.DECOMPOSITION: (Counter.WORKFLOW_RUN_STARTS,),
    WorkflowRunPurpose.REPAIR: (Counter.WORKFLOW_RUN_STARTS, Counter.WORKFLOW_REPAIR_STARTS),
    WorkflowRunPurpose.REFINEMENT: (Counter.WORKFLOW_RUN_STARTS, Counter.APP_REFINEMENT_STARTS),
}


@realises(
    {
        "start_workflow_run.started": "run-05 run-06 run-07 counter-12 counter-09",
        "start_workflow_run.parent_not_failed": "run-07 precedence-11",
    }
)
def start_workflow_run(
    terms: Terms,
    state: State,
    request: StartWorkflowRunRequest,
    now: int,
    run_ids: tuple[str, ...],
) -> Transition:
    """Start a child of an existing run: a decomposition, a repair or a refinement."""
    replay = replayed(state, request.operation_id, request)
    if replay is not None:
        return replay
    parent = find_run(state, request.parent_workflow_run_id)
    if isinstance(parent, Transition):
        return parent
    refused = fenced(state, request.fencing_token, now)
    if refused is not None:
        return refused
    passed = stopped(terms, state, now)
    if isinstance(passed, Transition):
        return passed
    purpose = WorkflowRunPurpose(request.purpose)
    if purpose is WorkflowRunPurpose.DECOMPOSITION:
        idle = active_run(state, parent)
        if idle is not None:
            return idle
    if purpose is WorkflowRunPurpose.REPAIR and (
        parent.state is not WorkflowRunState.FAILED or parent.superseded
    ):
        return refuse(state, RefusalCode.PARENT_NOT_FAILED, "start_workflow_run.parent_not_failed")
    counters = PURPOSE_COUNTERS[purpose]
    over = exhausted(terms, state, now, dict.fromkeys(counters, 1))
    if over is not None:
        return over
    child = Run(
        workflow_run_id=run_ids[0],
        parent_workflow_run_id=parent.workflow_run_id,
        workflow_id=request.workflow_id,
        purpose=purpose,
        stage_id=parent.stage_id,
        sequence_position=parent.sequence_position,
        member_ordinal=parent.member_ordinal,
        created_at=now,
        started_at=now,
    )
    state = claimed(state, counters)
    if purpose is WorkflowRunPurpose.REPAIR:
        state = with_run(state, parent._replace(superseded=True))
    state = state._replace(runs=(*state.runs, child))
    reply = WorkflowRunsStarted(workflow_run_ids=(child.workflow_run_id,), input_request_id=None)
    state = recorded(state, request.operation_id, request, reply)
    return answer(state, reply, "start_workflow_run.started")


def with_run(state: State, changed: Run) -> State:
    """The state with one run replaced."""
    return state._replace(
        runs=tuple(
            changed if run.workflow_run_id == changed.workflow_run_id else run for run in state.runs
        )
    )


@realises(
    {
        "finish_workflow_run.finished": "run-09 observe-07",
        "finish_workflow_run.advanced": "dispatch-01 dispatch-08",
        "finish_workflow_run.stopped": "cancel-10 cancel-09",
        "finish_workflow_run.replayed": "run-09 idempotency-09 dispatch-07",
        "finish_workflow_run.conflict": "run-09",
    }
)
def finish_workflow_run(
    terms: Terms,
    state: State,
    request: FinishWorkflowRunRequest,
    now: int,
    run_ids: tuple[str, ...],
) -> Transition:
    """A run ended, and with the last one of a stage the next stage is entered; while the journey
    is cancelling this is the report that it stopped."""
    run = find_run(state, request.workflow_run_id)
    if isinstance(run, Transition):
        return run
    if run.state in FINISHED_BY_REPORT:
        if run.state in (WorkflowRunState.STOPPED, WorkflowRunState(request.outcome)):
            return answer(state, _run_reading(state, run), "finish_workflow_run.replayed")
        return refuse(state, RefusalCode.OPERATION_CONFLICT, "finish_workflow_run.conflict")
    refused = fenced(state, request.fencing_token, now)
    if refused is not None:
        return refused
    passed = stopped(terms, state, now, while_cancelling=True)
    if isinstance(passed, Transition):
        return passed
    idle = active_run(state, run)
    if idle is not None:
        return idle
    if state.lifecycle is LifecycleState.CANCELLING:
        run = run._replace(state=WorkflowRunState.STOPPED, finished_at=now)
        state = with_run(state, run)
        return answer(state, _run_reading(state, run), "finish_workflow_run.stopped")
    ended = run._replace(state=WorkflowRunState(request.outcome), finished_at=now)
    entered = advanced(terms, with_run(state, ended), now, run_ids, ended)
    if isinstance(entered, Transition):
        return unentered(terms, state, entered, now)
    label = "advanced" if entered.workflow_run_ids else "finished"
    reply = _run_reading(entered.state, ended)
    return answer(entered.state, reply, *entered.labels, f"finish_workflow_run.{label}")


def _run_reading(state: State, run: Run) -> WorkflowRunReading:
    runs, waits_for = entered_by(state, run)
    return WorkflowRunReading(
        workflow_run_id=run.workflow_run_id,
        state=run.state,
        next_workflow_run_ids=runs,
        next_input_request_id=waits_for,
    )


@realises({"claim_attempt.claimed": "counter-08 counter-09 counter-11 counter-14"})
def claim_attempt(terms: Terms, state: State, request: ClaimAttemptRequest, now: int) -> Transition:
    """Claim the counters of one attempt before it starts, once for its operation id."""
    replay = replayed(state, request.operation_id, request)
    if replay is not None:
        return replay
    run = find_run(state, request.workflow_run_id)
    if isinstance(run, Transition):
        return run
    refused = fenced(state, request.fencing_token, now)
    if refused is not None:
        return refused
    passed = stopped(terms, state, now)
    if isinstance(passed, Transition):
        return passed
    finished = active_run(state, run)
    if finished is not None:
        return finished
    counters = [Counter(counter) for counter in request.counters]
    over = exhausted(terms, state, now, dict.fromkeys(counters, 1))
    if over is not None:
        return over
    reply = AttemptClaimed(operation_id=request.operation_id, counters=request.counters)
    state = recorded(claimed(state, counters), request.operation_id, request, reply)
    return answer(state, reply, "claim_attempt.claimed")


@realises(
    {
        "complete_journey.completed": "lifecycle-08 lifecycle-14 reason-02",
        "complete_journey.incomplete": "lifecycle-12 lifecycle-10 lifecycle-13",
    }
)
def complete_journey(
    terms: Terms, state: State, request: CompleteJourneyRequest, now: int
) -> Transition:
    """Complete, once every stop condition was rechecked and every run has ended well. A stage
    that is still to come has queued or waiting runs, so that it prevents completion too.

    ::

        complete ──┬── cancel ──> journey_terminal's snapshot, completed stands
        cancel ────┴── complete ──> journey_cancelling, cancelled follows
    """
    refused = fenced(state, request.fencing_token, now)
    if refused is not None:
        return refused
    passed = stopped(terms, state, now)
    if isinstance(passed, Transition):
        return passed
    if state.lifecycle is LifecycleState.PENDING or any(map(_prevents_completion, state.runs)):
        return refuse(state, RefusalCode.JOURNEY_INCOMPLETE, "complete_journey.incomplete")
    state = end(terms, state, now, LifecycleState.COMPLETED, TerminalReason.JOURNEY_COMPLETED)
    return answer(state, summary(terms, state), "complete_journey.completed")


def _prevents_completion(run: Run) -> bool:
    return run.state in UNFINISHED_RUN_STATES or (
        run.state is WorkflowRunState.FAILED and not run.superseded
    )


@realises({"fail_journey.failed": "lifecycle-05 reason-06 reason-07 transmission-03"})
def fail_journey(terms: Terms, state: State, request: FailJourneyRequest, now: int) -> Transition:
    """Fail a pending or running journey for a reason that its owner states."""
    refused = fenced(state, request.fencing_token, now)
    if refused is not None:
        return refused
    passed = stopped(terms, state, now)
    if isinstance(passed, Transition):
        return passed
    state = end_failed(terms, state, now, TerminalReason(request.reason_code))
    return answer(state, summary(terms, state), "fail_journey.failed")
