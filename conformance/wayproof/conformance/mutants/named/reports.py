"""Mutants that read evidence about transmissions wrongly."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import FROM_ANY_STATE

_AWAITS: Final = 'return reservation.state == "transmitted"'
_UNSENT: Final = (
    "reservation = close(tx, reservation, ReservationState.RECONCILED, actual_tokens=0)"
)
_CHARGED: Final = 'if reservation.state == "expired_conservatively":\n        return'
_MALFORMED: Final = "if usage is None or not _fits(tx, reservation, usage):"
_CONFLICT: Final = "elif usage != reservation.actual_tokens:"
_ON_CONFLICT: Final = "ON CONFLICT (journey, transmission_id, kind) DO NOTHING"
_AMBIGUOUS: Final = 'if not in_group(reservation) and tx.row.lifecycle_state == "running":'
_OVERSHOOT: Final = "overshoot = usage > reservation.reserved_tokens"


def _reports(find: str, replace: str) -> Edit:
    return Edit(file="reports.py", find=find, replace=replace)


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="equal-usage-of-one-invocation-observed-once",
        clauses=("identity-06", "usage-03"),
        fault="Two transmissions of an invocation with the same usage are observed as one.",
        kind="sql",
        edits=(
            Edit(
                file="exposure.py",
                find="            actual_tokens or 0,\n",
                replace="""            0
            if tx.one(
                "SELECT 1 FROM reservations WHERE journey = ? AND invocation_id = ?"
                " AND ordinal <> ? AND actual_tokens = ? AND idempotency = 'none'",
                (
                    tx.row.journey,
                    reservation.invocation_id,
                    reservation.ordinal,
                    actual_tokens or 0,
                ),
            )
            else actual_tokens or 0,
""",
            ),
        ),
    ),
    Mutant(
        name="charge-for-malformed-usage-is-final",
        clauses=("reservation-08", "usage-09"),
        fault="A transmission that was charged for malformed usage takes no usage any more.",
        kind="sql",
        edits=(
            _reports(
                _CHARGED,
                """if reservation.state == "expired_conservatively" and tx.one(
        "SELECT 1 FROM discrepancies WHERE journey = ? AND transmission_id = ?"
        " AND kind = 'malformed_usage'",
        (tx.row.journey, reservation.transmission_id),
    ):
        return False
    if reservation.state == "expired_conservatively":
        return""",
            ),
        ),
    ),
    Mutant(
        name="charged-transmission-released",
        clauses=("reservation-09",),
        fault="Proof that nothing was sent releases a conservatively charged transmission.",
        kind="logic",
        edits=(
            _reports(
                _UNSENT,
                """reservation = (
            close(tx, reservation, ReservationState.RELEASED_UNTRANSMITTED)
            if reservation.state == "expired_conservatively"
            else close(tx, reservation, ReservationState.RECONCILED, actual_tokens=0)
        )""",
            ),
        ),
    ),
    Mutant(
        name="transmitted-reservation-released",
        clauses=("reservation-10",),
        fault="Proof that nothing was sent releases a transmission in flight.",
        kind="logic",
        edits=(
            _reports(
                _UNSENT,
                """reservation = (
            close(tx, reservation, ReservationState.RELEASED_UNTRANSMITTED)
            if reservation.state == "transmitted"
            else close(tx, reservation, ReservationState.RECONCILED, actual_tokens=0)
        )""",
            ),
        ),
    ),
    Mutant(
        name="usage-of-a-reserved-transmission-believed",
        clauses=("reservation-11",),
        fault="Usage reported for a transmission that was never sent reconciles it.",
        kind="logic",
        edits=(_reports(_AWAITS, 'return reservation.state in ("reserved", "transmitted")'),),
    ),
    Mutant(
        name="usage-of-a-released-transmission-believed",
        clauses=("reservation-12",),
        fault="Usage reported for a released transmission reconciles it while accounting is"
        " pending.",
        kind="sql",
        edits=(
            _reports(
                "    if _awaits_usage(tx, reservation):\n        if usage is None",
                """    released = reservation.state == "released_untransmitted"
    if _awaits_usage(tx, reservation) or (
        released and usage and tx.row.accounting_status == "pending"
    ):
        if usage is None""",
            ),
            Edit(
                file="exposure.py",
                find="settled = 0 if state.value in _UNSETTLED else 1",
                replace="settled = (reservation.state in _UNSETTLED) - (state.value in _UNSETTLED)",
            ),
        ),
    ),
    Mutant(
        name="unsent-after-an-answer-believed",
        clauses=("reservation-12", "usage-07"),
        fault="A report of nothing sent sets a reconciled transmission to zero.",
        kind="sql",
        edits=(
            _reports(
                "        _record(tx, reservation, DiscrepancyKind.CONFLICTING_USAGE, 0)",
                """        _record(tx, reservation, DiscrepancyKind.CONFLICTING_USAGE, 0)
        if not in_group(reservation) and tx.row.accounting_status == "pending":
            tx.set_once(
                "UPDATE reservations SET actual_tokens = 0 WHERE journey = ? AND ordinal = ?",
                (tx.row.journey, reservation.ordinal),
            )
            tx.change("reconciled_tokens = reconciled_tokens - ?", (reservation.actual_tokens,))
            reservation = reservation._replace(actual_tokens=0)""",
            ),
        ),
    ),
    Mutant(
        name="unsent-charged-in-full",
        clauses=("ambiguity-02", "reservation-10"),
        fault="Proof that nothing was sent charges a transmission in flight conservatively.",
        kind="logic",
        edits=(
            _reports(
                _UNSENT,
                """reservation = (
            close(tx, reservation, ReservationState.EXPIRED_CONSERVATIVELY)
            if reservation.state == "transmitted"
            else close(tx, reservation, ReservationState.RECONCILED, actual_tokens=0)
        )""",
            ),
        ),
    ),
    Mutant(
        name="malformed-usage-ends-the-journey",
        clauses=("ambiguity-03", "ambiguity-04"),
        fault="A terminal response with malformed usage counts as an ambiguity.",
        kind="logic",
        edits=(
            _reports(
                "return close(tx, reservation, ReservationState.EXPIRED_CONSERVATIVELY)",
                "return expire(tx, reservation)",
            ),
        ),
    ),
    Mutant(
        name="truncated-response-taken-for-a-terminal-one",
        clauses=("ambiguity-07",),
        fault="A truncated response charges its transmission, and the journey goes on.",
        kind="logic",
        edits=(
            _reports(
                "        reservation = expire(tx, reservation)\n",
                """        if request.cause == "truncated_response":
            reservation = close(tx, reservation, ReservationState.EXPIRED_CONSERVATIVELY)
            return reading_of(reservation)
        reservation = expire(tx, reservation)
""",
            ),
        ),
    ),
    Mutant(
        name="ambiguity-of-a-member-ends-the-journey",
        clauses=("ambiguity-07", "group-09"),
        fault="A reported ambiguity fails the journey also inside a group.",
        kind="logic",
        edits=(
            _reports(
                "        reservation = expire(tx, reservation)\n",
                """        reservation = expire(tx, reservation)
        if tx.row.lifecycle_state == "running":
            end(tx, LifecycleState.FAILED, TerminalReason.PROVIDER_TRANSMISSION_AMBIGUOUS)
""",
            ),
        ),
    ),
    Mutant(
        name="lapsed-transmission-charged-only",
        clauses=("ambiguity-08", "reservation-07"),
        fault="The lease expiry of an ordinary transmission charges it, and the journey goes on.",
        kind="logic",
        edits=(
            Edit(
                file="sweeps.py",
                find='if reservation.state == "transmitted":',
                replace='if reservation.state == "ambiguous":',
            ),
        ),
    ),
    Mutant(
        name="ambiguity-fails-a-cancelling-journey",
        clauses=("ambiguity-09", "lifecycle-09"),
        fault="An ambiguous transmission fails a cancelling journey.",
        kind="logic",
        edits=(
            FROM_ANY_STATE,
            _reports(
                _AMBIGUOUS,
                "if not in_group(reservation) and tx.row.terminal_reason is None:",
            ),
        ),
    ),
    Mutant(
        name="ambiguity-charged-in-a-running-journey-only",
        clauses=("ambiguity-09",),
        fault="An ambiguous transmission of a cancelling journey is left as it is.",
        kind="logic",
        edits=(
            _reports(
                '    if reservation.state == "transmitted":\n        reservation = expire',
                "    cancelled = tx.row.cancellation_reason is not None\n"
                '    if reservation.state == "transmitted" and not cancelled:\n'
                "        reservation = expire",
            ),
        ),
    ),
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
)
