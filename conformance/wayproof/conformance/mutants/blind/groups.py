"""Faults of accounting: authoritative groups in an unusual order, and overshoots."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="group-counts-its-latest-usage",
        clauses=("group-01", "usage-04"),
        fault=(
            "A group member is reconciled with 8, then a later member is transmitted and reported "
            "with 3: reconciled_tokens falls from 8 to 3 instead of keeping the greater one."
        ),
        kind="sql",
        edits=(
            Edit(
                file="exposure.py",
                find='("actual_tokens", "state = \'reconciled\'"),\n',
                replace=(
                    "(\n"
                    '            "actual_tokens",\n'
                    "            \"state = 'reconciled' AND ordinal = (SELECT max(ordinal)\"\n"
                    '            " FROM reservations WHERE journey = ?1 AND invocation_id = ?2"\n'
                    "            \" AND state = 'reconciled')\",\n"
                    "        ),\n"
                ),
            ),
        ),
    ),
    Mutant(
        name="expired-siblings-never-count-as-settled",
        clauses=("settle-04", "settle-09", "group-05"),
        fault=(
            "A group member is charged for malformed usage, its sibling is transmitted and "
            "reported with 5, which reconciles both; the journey completes and stays pending, and "
            "ends settlement_failed at the accounting deadline."
        ),
        kind="sql",
        edits=(
            Edit(
                file="exposure.py",
                find="    return tx.connection.execute(\n",
                replace=(
                    "    in_flight = tx.connection.execute(\n"
                    '        "SELECT count(*) FROM reservations"\n'
                    '        " WHERE journey = ? AND invocation_id = ?"\n'
                    "        \" AND idempotency = 'authoritative' AND state = 'transmitted'\",\n"
                    "        (tx.row.journey, reservation.invocation_id),\n"
                    "    ).fetchone()[0]\n"
                    "    tx.connection.execute(\n"
                ),
            ),
            Edit(
                file="exposure.py",
                find="    ).rowcount\n",
                replace="    )\n    return in_flight\n",
            ),
        ),
    ),
    Mutant(
        name="overshoot-measured-by-the-group",
        clauses=("ceiling-11", "ceiling-12"),
        fault=(
            "A group has members of 10 and 4 in flight; 6 is reported for the one of 4: no "
            "discrepancy is recorded, and the journey goes on."
        ),
        kind="logic",
        edits=(
            Edit(
                file="reports.py",
                find="    overshoot = usage > reservation.reserved_tokens\n",
                replace="    overshoot = usage > exposure_of(tx, reservation).total\n",
            ),
        ),
    ),
    Mutant(
        name="no-overshoot-after-a-conservative-charge",
        clauses=("ceiling-11", "ceiling-12"),
        fault=(
            "A transmission of 10 is charged for malformed usage in a running journey, then "
            "reported with 12: no usage_over_reservation is recorded, and the journey goes on."
        ),
        kind="logic",
        edits=(
            Edit(
                file="reports.py",
                find="    overshoot = usage > reservation.reserved_tokens\n",
                replace=(
                    '    overshoot = reservation.state == "transmitted"'
                    " and usage > reservation.reserved_tokens\n"
                ),
            ),
        ),
    ),
)
