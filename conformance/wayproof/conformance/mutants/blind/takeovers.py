"""Faults of what a takeover finds in flight."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="takeover-sees-only-calls-of-active-runs",
        clauses=("lease-08",),
        fault=(
            "A run is finished while its ordinary transmission is in flight; after the owner lease "
            "another worker is granted one, instead of failing the journey as ambiguous."
        ),
        kind="sql",
        edits=(
            Edit(
                file="leases.py",
                find="        if row.transmitted_outside_groups:\n",
                replace=(
                    "        if tx.one(\n"
                    '            "SELECT 1 FROM reservations JOIN workflow_runs AS run"\n'
                    '            " USING (journey, workflow_run_id)"\n'
                    "            \" WHERE journey = ? AND reservations.state = 'transmitted'\"\n"
                    "            \" AND idempotency = 'none' AND run.state = 'active'\",\n"
                    "            (row.journey,),\n"
                    "        ):\n"
                ),
            ),
        ),
    ),
    Mutant(
        name="malformed-usage-leaves-the-call-in-flight",
        clauses=("lease-10",),
        fault=(
            "A transmission is answered with malformed usage, its run completes and the owner "
            "lease expires; the next worker's claim fails the journey as ambiguous instead of "
            "being granted, because the tally of calls in flight was not lowered with the charge."
        ),
        kind="transaction",
        edits=(
            Edit(
                file="exposure.py",
                find="            1 if was_ambiguous else 0,\n",
                replace=(
                    "            1 if was_ambiguous and state is ReservationState.RECONCILED"
                    " else 0,\n"
                ),
            ),
        ),
    ),
)
