"""How a journey stops: the checkpoint, its end, and when its accounting becomes final."""

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from wayproof.impl.journey.exposure import close
from wayproof.impl.journey.outbox import suppress_open_intents
from wayproof.impl.journey.rows import RESERVATION_COLUMNS, ReservationRow
from wayproof.impl.journey.transaction import Transaction
from wayproof.spec.journey.constraints import LATEST_MILLISECONDS, from_milliseconds
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.records import OutcomeSummary
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.vocabulary import (
    LIFECYCLE_TRANSITIONS,
    AccountingStatus,
    LifecycleState,
    ReservationState,
    TerminalReason,
)

IMMEDIATELY: Final = 0
"""The due moment of what the next sweep does whatever the time."""

_OPEN: Final = (
    f"SELECT {RESERVATION_COLUMNS} FROM reservations INDEXED BY open_reservations"
    " WHERE journey = ? AND falls_due_at IS NOT NULL ORDER BY ordinal"
)


def after(moment: int, milliseconds: int) -> int:
    """A moment that much later, clamped to the last one that a record can hold."""
    return min(moment + milliseconds, LATEST_MILLISECONDS)


def effective_cutoff(tx: Transaction) -> int:
    """When a cancelling journey is cancelled at the latest."""
    deadline = tx.row.deadline
    return min(tx.row.cancellation_deadline or deadline, deadline)


def checkpoint(tx: Transaction) -> bool:
    """Let take effect what is overdue for the journey as a whole.

    Returns:
        Whether this very checkpoint ended the journey timed_out.
    """
    row = tx.row
    if row.lifecycle_state == "cancelling":
        if tx.now >= effective_cutoff(tx):
            end_cancelled(tx)
    elif row.accounting_deadline is None:
        if tx.now >= row.deadline:
            end(tx, LifecycleState.TIMED_OUT, TerminalReason.DEADLINE_EXPIRED)
            return True
    elif row.accounting_status == "pending" and tx.now >= row.accounting_deadline:
        finish_accounting(tx)
    return False


def require_going(tx: Transaction, *, or_cancelling: bool = False) -> None:
    """Pass the checkpoint, and refuse what a stopped journey does not accept.

    Raises:
        Refusal: ``deadline_expired``, ``journey_terminal`` or, unless ``or_cancelling``,
            ``journey_cancelling``.
    """
    just_timed_out = checkpoint(tx)
    if tx.row.terminal_reason is not None:
        code = RefusalCode.DEADLINE_EXPIRED if just_timed_out else RefusalCode.JOURNEY_TERMINAL
        raise Refusal(code, outcome_detail(tx))
    if tx.row.lifecycle_state == "cancelling" and not or_cancelling:
        raise Refusal(RefusalCode.JOURNEY_CANCELLING)


def end(tx: Transaction, state: LifecycleState, reason: str) -> None:
    """End the journey: the outcome is immutable from this commit on."""
    sources = [
        source.value for source, targets in LIFECYCLE_TRANSITIONS.items() if state in targets
    ]
    tx.connection.execute(
        "UPDATE workflow_runs INDEXED BY unfinished_runs SET state = 'quarantined',"
        " pending_input_request_id = NULL, finished_at = ?"
        " WHERE journey = ? AND finished_at IS NULL",
        (tx.now, tx.row.journey),
    )
    suppress_open_intents(tx)
    tx.change(
        "lifecycle_state = ?, terminal_reason = ?, finished_at = ?, accounting_deadline = ?,"
        " active_runs = 0, unfinished_runs = 0, stage_unfinished_runs = 0",
        (
            state.value,
            str(reason),
            tx.now,
            after(tx.now, 1000 * tx.row.accounting_settlement_grace_seconds),
        ),
        guard=f" AND lifecycle_state IN ({', '.join('?' * len(sources))})",
        guard_values=sources,
    )
    tx.reload()
    settle_if_done(tx)
    schedule(tx)


def end_cancelled(tx: Transaction) -> None:
    """A cancelling journey ends with the reason of its cancellation."""
    end(tx, LifecycleState.CANCELLED, tx.row.cancellation_reason or "")


def end_and_refuse(tx: Transaction, state: LifecycleState, reason: TerminalReason) -> NoReturn:
    """End the journey with the refusal that reports this end.

    Raises:
        Refusal: with the code of the same name as the reason.
    """
    end(tx, state, reason)
    raise Refusal(RefusalCode(reason.value), outcome_detail(tx))


def outcome_summary(tx: Transaction) -> dict[str, Any]:
    """The end of an ended journey in short, as JSON."""
    row = tx.row
    summary: dict[str, Any] = encode(
        OutcomeSummary(
            journey_id=row.journey_id,
            execution_state=LifecycleState(row.lifecycle_state),
            terminal_reason=row.terminal_reason or "",
            finished_at=from_milliseconds(row.finished_at or 0),
        )
    )
    return summary


def outcome_detail(tx: Transaction) -> Mapping[str, Any]:
    """The detail of a refusal that found or made the journey ended."""
    return {"outcome": outcome_summary(tx)}


def settle_if_done(tx: Transaction) -> None:
    """Accounting of an ended journey becomes settled once no reservation is left to reconcile.

    The transaction's row must be fresh.
    """
    row = tx.row
    if (
        row.terminal_reason is not None
        and row.accounting_status == "pending"
        and row.unsettled_reservations == 0
    ):
        _make_final(tx, AccountingStatus.SETTLED)


def finish_accounting(tx: Transaction) -> None:
    """Accounting becomes final at its deadline, whatever is still open."""
    for found in tx.connection.execute(_OPEN, (tx.row.journey,)).fetchall():
        close_unreported(tx, ReservationRow._make(found))
    done = tx.reload().unsettled_reservations == 0
    _make_final(tx, AccountingStatus.SETTLED if done else AccountingStatus.SETTLEMENT_FAILED)


def close_unreported(tx: Transaction, reservation: ReservationRow) -> None:
    """What becomes of an open reservation when nobody reports on it in time."""
    if reservation.state == "reserved":
        close(tx, reservation, ReservationState.RELEASED_UNTRANSMITTED)
    else:
        close(tx, reservation, ReservationState.EXPIRED_CONSERVATIVELY)


def schedule(tx: Transaction) -> None:
    """Note when the next sweep has something to do here. The transaction's row must be fresh."""
    row = tx.row
    due_at: int | None
    if row.accounting_status != "pending":
        due_at = None
    elif row.accounting_deadline is not None:
        due_at = row.accounting_deadline
    elif row.lifecycle_state != "cancelling":
        due_at = row.deadline
    else:
        due_at = effective_cutoff(tx) if row.active_runs else IMMEDIATELY
    if due_at is not None and row.unsettled_reservations:
        earliest = tx.one(
            "SELECT min(falls_due_at) FROM reservations INDEXED BY open_reservations"
            " WHERE journey = ? AND falls_due_at IS NOT NULL",
            (row.journey,),
        )
        if earliest is not None and earliest[0] is not None:
            due_at = min(due_at, earliest[0])
    if due_at != row.due_at:
        tx.note("due_at = ?", (due_at,))
        tx.reload()


def _make_final(tx: Transaction, status: AccountingStatus) -> None:
    tx.change(
        "accounting_status = ?, settled_at = ?, settled_discrepancies = discrepancies",
        (status.value, tx.now),
        guard=" AND accounting_status = 'pending' AND finished_at IS NOT NULL",
    )
    tx.reload()
    schedule(tx)
