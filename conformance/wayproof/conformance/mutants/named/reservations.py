"""Mutants that reserve, grant, renew and release wrongly."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

_REPLAY: Final = "return _granted_before(known, request)"
_RENEW: Final = (
    '"""Extend a reservation\'s lease, never shorten it."""\n'
    "    reservation = known_transmission(tx, request.transmission_id)\n"
    "    require_live(tx, request.fencing_token)\n"
    "    if request.fencing_token != reservation.fencing_token:"
)


def _reservations(find: str, replace: str) -> Edit:
    return Edit(file="reservations.py", find=find, replace=replace)


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="one-record-for-each-invocation",
        clauses=("reservation-01", "transmission-04"),
        fault="The listing shows only the latest transmission of each invocation.",
        kind="sql",
        edits=(
            Edit(
                file="observation.py",
                find="FROM reservations WHERE journey = ? AND ordinal > ?",
                replace="FROM reservations WHERE journey = ? AND ordinal > ?"
                " AND NOT EXISTS (SELECT 1 FROM reservations AS later"
                " WHERE later.journey = reservations.journey"
                " AND later.invocation_id = reservations.invocation_id"
                " AND later.ordinal > reservations.ordinal)",
            ),
        ),
    ),
    Mutant(
        name="page-begins-with-its-mark",
        clauses=("reservation-01",),
        fault="The page of reservations after an ordinal begins with that ordinal.",
        kind="sql",
        edits=(
            Edit(
                file="observation.py",
                find="FROM reservations WHERE journey = ? AND ordinal > ?",
                replace="FROM reservations WHERE journey = ? AND ordinal >= ?",
            ),
        ),
    ),
    Mutant(
        name="created-at-the-version-that-was-read",
        clauses=("reservation-02",),
        fault="A reservation names the record version before its own commit as its creation.",
        kind="transaction",
        edits=(_reservations("*(tx.now, tx.next_version),", "*(tx.now, row.record_version),"),),
    ),
    Mutant(
        name="grant-answered-from-before-its-commit",
        clauses=("reservation-03",),
        fault="transmit answers how the reservation stood before.",
        kind="transaction",
        edits=(
            _reservations(
                "return reading_of(transmit(tx, reservation))",
                "transmit(tx, reservation)\n    return reading_of(reservation)",
            ),
        ),
    ),
    Mutant(
        name="grant-repeated",
        clauses=("reservation-04",),
        fault="A transmission that is already transmitted is granted again.",
        kind="logic",
        edits=(
            _reservations(
                'if reservation.state != "reserved":',
                'if reservation.state == "transmitted":\n        return reading_of(reservation)\n'
                '    if reservation.state != "reserved":',
            ),
        ),
    ),
    Mutant(
        name="released-amount-stays-reserved",
        clauses=("reservation-05", "usage-02"),
        fault="A release does not lower the reserved total.",
        kind="sql",
        edits=(
            Edit(
                file="exposure.py",
                find="now.outstanding - before.outstanding,",
                replace="(now.outstanding - before.outstanding)"
                ' * (state.value != "released_untransmitted"),',
            ),
        ),
    ),
    Mutant(
        name="usage-after-the-lease-not-believed",
        clauses=("reservation-06", "usage-05"),
        fault="Usage that arrives after the reservation's lease, before any sweep, is charged in"
        " full.",
        kind="logic",
        edits=(
            Edit(
                file="reports.py",
                find="if usage is None or not _fits(tx, reservation, usage):",
                replace="""late = tx.now >= reservation.lease_expires_at
        if late and reservation.state == "transmitted":
            reservation = close(tx, reservation, ReservationState.EXPIRED_CONSERVATIVELY)
        elif usage is None or not _fits(tx, reservation, usage):""",
            ),
        ),
    ),
    Mutant(
        name="prompt-charged-without-its-output",
        clauses=("reservation-07", "usage-02"),
        fault="A conservative charge is the prompt estimate without the maximum output.",
        kind="logic",
        edits=(
            Edit(
                file="exposure.py",
                find="return Exposure(0, reservation.reserved_tokens, 0)",
                replace="return Exposure(0, reservation.estimated_prompt_tokens, 0)",
            ),
        ),
    ),
    Mutant(
        name="new-lease-does-not-make-the-journey-due",
        clauses=("reservation-07", "reservation-15"),
        fault="A sweep does not notice a lapsed lease before something else is due.",
        kind="transaction",
        edits=(
            _reservations(
                "if row.due_at is None or expires_at < row.due_at:", "if row.due_at is None:"
            ),
        ),
    ),
    Mutant(
        name="lapsed-reservation-missed-at-its-moment",
        clauses=("reservation-15", "reservation-07"),
        fault="A sweep at the expiry of a lease itself leaves the reservation as it is.",
        kind="sql",
        edits=(Edit(file="sweeps.py", find="falls_due_at <= ?", replace="falls_due_at < ?"),),
    ),
    Mutant(
        name="reservation-of-a-living-worker-not-released",
        clauses=("reservation-15",),
        fault="A sweep releases a lapsed reservation only if its worker's lease has lapsed too.",
        kind="logic",
        edits=(
            Edit(
                file="sweeps.py",
                find="        else:\n            close_unreported(tx, reservation)",
                replace="""        elif (
            reservation.fencing_token != tx.row.fencing_token
            or tx.now >= tx.row.owner_lease_expires_at
        ):
            close_unreported(tx, reservation)""",
            ),
        ),
    ),
    Mutant(
        name="ended-journey-keeps-lapsed-reservations",
        clauses=("reservation-15", "settle-04"),
        fault="A sweep leaves the lapsed reservations of a terminal journey to the accounting"
        " deadline.",
        kind="sql",
        edits=(
            Edit(
                file="sweeps.py",
                find="WHERE journey = ? AND falls_due_at <= ? ORDER BY ordinal",
                replace="WHERE journey = ? AND falls_due_at <= ? AND (SELECT terminal_reason"
                " FROM journeys WHERE journeys.journey = reservations.journey) IS NULL"
                " ORDER BY ordinal",
            ),
        ),
    ),
    Mutant(
        name="lapsed-reservation-charged",
        clauses=("reservation-11", "reservation-15"),
        fault="A sweep charges a reservation that was never transmitted.",
        kind="logic",
        edits=(
            Edit(
                file="sweeps.py",
                find="        else:\n            close_unreported(tx, reservation)",
                replace="""        else:
            from wayproof.impl.journey.exposure import close
            from wayproof.spec.journey.vocabulary import ReservationState
            close(tx, reservation, ReservationState.EXPIRED_CONSERVATIVELY)""",
            ),
        ),
    ),
    Mutant(
        name="replay-renews-the-lease",
        clauses=("reservation-13", "observe-13"),
        fault="The repeated claim of a reserved transmission starts its lease anew.",
        kind="sql",
        edits=(
            _reservations(
                _REPLAY,
                """answer = _granted_before(known, request)
        until = after(tx.now, request.lease_milliseconds)
        if known.state == "reserved" and until > known.lease_expires_at:
            tx.set_once(
                "UPDATE reservations SET lease_expires_at = ?, falls_due_at = ?"
                " WHERE journey = ? AND ordinal = ?",
                (until, until, tx.row.journey, known.ordinal),
            )
        return answer""",
            ),
        ),
    ),
    Mutant(
        name="replay-compared-by-the-sum",
        clauses=("reservation-14",),
        fault="A known transmission_id with another estimate and the same sum is a replay.",
        kind="logic",
        edits=(
            _reservations("*(estimate, most, request", "*((estimate or 0) + (most or 0), request"),
            _reservations(
                "*(known.estimated_prompt_tokens, known.reserved_tokens -"
                " known.estimated_prompt_tokens),",
                "known.reserved_tokens,",
            ),
        ),
    ),
    Mutant(
        name="replay-compared-without-the-lease",
        clauses=("reservation-14",),
        fault="A known transmission_id with another lease is a replay.",
        kind="logic",
        edits=(
            _reservations(
                "        known.lease_milliseconds,\n", "        request.lease_milliseconds,\n"
            ),
        ),
    ),
    Mutant(
        name="transmitted-at-the-expiry",
        clauses=("reservation-16",),
        fault="At the expiry of its lease itself a reservation can still be transmitted.",
        kind="logic",
        edits=(
            _reservations(
                "if tx.now >= reservation.lease_expires_at:",
                "if tx.now > reservation.lease_expires_at:",
            ),
        ),
    ),
    Mutant(
        name="new-owner-renews-old-reservations",
        clauses=("reservation-17",),
        fault="Whoever owns the journey now may renew a reservation of an earlier owner.",
        kind="logic",
        edits=(
            _reservations(
                _RENEW,
                _RENEW.replace("    if request.fencing_token != reservation.fencing_token:", "")
                + "    if request.fencing_token < reservation.fencing_token:",
            ),
        ),
    ),
    Mutant(
        name="release-needs-a-live-token",
        clauses=("reservation-17", "cancel-09"),
        fault="A worker whose lease has lapsed cannot report that nothing was sent.",
        kind="logic",
        edits=(
            Edit(
                file="reports.py",
                find="if request.fencing_token != reservation.fencing_token:",
                replace="if request.fencing_token != reservation.fencing_token or not ("
                "request.fencing_token == tx.row.fencing_token"
                " and tx.now < tx.row.owner_lease_expires_at):",
            ),
        ),
    ),
    Mutant(
        name="new-owner-releases-old-reservations",
        clauses=("reservation-17",),
        fault="Whoever owns the journey now may release a reservation of an earlier owner.",
        kind="logic",
        edits=(
            Edit(
                file="reports.py",
                find="if request.fencing_token != reservation.fencing_token:",
                replace="if request.fencing_token not in (\n"
                "        reservation.fencing_token, tx.row.fencing_token\n    ):",
            ),
        ),
    ),
    Mutant(
        name="transmission-extends-the-lease",
        clauses=("reservation-18",),
        fault="Marking a reservation transmitted starts its lease anew.",
        kind="sql",
        edits=(
            Edit(
                file="exposure.py",
                find="UPDATE reservations SET state = 'transmitted'\"\n"
                "        \" WHERE journey = ? AND ordinal = ? AND state = 'reserved'\",\n"
                "        (",
                replace="UPDATE reservations SET state = 'transmitted',\"\n"
                '        " lease_expires_at = max(lease_expires_at, ? + lease_milliseconds),"\n'
                '        " falls_due_at = max(lease_expires_at, ? + lease_milliseconds)"\n'
                "        \" WHERE journey = ? AND ordinal = ? AND state = 'reserved'\",\n"
                "        (tx.now, tx.now, ",
            ),
        ),
    ),
    Mutant(
        name="renewed-while-reserved-only",
        clauses=("reservation-18",),
        fault="The lease of a call in flight cannot be renewed.",
        kind="logic",
        edits=(
            _reservations(
                'if reservation.state not in ("reserved", "transmitted"):',
                'if reservation.state != "reserved":',
            ),
        ),
    ),
    Mutant(
        name="renewal-shortens-the-lease",
        clauses=("reservation-18",),
        fault="A renewal with a shorter lease brings its expiry forward.",
        kind="logic",
        edits=(
            _reservations(
                "expires_at = max(held_until, after(tx.now, request.lease_milliseconds))\n"
                "    if expires_at > held_until:",
                "expires_at = after(tx.now, request.lease_milliseconds)\n"
                "    if expires_at != held_until:",
            ),
        ),
    ),
    Mutant(
        name="renewal-not-written-where-sweeps-look",
        clauses=("reservation-18",),
        fault="A sweep lets a renewed lease lapse at its earlier expiry.",
        kind="sql",
        edits=(
            _reservations(
                '"UPDATE reservations SET lease_expires_at = ?, falls_due_at = ?"',
                '"UPDATE reservations SET lease_expires_at = max(?, ?)"',
            ),
            Edit(
                file="schema.py",
                find="CHECK (falls_due_at = lease_expires_at)",
                replace="CHECK (falls_due_at <= lease_expires_at)",
            ),
        ),
    ),
    Mutant(
        name="sweep-releases-records-without-their-totals",
        clauses=("reservation-19", "reservation-05"),
        fault="A sweep releases lapsed reservations in a statement of its own, past the totals.",
        kind="sql",
        edits=(
            Edit(
                file="sweeps.py",
                find="        else:\n            close_unreported(tx, reservation)",
                replace="""        else:
            tx.connection.execute(
                "UPDATE reservations SET state = 'released_untransmitted', falls_due_at = NULL"
                " WHERE journey = ? AND ordinal = ?",
                (row.journey, reservation.ordinal),
            )
            tx.change("unsettled_reservations = unsettled_reservations - 1")""",
            ),
        ),
    ),
    Mutant(
        name="restart-takes-reserved-for-transmitted",
        clauses=("transmission-06", "reservation-03"),
        fault="A store that is opened again marks what was reserved as transmitted.",
        kind="sql",
        edits=(
            Edit(
                file="migrations.py",
                find="turns.alone(lambda: _turn_to_log(connection))",
                replace="""turns.alone(lambda: _turn_to_log(connection))
    connection.execute(
        "UPDATE journeys INDEXED BY journeys_due SET transmitted_outside_groups ="
        " transmitted_outside_groups + (SELECT count(*) FROM reservations"
        " WHERE reservations.journey = journeys.journey AND state = 'reserved'"
        " AND idempotency = 'none') WHERE due_at IS NOT NULL"
    )
    connection.execute(
        "UPDATE reservations SET state = 'transmitted' WHERE state = 'reserved'"
        " AND journey IN (SELECT journey FROM journeys WHERE due_at IS NOT NULL)"
    )""",
            ),
        ),
    ),
    Mutant(
        name="renewal-leaves-the-version",
        clauses=("observe-12",),
        fault="A renewed lease shows in the listing under the old record version.",
        kind="transaction",
        edits=(_reservations('tx.change("reservations = reservations")', "pass"),),
    ),
)
