"""What the reads answer. They change nothing, whatever has fallen due."""

from typing import Any, Final

from wayproof.impl.journey.rows import (
    RESERVATION_COLUMNS,
    RUN_COLUMNS,
    JourneyRow,
    ReservationRow,
    RunRow,
)
from wayproof.impl.journey.transaction import Transaction
from wayproof.spec.journey.constraints import from_milliseconds
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.records import (
    ArtifactReading,
    CancellationReading,
    CounterReading,
    CounterReadings,
    DiscrepancyListing,
    DiscrepancyRecord,
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
from wayproof.spec.journey.requests import (
    ListDiscrepanciesRequest,
    ListReservationsRequest,
    ListWorkflowRunsRequest,
    SettledResultRequest,
    SnapshotRequest,
    TerminalOutcomeRequest,
)
from wayproof.spec.journey.vocabulary import (
    COUNTER_POLICY_FIELDS,
    AccountingStatus,
    ArtifactDisposition,
    Counter,
    DiscrepancyKind,
    Idempotency,
    LifecycleState,
    ReservationState,
    WorkflowRunPurpose,
    WorkflowRunState,
)

_RUNS: Final = (
    f"SELECT {RUN_COLUMNS} FROM workflow_runs WHERE journey = ?"
    " ORDER BY sequence_position, member_ordinal, created_at, workflow_run_id"
)
_RESERVATIONS: Final = (
    f"SELECT {RESERVATION_COLUMNS} FROM reservations WHERE journey = ? AND ordinal > ?"
    " ORDER BY ordinal LIMIT ?"
)
_DISCREPANCIES: Final = (
    "SELECT ordinal, transmission_id, kind, reported_tokens, recorded_at FROM discrepancies"
    " WHERE journey = ? AND ordinal > ? ORDER BY ordinal LIMIT ?"
)


def snapshot(tx: Transaction, request: SnapshotRequest) -> Any:
    """The snapshot at one committed record version."""
    return snapshot_of(tx.row)


def list_workflow_runs(tx: Transaction, request: ListWorkflowRunsRequest) -> Any:
    """All runs, in contract order."""
    runs = tuple(_run_snapshot(tx.row, run) for run in _runs(tx))
    return encode(WorkflowRunListing(workflow_runs=runs, record_version=tx.row.record_version))


def terminal_outcome(tx: Transaction, request: TerminalOutcomeRequest) -> Any:
    """The outcome, or None while the journey is not terminal."""
    return None if tx.row.terminal_reason is None else encode(_outcome(tx))


def settled_result(tx: Transaction, request: SettledResultRequest) -> Any:
    """The settled result, or None while accounting is pending."""
    row = tx.row
    if row.settled_at is None:
        return None
    return encode(
        JourneySettledResult(
            schema_version="wayproof.journey.settled_result.v1",
            outcome=_outcome(tx),
            accounting_status=AccountingStatus(row.accounting_status),
            tokens=_tokens(row),
            discrepancy_count=row.settled_discrepancies or 0,
            settled_at=from_milliseconds(row.settled_at),
        )
    )


def list_reservations(tx: Transaction, request: ListReservationsRequest) -> Any:
    """A page of reservations, in the order of their grants."""
    found = tx.connection.execute(_RESERVATIONS, (tx.row.journey, request.after, request.limit))
    return encode(
        ReservationListing(
            reservations=tuple(_reservation(tx.row, ReservationRow._make(each)) for each in found)
        )
    )


def list_discrepancies(tx: Transaction, request: ListDiscrepanciesRequest) -> Any:
    """A page of discrepancies, in the order in which they were recorded."""
    found = tx.connection.execute(_DISCREPANCIES, (tx.row.journey, request.after, request.limit))
    return encode(
        DiscrepancyListing(
            discrepancies=tuple(
                DiscrepancyRecord(
                    schema_version="wayproof.journey.discrepancy.v1",
                    journey_id=tx.row.journey_id,
                    ordinal=ordinal,
                    transmission_id=transmission_id,
                    kind=DiscrepancyKind(kind),
                    reported_tokens=reported_tokens,
                    recorded_at=from_milliseconds(recorded_at),
                )
                for ordinal, transmission_id, kind, reported_tokens, recorded_at in found
            )
        )
    )


def snapshot_of(row: JourneyRow) -> Any:
    """The snapshot that a journey's row holds, as JSON."""
    return encode(
        JourneySnapshot(
            schema_version="wayproof.journey.snapshot.v1",
            journey_id=row.journey_id,
            workflow_sequence_id=row.workflow_sequence_id,
            definition_digest=row.definition_digest,
            lifecycle_state=LifecycleState(row.lifecycle_state),
            terminal_reason=row.terminal_reason,
            accounting_status=AccountingStatus(row.accounting_status),
            current_stage=row.current_stage,
            created_at=from_milliseconds(row.created_at),
            started_at=_moment(row.started_at),
            finished_at=_moment(row.finished_at),
            deadline_utc=from_milliseconds(row.deadline),
            max_total_tokens=row.max_total_tokens,
            tokens=_tokens(row),
            counters=CounterReadings(
                **{
                    counter.value: CounterReading(
                        claimed=getattr(row, counter.value),
                        limit=getattr(row, COUNTER_POLICY_FIELDS[counter]),
                    )
                    for counter in Counter
                }
            ),
            cancellation=_cancellation(row),
            accounting_deadline_utc=_moment(row.accounting_deadline),
            settled_at=_moment(row.settled_at),
            discrepancy_count=row.discrepancies,
            record_version=row.record_version,
        )
    )


def _tokens(row: JourneyRow) -> TokenTotals:
    return TokenTotals(
        estimated_prompt_tokens=row.estimated_prompt_tokens,
        reserved_tokens=row.reserved_tokens,
        conservatively_committed_tokens=row.conservatively_committed_tokens,
        observed_actual_tokens=row.observed_actual_tokens,
        reconciled_tokens=row.reconciled_tokens,
        committed_token_exposure=row.reconciled_tokens + row.conservatively_committed_tokens,
    )


def _cancellation(row: JourneyRow) -> CancellationReading | None:
    if row.cancellation_reason is None:
        return None
    return CancellationReading(
        reason_code=row.cancellation_reason,
        cancellation_requested_at=from_milliseconds(row.cancellation_requested_at or 0),
        cancellation_deadline_utc=from_milliseconds(row.cancellation_deadline or 0),
    )


def _outcome(tx: Transaction) -> JourneyExecutionOutcome:
    # Runs of an ended journey never change again, so they are read as they stand.
    row = tx.row
    if row.lifecycle_state == "completed":
        disposition, retain_until = ArtifactDisposition.NORMAL_LIFECYCLE, None
    else:
        disposition, retain_until = ArtifactDisposition(row.on_non_success), row.retain_until
    return JourneyExecutionOutcome(
        schema_version="wayproof.journey.execution_outcome.v1",
        journey_id=row.journey_id,
        execution_state=LifecycleState(row.lifecycle_state),
        terminal_reason=row.terminal_reason or "",
        finished_at=from_milliseconds(row.finished_at or 0),
        workflow_runs=tuple(
            WorkflowRunOutcome(
                workflow_run_id=run.workflow_run_id,
                workflow_id=run.workflow_id,
                state=WorkflowRunState(run.state),
            )
            for run in _runs(tx)
        ),
        artifacts=ArtifactReading(disposition=disposition, retain_until_utc=_moment(retain_until)),
    )


def _runs(tx: Transaction) -> list[RunRow]:
    found = tx.connection.execute(_RUNS, (tx.row.journey,))
    return [RunRow._make(each) for each in found]


def _run_snapshot(row: JourneyRow, run: RunRow) -> WorkflowRunSnapshot:
    return WorkflowRunSnapshot(
        schema_version="wayproof.journey.workflow_run_snapshot.v1",
        journey_id=row.journey_id,
        workflow_run_id=run.workflow_run_id,
        parent_workflow_run_id=run.parent_workflow_run_id,
        workflow_id=run.workflow_id,
        purpose=WorkflowRunPurpose(run.purpose),
        stage_id=run.stage_id,
        sequence_position=run.sequence_position,
        member_ordinal=run.member_ordinal,
        state=WorkflowRunState(run.state),
        superseded=bool(run.superseded),
        pending_input_request_id=run.pending_input_request_id,
        chosen_option_id=run.chosen_option_id,
        created_at=from_milliseconds(run.created_at),
        started_at=_moment(run.started_at),
        finished_at=_moment(run.finished_at),
    )


def _reservation(row: JourneyRow, reservation: ReservationRow) -> ReservationRecord:
    return ReservationRecord(
        schema_version="wayproof.journey.reservation.v1",
        journey_id=row.journey_id,
        workflow_run_id=reservation.workflow_run_id,
        invocation_id=reservation.invocation_id,
        transmission_id=reservation.transmission_id,
        ordinal=reservation.ordinal,
        idempotency=Idempotency(reservation.idempotency),
        state=ReservationState(reservation.state),
        estimated_prompt_tokens=reservation.estimated_prompt_tokens,
        reserved_tokens=reservation.reserved_tokens,
        actual_tokens=reservation.actual_tokens,
        fencing_token=reservation.fencing_token,
        lease_expires_at=from_milliseconds(reservation.lease_expires_at),
        created_at=from_milliseconds(reservation.created_at),
        created_version=reservation.created_version,
    )


def _moment(milliseconds: int | None) -> Any:
    return None if milliseconds is None else from_milliseconds(milliseconds)
