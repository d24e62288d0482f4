"""Mutants that misread the number a provider reports, or lose a discrepancy."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import FROM_ANY_STATE

_MALFORMED: Final = "if usage is None or not _fits(tx, reservation, usage):"
_CONFLICT: Final = "elif usage != reservation.actual_tokens:"
_ON_CONFLICT: Final = "ON CONFLICT (journey, transmission_id, kind) DO NOTHING"
_OVERSHOOT: Final = "overshoot = usage > reservation.reserved_tokens"


def _reports(find: str, replace: str) -> Edit:
    return Edit(file="reports.py", find=find, replace=replace)


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="charge-kept-beside-the-usage",
        clauses=("ceiling-03", "reservation-08"),
        fault="Usage that reconciles a charged transmission is added to its charge.",
        kind="sql",
        edits=(
            Edit(
                file="exposure.py",
                find="conservatively_committed_tokens = conservatively_committed_tokens + ?",
                replace="conservatively_committed_tokens ="
                " conservatively_committed_tokens + max(?, 0)",
            ),
        ),
    ),
    Mutant(
        name="unused-part-stays-reserved",
        clauses=("ceiling-04", "usage-02"),
        fault="A call that is reconciled below its reservation keeps the rest reserved.",
        kind="sql",
        edits=(
            Edit(
                file="exposure.py",
                find="now.outstanding - before.outstanding,",
                replace="max(now.outstanding - before.outstanding, -(actual_tokens or 0))\n"
                '            if state.value == "reconciled"\n'
                "            else now.outstanding - before.outstanding,",
            ),
        ),
    ),
    Mutant(
        name="exact-usage-overshoots",
        clauses=("ceiling-11",),
        fault="Usage equal to its reservation counts as an overshoot.",
        kind="logic",
        edits=(_reports(_OVERSHOOT, _OVERSHOOT.replace(" > ", " >= ")),),
    ),
    Mutant(
        name="overshoot-below-the-ceiling-tolerated",
        clauses=("ceiling-11",),
        fault="An overshoot that stays below the ceiling does not end the journey.",
        kind="sql",
        edits=(
            _reports(
                'if overshoot and tx.row.lifecycle_state == "running":',
                'if overshoot and tx.row.lifecycle_state == "running" and tx.one(\n'
                '        "SELECT 1 FROM journeys WHERE journey = ? AND reconciled_tokens"\n'
                '        " + conservatively_committed_tokens + reserved_tokens'
                ' > max_total_tokens",\n'
                "        (tx.row.journey,),\n    ):",
            ),
        ),
    ),
    Mutant(
        name="overshoot-cut-to-its-reservation",
        clauses=("ceiling-12", "usage-05"),
        fault="An overshoot counts with what was reserved.",
        kind="logic",
        edits=(
            _reports(
                "actual_tokens=usage,",
                "actual_tokens=min(usage, reservation.reserved_tokens),",
            ),
        ),
    ),
    Mutant(
        name="late-overshoot-leaves-no-record",
        clauses=("ceiling-12", "ceiling-13"),
        fault="An overshoot of a cancelling or terminal journey leaves no discrepancy.",
        kind="logic",
        edits=(
            _reports(
                "    if overshoot:\n", '    if overshoot and tx.row.lifecycle_state == "running":\n'
            ),
        ),
    ),
    Mutant(
        name="overshoot-ends-a-cancelling-journey",
        clauses=("ceiling-13", "lifecycle-09"),
        fault="An overshoot makes a cancelling journey budget_exceeded.",
        kind="logic",
        edits=(
            FROM_ANY_STATE,
            _reports(
                'if overshoot and tx.row.lifecycle_state == "running":',
                "if overshoot and tx.row.terminal_reason is None:",
            ),
        ),
    ),
    Mutant(
        name="overshoot-written-over-the-reason",
        clauses=("ceiling-13", "outcome-06"),
        fault="An overshoot of a terminal journey replaces its reason.",
        kind="sql",
        edits=(
            _reports(
                "    _settle(tx)\n    return reconciled",
                """    if overshoot and tx.row.terminal_reason == "deadline_expired":
        tx.change("terminal_reason = 'token_budget_exhausted'")
    _settle(tx)
    return reconciled""",
            ),
        ),
    ),
    Mutant(
        name="explicit-zero-taken-for-absent",
        clauses=("usage-05", "ambiguity-02"),
        fault="An explicit zero is charged like malformed usage.",
        kind="logic",
        edits=(_reports(_MALFORMED, _MALFORMED.replace("usage is None", "not usage")),),
    ),
    Mutant(
        name="absent-usage-coalesced-to-zero",
        clauses=("usage-06", "outcome-11"),
        fault="Malformed usage reconciles its transmission with zero.",
        kind="logic",
        edits=(_reports(_MALFORMED, f"usage = usage or 0\n        {_MALFORMED}"),),
    ),
    Mutant(
        name="malformed-usage-leaves-no-record",
        clauses=("usage-06", "usage-08"),
        fault="A transmission that is charged for malformed usage leaves no discrepancy.",
        kind="logic",
        edits=(
            _reports(
                "    _record(tx, reservation, DiscrepancyKind.MALFORMED_USAGE, None)\n    if",
                '    if reservation.state != "transmitted":\n'
                "        _record(tx, reservation, DiscrepancyKind.MALFORMED_USAGE, None)\n    if",
            ),
        ),
    ),
    Mutant(
        name="same-usage-conflicts",
        clauses=("usage-07", "identity-06"),
        fault="A repeated report of the same usage leaves a discrepancy.",
        kind="logic",
        edits=(_reports(_CONFLICT, "else:"),),
    ),
    Mutant(
        name="greater-usage-replaces-the-first",
        clauses=("usage-07",),
        fault="A second report of greater usage replaces the first.",
        kind="sql",
        edits=(
            _reports(
                "        _record(tx, reservation, DiscrepancyKind.CONFLICTING_USAGE, usage)",
                """        _record(tx, reservation, DiscrepancyKind.CONFLICTING_USAGE, usage)
        first = reservation.actual_tokens or 0
        if usage > first and not in_group(reservation) and tx.row.accounting_status == "pending":
            tx.set_once(
                "UPDATE reservations SET actual_tokens = ? WHERE journey = ? AND ordinal = ?",
                (usage, tx.row.journey, reservation.ordinal),
            )
            tx.change("reconciled_tokens = reconciled_tokens + ?", (usage - first,))
            reservation = reservation._replace(actual_tokens=usage)""",
            ),
        ),
    ),
    Mutant(
        name="discrepancies-not-unique",
        clauses=("usage-08",),
        fault="Every report of one kind leaves a record of its own.",
        kind="sql",
        edits=(
            _reports(_ON_CONFLICT, "ON CONFLICT DO NOTHING"),
            Edit(
                file="schema.py",
                find="    PRIMARY KEY (journey, ordinal),\n"
                "    UNIQUE (journey, transmission_id, kind)",
                replace="    PRIMARY KEY (journey, ordinal)",
            ),
        ),
    ),
    Mutant(
        name="one-discrepancy-for-each-transmission",
        clauses=("usage-08",),
        fault="A second kind of discrepancy of one transmission leaves no record.",
        kind="sql",
        edits=(
            _reports(_ON_CONFLICT, "ON CONFLICT (journey, transmission_id) DO NOTHING"),
            Edit(
                file="schema.py",
                find="UNIQUE (journey, transmission_id, kind)",
                replace="UNIQUE (journey, transmission_id)",
            ),
        ),
    ),
    Mutant(
        name="last-discrepancy-stands",
        clauses=("usage-08",),
        fault="A second report of one kind overwrites the number of the first.",
        kind="sql",
        edits=(
            _reports(
                "    if recorded:\n",
                """    if not recorded:
        tx.connection.execute(
            "UPDATE discrepancies SET reported_tokens = ? WHERE journey = ?"
            " AND transmission_id = ? AND kind = ?",
            (reported, tx.row.journey, reservation.transmission_id, kind.value),
        )
    if recorded:
""",
            ),
        ),
    ),
    Mutant(
        name="page-of-discrepancies-begins-with-its-mark",
        clauses=("usage-08",),
        fault="The page of discrepancies after an ordinal begins with that ordinal.",
        kind="sql",
        edits=(
            Edit(
                file="observation.py",
                find='" WHERE journey = ? AND ordinal > ? ORDER BY ordinal LIMIT ?"',
                replace='" WHERE journey = ? AND ordinal >= ? ORDER BY ordinal LIMIT ?"',
            ),
        ),
    ),
    Mutant(
        name="usage-after-a-timeout-ignored",
        clauses=("usage-09", "outcome-08"),
        fault="Usage of a journey that timed out no longer reconciles what was charged.",
        kind="logic",
        edits=(
            _reports(
                'return tx.row.accounting_status == "pending"',
                'return tx.row.accounting_status == "pending" and'
                ' tx.row.lifecycle_state != "timed_out"',
            ),
        ),
    ),
    Mutant(
        name="late-usage-believed",
        clauses=("usage-10", "reservation-09"),
        fault="Usage that arrives after accounting became final still reconciles.",
        kind="logic",
        edits=(_reports('return tx.row.accounting_status == "pending"', "return True"),),
    ),
    Mutant(
        name="late-usage-leaves-no-record",
        clauses=("usage-10",),
        fault="Usage that arrives after accounting became final leaves no discrepancy.",
        kind="logic",
        edits=(
            _reports(
                "        _record(tx, reservation, DiscrepancyKind.LATE_USAGE, usage)",
                "        pass",
            ),
        ),
    ),
    Mutant(
        name="greatest-usage-malformed",
        clauses=("usage-05", "usage-06"),
        fault="Usage that takes a total to exactly 2**53-1 is charged like malformed usage.",
        kind="logic",
        edits=(
            _reports(
                "return max(exposure, row.observed_actual_tokens + usage) <= MAXIMUM_INTEGER",
                "return max(exposure, row.observed_actual_tokens + usage) < MAXIMUM_INTEGER",
            ),
        ),
    ),
    Mutant(
        name="observed-total-beyond-the-bound",
        clauses=("usage-06", "usage-03"),
        fault="Usage that takes observed_actual_tokens beyond 2**53-1 is believed.",
        kind="logic",
        edits=(
            _reports(
                "return max(exposure, row.observed_actual_tokens + usage) <= MAXIMUM_INTEGER",
                "return exposure <= MAXIMUM_INTEGER",
            ),
        ),
    ),
    Mutant(
        name="outstanding-not-held-to-the-bound",
        clauses=("usage-06", "policy-10"),
        fault="Usage that takes the sum with what is reserved beyond 2**53-1 is believed.",
        kind="logic",
        edits=(
            _reports(
                "others = counted - exposure_of(tx, reservation).total",
                "others = max(0, counted - row.reserved_tokens)",
            ),
        ),
    ),
)
