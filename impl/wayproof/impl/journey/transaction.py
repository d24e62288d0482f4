"""One command's transaction on one journey: what it read, what it writes, and at which version."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from wayproof.impl.journey.rows import (
    JOURNEY_COLUMNS,
    RESERVATION_COLUMNS,
    RUN_COLUMNS,
    JourneyRow,
    ReservationRow,
    RunRow,
)
from wayproof.spec.journey.digests import creation_scope
from wayproof.spec.journey.records import ExecutionAccess
from wayproof.spec.journey.refusals import Refusal, RefusalCode

Values = Sequence[object]
"""Parameters of a statement, in order."""

_AUTHORIZED: Final = (
    f"SELECT {JOURNEY_COLUMNS} FROM journeys"
    " WHERE journey_id = ? AND namespace = ? AND creation_scope = ?"
)
_JOURNEY: Final = f"SELECT {JOURNEY_COLUMNS} FROM journeys WHERE journey = ?"
_RUN: Final = f"SELECT {RUN_COLUMNS} FROM workflow_runs WHERE journey = ? AND workflow_run_id = ?"
_RESERVATION: Final = (
    f"SELECT {RESERVATION_COLUMNS} FROM reservations WHERE journey = ? AND transmission_id = ?"
)


class LostUpdateError(Exception):
    """A guarded statement did not change the one row that it must: a fault of this software."""


def scope_of(access: ExecutionAccess) -> str:
    """The creation scope as one text: no identifier is empty or contains a space."""
    return " ".join(part or "" for part in creation_scope(access))


@dataclass(slots=True)
class Transaction:
    """One journey inside one transaction."""

    connection: sqlite3.Connection
    now: int
    row: JourneyRow
    """As it was read at the beginning, or at the latest :meth:`reload`."""
    version: int
    """The record version that the store holds at this point of the transaction."""
    next_version: int
    """The record version that this transaction commits if it changes what a read shows."""

    @classmethod
    def opened(cls, connection: sqlite3.Connection, now: int, row: JourneyRow) -> Self:
        """A transaction that has just read the journey's row."""
        return cls(connection, now, row, row.record_version, row.record_version + 1)

    def change(
        self,
        assignments: str,
        values: Values = (),
        *,
        guard: str = "",
        guard_values: Values = (),
    ) -> None:
        """Change what a read shows of the journey: a compare-and-set on its record version and
        whatever ``guard`` adds (`` AND ...``)."""
        self.set_once(
            f"UPDATE journeys SET record_version = ?, {assignments}"
            f" WHERE journey = ? AND record_version = ?{guard}",
            (self.next_version, *values, self.row.journey, self.version, *guard_values),
        )
        self.version = self.next_version

    def note(self, assignments: str, values: Values = ()) -> None:
        """Change what no read shows of the journey: the record version stays as it is."""
        self.set_once(
            f"UPDATE journeys SET {assignments} WHERE journey = ? AND record_version = ?",
            (*values, self.row.journey, self.version),
        )

    def set_once(self, statement: str, values: Values) -> None:
        """Execute a guarded statement that must change exactly one row."""
        if self.connection.execute(statement, values).rowcount != 1:
            raise LostUpdateError(statement)

    def one(self, query: str, values: Values) -> tuple[Any, ...] | None:
        """The first row of a query, if any."""
        found: tuple[Any, ...] | None = self.connection.execute(query, values).fetchone()
        return found

    def reload(self) -> JourneyRow:
        """Read the journey's row again, as this transaction has made it."""
        self.row = _journey(self.one(_JOURNEY, (self.row.journey,)))
        return self.row

    def run(self, workflow_run_id: str) -> RunRow | None:
        """One workflow run of the journey."""
        found = self.one(_RUN, (self.row.journey, workflow_run_id))
        return None if found is None else RunRow._make(found)

    def reservation(self, transmission_id: str) -> ReservationRow | None:
        """The reservation of one transmission of the journey."""
        found = self.one(_RESERVATION, (self.row.journey, transmission_id))
        return None if found is None else ReservationRow._make(found)


def open_authorized(
    connection: sqlite3.Connection,
    namespace: str,
    access: ExecutionAccess,
    journey_id: str,
    now: int,
) -> Transaction:
    """Read a journey for somebody whose access equals its creation scope.

    Raises:
        Refusal: ``journey_not_found`` for an unknown journey and for a foreign one alike.
    """
    values = (journey_id, namespace, scope_of(access))
    found = connection.execute(_AUTHORIZED, values).fetchone()
    if found is None:
        raise Refusal(RefusalCode.JOURNEY_NOT_FOUND)
    return Transaction.opened(connection, now, JourneyRow._make(found))


def open_key(connection: sqlite3.Connection, journey: int, now: int) -> Transaction:
    """Read a journey by the key of its row, which must exist."""
    found = connection.execute(_JOURNEY, (journey,)).fetchone()
    return Transaction.opened(connection, now, _journey(found))


def _journey(found: Sequence[Any] | None) -> JourneyRow:
    if found is None:
        raise LostUpdateError("a journey's row is gone")
    return JourneyRow._make(found)
