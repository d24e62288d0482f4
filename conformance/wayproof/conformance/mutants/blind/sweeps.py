"""Faults of time taking effect: what a sweep reaches, what a checkpoint does, and the calendar."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="sweep-stops-at-the-end-it-causes",
        clauses=("reservation-07", "precedence-12", "reservation-15"),
        fault=(
            "The leases of two ordinary transmissions in flight lapse; one sweep charges the first "
            "and fails the journey by it, and leaves the second transmitted until the next sweep."
        ),
        kind="logic",
        edits=(
            Edit(
                file="sweeps.py",
                find="            expire(tx, reservation)\n",
                replace=(
                    "            state = tx.row.lifecycle_state\n"
                    "            expire(tx, reservation)\n"
                    "            if tx.row.lifecycle_state != state:\n"
                    "                break\n"
                ),
            ),
        ),
    ),
    Mutant(
        name="sweep-reaches-other-namespaces",
        clauses=("deadline-01",),
        fault=(
            "Two namespaces of one store have clocks of their own; a sweep of the later one, past "
            "the deadline of a journey of the earlier one, makes that journey timed_out too soon."
        ),
        kind="sql",
        edits=(
            Edit(
                file="sweeps.py",
                find='" WHERE namespace = ? AND due_at <= ? ORDER BY due_at, journey"',
                replace='" WHERE due_at <= ? ORDER BY due_at, journey"',
            ),
            Edit(
                file="sweeps.py",
                find="(_DUE_JOURNEYS, (namespace, now))",
                replace="(_DUE_JOURNEYS, (now,))",
            ),
        ),
    ),
    Mutant(
        name="cancel-of-an-ended-journey-skips-the-checkpoint",
        clauses=("precedence-08", "settle-05"),
        fault=(
            "A journey completes with a transmission in flight; at its accounting deadline a "
            "cancel answers accounting pending instead of settlement_failed."
        ),
        kind="logic",
        edits=(
            Edit(
                file="lifecycle.py",
                find="    checkpoint(tx)\n",
                replace="    if tx.row.terminal_reason is None:\n        checkpoint(tx)\n",
            ),
        ),
    ),
    Mutant(
        name="calendar-ends-at-its-last-whole-second",
        clauses=("settle-02", "cancel-03"),
        fault=(
            "A journey is failed in the last hour of the year 9999 with a day of settlement grace: "
            "its accounting deadline is shown as 23:59:59.000 instead of 23:59:59.999."
        ),
        kind="logic",
        edits=(
            Edit(
                file="ending.py",
                find="    return min(moment + milliseconds, LATEST_MILLISECONDS)\n",
                replace=(
                    "    return min(moment + milliseconds, LATEST_MILLISECONDS // 1000 * 1000)\n"
                ),
            ),
        ),
    ),
)
