"""Cancellation, completion and failure of a journey."""

from typing import Any, Final

from wayproof.impl.journey.ending import (
    after,
    checkpoint,
    end,
    outcome_summary,
    require_going,
    schedule,
)
from wayproof.impl.journey.identities import require_live
from wayproof.impl.journey.observation import snapshot_of
from wayproof.impl.journey.outbox import suppress_open_intents
from wayproof.impl.journey.transaction import Transaction
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import (
    CancelRequest,
    CompleteJourneyRequest,
    FailJourneyRequest,
)
from wayproof.spec.journey.vocabulary import LifecycleState, TerminalReason

_STOP_IDLE: Final = (
    "UPDATE workflow_runs INDEXED BY unfinished_runs SET state = 'stopped',"
    " pending_input_request_id = NULL, finished_at = ?"
    " WHERE journey = ? AND finished_at IS NULL AND state IN ('queued', 'waiting')"
    " RETURNING sequence_position"
)
"""Nothing of these executes, so nobody could report that they stop."""


def cancel(tx: Transaction, request: CancelRequest) -> Any:
    """Ask for a cooperative stop; a stopping or ended journey answers its snapshot unchanged."""
    checkpoint(tx)
    if tx.row.lifecycle_state in ("pending", "running"):
        stopped = tx.connection.execute(_STOP_IDLE, (tx.now, tx.row.journey)).fetchall()
        suppress_open_intents(tx)
        tx.change(
            "unfinished_runs = active_runs, stage_unfinished_runs = stage_unfinished_runs - ?,"
            " lifecycle_state = 'cancelling', cancellation_reason = ?,"
            " cancellation_requested_at = ?, cancellation_deadline = ?",
            (
                stopped.count((tx.row.stage_position,)),
                request.reason_code.value,
                tx.now,
                after(tx.now, 1000 * tx.row.cancellation_grace_seconds),
            ),
            guard=" AND lifecycle_state IN ('pending', 'running')",
        )
        tx.reload()
        schedule(tx)
    return snapshot_of(tx.row)


def complete_journey(tx: Transaction, request: CompleteJourneyRequest) -> Any:
    """Complete a journey that has begun and whose runs have all ended well or been repaired."""
    require_live(tx, request.fencing_token)
    require_going(tx)
    row = tx.row
    if row.started_at is None or row.unfinished_runs or row.unrepaired_failures:
        raise Refusal(RefusalCode.JOURNEY_INCOMPLETE)
    end(tx, LifecycleState.COMPLETED, TerminalReason.JOURNEY_COMPLETED)
    return outcome_summary(tx)


def fail_journey(tx: Transaction, request: FailJourneyRequest) -> Any:
    """Fail the journey for the stated reason."""
    require_live(tx, request.fencing_token)
    require_going(tx)
    end(tx, LifecycleState.FAILED, request.reason_code)
    return outcome_summary(tx)
