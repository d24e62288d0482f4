"""What reads show of a journey: records, built from the state alone."""

from datetime import datetime

from wayproof.model.journey.lifecycle import is_open, is_terminal
from wayproof.model.journey.state import Discrepancy, Intent, Run, State, Terms, Transmission
from wayproof.model.journey.transition import realises
from wayproof.spec.journey import requests
from wayproof.spec.journey.constraints import from_milliseconds
from wayproof.spec.journey.records import (
    ArtifactReading,
    CancellationReading,
    CounterReading,
    CounterReadings,
    DiscrepancyListing,
    DiscrepancyRecord,
    DispatchIntentListing,
    DispatchIntentRecord,
    JourneyExecutionOutcome,
    JourneySettledResult,
    JourneySnapshot,
    ReservationListing,
    ReservationRecord,
    TokenTotals,
    WorkflowRunListing,
    WorkflowRunOutcome,
    WorkflowRunSnapshot,
)
from wayproof.spec.journey.vocabulary import (
    AccountingStatus,
    ArtifactDisposition,
    Counter,
    LifecycleState,
    WorkflowRunState,
)


def moment(milliseconds: int | None) -> datetime | None:
    """The moment, if there is one."""
    return None if milliseconds is None else from_milliseconds(milliseconds)


@realises(
    {
        "read.answered": (
            "observe-01 observe-02 observe-03 observe-04 observe-05 observe-06 observe-07 "
            "observe-10 observe-11 observe-13 observe-14 outcome-01 outcome-02 outcome-03 "
            "outcome-04 outcome-09 outcome-10 outcome-11 usage-02 usage-04 group-01 group-04 "
            "reason-01 lifecycle-01 compat-01 counter-08 deadline-03"
        ),
    }
)
def read(terms: Terms, state: State, request: requests.Request) -> object:
    """Answer a read; it changes nothing."""
    match request:
        case requests.SnapshotRequest():
            return snapshot(terms, state)
        case requests.ListWorkflowRunsRequest():
            return WorkflowRunListing(
                workflow_runs=tuple(run_snapshot(terms, state, run) for run in ordered(state.runs)),
                record_version=state.record_version,
            )
        case requests.TerminalOutcomeRequest():
            return outcome(terms, state) if is_terminal(state) else None
        case requests.SettledResultRequest():
            return settled_result(terms, state)
        case requests.ListReservationsRequest(after=after, limit=limit):
            shown = list(enumerate(state.transmissions, start=1))[after : after + limit]
            return ReservationListing(
                reservations=tuple(reservation(terms, place, entry) for place, entry in shown)
            )
        case requests.ListDispatchIntentsRequest(after=after, limit=limit, open_only=open_only):
            outbox = [
                (place, entry)
                for place, entry in enumerate(state.intents, start=1)
                if place > after and (is_open(entry) or not open_only)
            ]
            return DispatchIntentListing(
                dispatch_intents=tuple(
                    dispatch_intent(terms, place, entry) for place, entry in outbox[:limit]
                )
            )
        case requests.ListDiscrepanciesRequest(after=after, limit=limit):
            found = list(enumerate(state.discrepancies, start=1))[after : after + limit]
            return DiscrepancyListing(
                discrepancies=tuple(discrepancy(terms, place, entry) for place, entry in found)
            )
    raise TypeError(f"not a read: {type(request).__name__}")


def snapshot(terms: Terms, state: State) -> JourneySnapshot:
    """The snapshot at the state's record version."""
    cancellation = state.cancellation
    return JourneySnapshot(
        schema_version="wayproof.journey.snapshot.v1",
        journey_id=terms.journey_id,
        workflow_sequence_id=terms.definition.sequence.id,
        definition_digest=terms.definition_digest,
        lifecycle_state=state.lifecycle,
        terminal_reason=state.terminal_reason,
        accounting_status=state.accounting,
        current_stage=None if state.position is None else stage_id(terms, state.position),
        created_at=from_milliseconds(terms.created_at),
        started_at=moment(state.started_at),
        finished_at=moment(state.finished_at),
        deadline_utc=from_milliseconds(terms.deadline),
        max_total_tokens=terms.max_total_tokens,
        tokens=token_totals(state),
        counters=CounterReadings(
            **{
                counter.value: CounterReading(claimed=count, limit=limit)
                for counter, count, limit in zip(Counter, state.counters, terms.limits, strict=True)
            }
        ),
        cancellation=None
        if cancellation is None
        else CancellationReading(
            reason_code=cancellation.reason,
            cancellation_requested_at=from_milliseconds(cancellation.requested_at),
            cancellation_deadline_utc=from_milliseconds(cancellation.deadline),
        ),
        accounting_deadline_utc=moment(state.accounting_deadline),
        settled_at=moment(state.settled_at),
        discrepancy_count=len(state.discrepancies),
        record_version=state.record_version,
    )


def stage_id(terms: Terms, position: int) -> str:
    """The identity of the stage at a position."""
    return terms.definition.sequence.steps[position].stage_id


def token_totals(state: State) -> TokenTotals:
    """The public token totals."""
    return TokenTotals(
        estimated_prompt_tokens=state.estimated,
        reserved_tokens=state.totals.reserved,
        conservatively_committed_tokens=state.totals.conservative,
        observed_actual_tokens=state.observed,
        reconciled_tokens=state.totals.reconciled,
        committed_token_exposure=state.totals.reconciled + state.totals.conservative,
    )


def ordered(runs: tuple[Run, ...]) -> list[Run]:
    """Runs by sequence position, member ordinal, creation, then id."""
    return sorted(
        runs,
        key=lambda run: (
            run.sequence_position,
            run.member_ordinal,
            run.created_at,
            run.workflow_run_id,
        ),
    )


def run_snapshot(terms: Terms, state: State, run: Run) -> WorkflowRunSnapshot:
    """One run's snapshot."""
    pending = [
        asked.input_request_id
        for asked in state.inputs
        if asked.workflow_run_id == run.workflow_run_id and not asked.answered
    ]
    return WorkflowRunSnapshot(
        schema_version="wayproof.journey.workflow_run_snapshot.v1",
        journey_id=terms.journey_id,
        workflow_run_id=run.workflow_run_id,
        parent_workflow_run_id=run.parent_workflow_run_id,
        workflow_id=run.workflow_id,
        purpose=run.purpose,
        stage_id=run.stage_id,
        sequence_position=run.sequence_position,
        member_ordinal=run.member_ordinal,
        state=run.state,
        superseded=run.superseded,
        pending_input_request_id=pending[0] if run.state is WorkflowRunState.WAITING else None,
        chosen_option_id=run.chosen_option,
        created_at=from_milliseconds(run.created_at),
        started_at=moment(run.started_at),
        finished_at=moment(run.finished_at),
    )


def outcome(terms: Terms, state: State) -> JourneyExecutionOutcome:
    """The immutable outcome of a terminal journey."""
    assert state.terminal_reason is not None and state.finished_at is not None
    artifacts = terms.policy.partial_artifact_policy
    completed = state.lifecycle is LifecycleState.COMPLETED
    return JourneyExecutionOutcome(
        schema_version="wayproof.journey.execution_outcome.v1",
        journey_id=terms.journey_id,
        execution_state=state.lifecycle,
        terminal_reason=state.terminal_reason,
        finished_at=from_milliseconds(state.finished_at),
        workflow_runs=tuple(
            WorkflowRunOutcome(
                workflow_run_id=run.workflow_run_id, workflow_id=run.workflow_id, state=run.state
            )
            for run in ordered(state.runs)
        ),
        artifacts=ArtifactReading(
            disposition=ArtifactDisposition.NORMAL_LIFECYCLE, retain_until_utc=None
        )
        if completed
        else ArtifactReading(
            disposition=ArtifactDisposition(artifacts.on_non_success),
            retain_until_utc=artifacts.retain_until_utc,
        ),
    )


def settled_result(terms: Terms, state: State) -> JourneySettledResult | None:
    """The immutable settled result, once accounting is final."""
    if state.accounting is AccountingStatus.PENDING:
        return None
    assert state.settled_at is not None and state.settled_discrepancies is not None
    return JourneySettledResult(
        schema_version="wayproof.journey.settled_result.v1",
        outcome=outcome(terms, state),
        accounting_status=state.accounting,
        tokens=token_totals(state),
        discrepancy_count=state.settled_discrepancies,
        settled_at=from_milliseconds(state.settled_at),
    )


def reservation(terms: Terms, ordinal: int, entry: Transmission) -> ReservationRecord:
    """One reservation's record."""
    return ReservationRecord(
        schema_version="wayproof.journey.reservation.v1",
        journey_id=terms.journey_id,
        workflow_run_id=entry.workflow_run_id,
        invocation_id=entry.invocation_id,
        transmission_id=entry.transmission_id,
        ordinal=ordinal,
        idempotency=entry.idempotency,
        state=entry.state,
        estimated_prompt_tokens=entry.estimated_prompt_tokens,
        reserved_tokens=entry.reserved_tokens,
        actual_tokens=entry.actual_tokens,
        fencing_token=entry.fencing_token,
        lease_expires_at=from_milliseconds(entry.lease_expires_at),
        created_at=from_milliseconds(entry.created_at),
        created_version=entry.created_version,
    )


def discrepancy(terms: Terms, ordinal: int, entry: Discrepancy) -> DiscrepancyRecord:
    """One discrepancy's record."""
    return DiscrepancyRecord(
        schema_version="wayproof.journey.discrepancy.v1",
        journey_id=terms.journey_id,
        ordinal=ordinal,
        transmission_id=entry.transmission_id,
        kind=entry.kind,
        reported_tokens=entry.reported_tokens,
        recorded_at=from_milliseconds(entry.recorded_at),
    )


def dispatch_intent(terms: Terms, ordinal: int, entry: Intent) -> DispatchIntentRecord:
    """One dispatch intent's record."""
    return DispatchIntentRecord(
        schema_version="wayproof.journey.dispatch_intent.v1",
        journey_id=terms.journey_id,
        ordinal=ordinal,
        workflow_run_id=entry.workflow_run_id,
        cause=entry.cause,
        input_request_id=entry.input_request_id,
        state=entry.state,
        created_at=from_milliseconds(entry.created_at),
        created_version=entry.created_version,
    )
