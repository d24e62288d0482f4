"""Sweeps: what is due takes effect, one short transaction for each journey."""

import sqlite3
from typing import Final

from wayproof.impl.journey.ending import (
    checkpoint,
    close_unreported,
    end_cancelled,
    schedule,
    settle_if_done,
)
from wayproof.impl.journey.reports import expire
from wayproof.impl.journey.rows import RESERVATION_COLUMNS, ReservationRow
from wayproof.impl.journey.transaction import Transaction

_DUE_JOURNEYS: Final = (
    "SELECT journey FROM journeys INDEXED BY journeys_due"
    " WHERE namespace = ? AND due_at <= ? ORDER BY due_at, journey"
)
_LAPSED: Final = (
    f"SELECT {RESERVATION_COLUMNS} FROM reservations INDEXED BY open_reservations"
    " WHERE journey = ? AND falls_due_at <= ? ORDER BY ordinal"
)


def due_journeys(connection: sqlite3.Connection, namespace: str, now: int) -> list[int]:
    """The keys of the journeys in which something may be due."""
    found = connection.execute(_DUE_JOURNEYS, (namespace, now)).fetchall()
    return [journey for (journey,) in found]


def sweep_journey(tx: Transaction) -> None:
    """Let everything that is due in one journey take effect, in the order of the contract."""
    row = tx.row
    if row.lifecycle_state == "cancelling" and row.active_runs == 0:
        end_cancelled(tx)
    elif row.terminal_reason is None:
        checkpoint(tx)
    for found in tx.connection.execute(_LAPSED, (row.journey, tx.now)).fetchall():
        reservation = ReservationRow._make(found)
        if reservation.state == "transmitted":
            expire(tx, reservation)
        else:
            close_unreported(tx, reservation)
    tx.reload()
    settle_if_done(tx)
    checkpoint(tx)
    schedule(tx)
