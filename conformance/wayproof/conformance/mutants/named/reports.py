"""Mutants that read evidence about transmissions wrongly."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import FROM_ANY_STATE

_AWAITS: Final = 'return reservation.state == "transmitted"'
_UNSENT: Final = (
    "reservation = close(tx, reservation, ReservationState.RECONCILED, actual_tokens=0)"
)
_CHARGED: Final = 'if reservation.state == "expired_conservatively":\n        return'
_AMBIGUOUS: Final = 'if not in_group(reservation) and tx.row.lifecycle_state == "running":'


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
)
