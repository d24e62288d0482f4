"""Faults of opening a store again: housekeeping and timers rebuilt in memory's stead."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

_OPENED: Final = "            migrate(connection, self._turns, MIGRATIONS)\n"

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="opening-forgets-operations-of-settled-journeys",
        clauses=("idempotency-09", "counter-10", "lifecycle-18"),
        fault=(
            "A journey completes and is settled, the store is restarted, and its first claim_lease "
            "is repeated: it is refused with journey_terminal instead of its recorded grant."
        ),
        kind="sql",
        edits=(
            Edit(
                file="store.py",
                find=_OPENED,
                replace=(
                    _OPENED + "            self._turns.write(\n"
                    "                lambda: connection.execute(\n"
                    '                    "DELETE FROM operations WHERE journey IN"\n'
                    '                    " (SELECT journey FROM journeys"\n'
                    "                    \" WHERE accounting_status <> 'pending')\"\n"
                    "                )\n"
                    "            )\n"
                ),
            ),
        ),
    ),
    Mutant(
        name="opening-rebuilds-timers-without-reservation-leases",
        clauses=("reservation-07", "reservation-15", "lease-11"),
        fault=(
            "A transmission is in flight, the store is restarted, and a sweep after its lease "
            "leaves it transmitted, because only deadlines of journeys are looked at again."
        ),
        kind="sql",
        edits=(
            Edit(
                file="store.py",
                find=_OPENED,
                replace=(
                    _OPENED + "            self._turns.write(\n"
                    "                lambda: connection.execute(\n"
                    '                    "UPDATE journeys SET due_at = CASE"\n'
                    "                    \" WHEN accounting_status <> 'pending' THEN NULL\"\n"
                    '                    " WHEN finished_at IS NOT NULL THEN accounting_deadline"\n'
                    "                    \" WHEN lifecycle_state <> 'cancelling' THEN deadline\"\n"
                    '                    " WHEN active_runs = 0 THEN 0"\n'
                    '                    " ELSE min(cancellation_deadline, deadline) END"\n'
                    "                )\n"
                    "            )\n"
                ),
            ),
        ),
    ),
)
