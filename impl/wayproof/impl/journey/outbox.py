"""The outbox: dispatch intents are recorded with what is queued, and suppressed with its end."""

from typing import Any, Final

from wayproof.impl.journey.transaction import Transaction
from wayproof.spec.journey.vocabulary import DispatchCause

_RECORD: Final = (
    "INSERT INTO dispatch_intents (journey, ordinal, workflow_run_id, cause, input_request_id,"
    " state, created_at, created_version) VALUES (?, ?, ?, ?, ?, 'recorded', ?, ?)"
)
_SUPPRESS: Final = (
    "UPDATE dispatch_intents INDEXED BY open_intents SET state = 'suppressed'"
    " WHERE journey = ? AND state IN ('recorded', 'acknowledged')"
)


def record_intent(
    tx: Transaction,
    ordinal: int,
    workflow_run_id: str,
    cause: DispatchCause,
    input_request_id: str | None = None,
) -> None:
    """Record that a queued run is to be taken over; its row holds the same ordinal, and the
    journey's row counts it."""
    values: tuple[Any, ...] = (
        *(tx.row.journey, ordinal, workflow_run_id, cause.value, input_request_id),
        *(tx.now, tx.next_version),
    )
    tx.set_once(_RECORD, values)


def suppress_open_intents(tx: Transaction) -> None:
    """What the journey still wanted to be dispatched is never delivered."""
    tx.connection.execute(_SUPPRESS, (tx.row.journey,))
