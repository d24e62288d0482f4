"""Mutants that reserve, grant, renew and release wrongly."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import NO_CEILING_CHECK

_ROOM: Final = "if exposure + delta > row.max_total_tokens:"
_ABSENT: Final = "if request.estimated_prompt_tokens is None or request.max_output_tokens is None:"
_AMOUNT: Final = "amount = request.estimated_prompt_tokens + request.max_output_tokens"
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
        kind="sql",
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
        name="successor-over-the-ceiling-only-refused",
        clauses=("transmission-05", "ceiling-06"),
        fault="A successor that does not fit under the ceiling is refused and ends nothing.",
        kind="logic",
        edits=(
            _reservations(
                _ROOM,
                f"""if exposure + delta > row.max_total_tokens and latest is not None:
        raise Refusal(RefusalCode.TOKEN_BUDGET_EXHAUSTED)
    {_ROOM}""",
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
        name="predecessor-must-have-been-answered",
        clauses=("ambiguity-01", "ambiguity-02"),
        fault="A successor of a released transmission is refused as unresolved.",
        kind="sql",
        edits=(
            _reservations(
                'latest[2] in ("reserved", "transmitted"):', 'latest[2] != "reconciled":'
            ),
        ),
    ),
    Mutant(
        name="charged-predecessor-unresolved",
        clauses=("ambiguity-04", "ambiguity-03"),
        fault="A successor of a conservatively charged transmission is refused as unresolved.",
        kind="sql",
        edits=(
            _reservations(
                'latest[2] in ("reserved", "transmitted"):',
                'latest[2] in ("reserved", "transmitted", "expired_conservatively"):',
            ),
        ),
    ),
    Mutant(
        name="sibling-of-a-transmission-in-flight-refused",
        clauses=("ambiguity-05",),
        fault="A group's next member is refused while its predecessor is transmitted.",
        kind="logic",
        edits=(
            _reservations(
                "if not authoritative and latest is not None and latest[2] in",
                'if latest is not None and latest[2] == "transmitted":\n'
                "        raise Refusal(RefusalCode.PREDECESSOR_UNRESOLVED)\n"
                "    if not authoritative and latest is not None and latest[2] in",
            ),
        ),
    ),
    Mutant(
        name="successor-of-a-reserved-transmission-granted",
        clauses=("ambiguity-06",),
        fault="A transmission that is still reserved does not keep its successor waiting.",
        kind="sql",
        edits=(
            _reservations(
                'latest[2] in ("reserved", "transmitted"):', 'latest[2] == "transmitted":'
            ),
        ),
    ),
    Mutant(
        name="ceiling-must-not-be-reached",
        clauses=("ceiling-01",),
        fault="A reservation that exactly fills the ceiling ends the journey.",
        kind="sql",
        edits=(_reservations(_ROOM, _ROOM.replace(" > ", " >= ")),),
    ),
    Mutant(
        name="charged-predecessor-frees-its-amount",
        clauses=("ceiling-02", "transmission-05"),
        fault="A successor asks the ceiling only for what its charged predecessor did not have.",
        kind="sql",
        edits=(
            NO_CEILING_CHECK,
            _reservations(
                _ROOM,
                """charged = tx.one(
        "SELECT reserved_tokens FROM reservations WHERE journey = ? AND invocation_id = ?"
        " AND idempotency = 'none' AND state = 'expired_conservatively'"
        " ORDER BY ordinal DESC LIMIT 1",
        (row.journey, request.invocation_id),
    )
    if charged is not None:
        exposure -= charged[0]
    """
                + _ROOM,
            ),
        ),
    ),
    Mutant(
        name="reservations-of-other-runs-not-counted",
        clauses=("ceiling-05",),
        fault="The ceiling counts what the same run has outstanding, not what others have.",
        kind="sql",
        edits=(
            NO_CEILING_CHECK,
            _reservations(
                _ROOM,
                """others = tx.one(
        "SELECT coalesce(sum(reserved_tokens), 0) FROM reservations WHERE journey = ?"
        " AND workflow_run_id <> ? AND falls_due_at IS NOT NULL AND idempotency = 'none'",
        (row.journey, request.workflow_run_id),
    )
    exposure -= (others or (0,))[0]
    """
                + _ROOM,
            ),
        ),
    ),
    Mutant(
        name="only-refused-while-capacity-may-come-free",
        clauses=("ceiling-06", "precedence-05"),
        fault="A reservation over the ceiling is refused, and the journey goes on while something"
        " is outstanding.",
        kind="logic",
        edits=(
            _reservations(
                _ROOM,
                f"""if exposure + delta > row.max_total_tokens and row.reserved_tokens:
        raise Refusal(RefusalCode.TOKEN_BUDGET_EXHAUSTED)
    {_ROOM}""",
            ),
        ),
    ),
    Mutant(
        name="lapsed-reservations-not-counted",
        clauses=("ceiling-07",),
        fault="The ceiling does not count reservations whose lease has lapsed.",
        kind="sql",
        edits=(
            NO_CEILING_CHECK,
            _reservations(
                _ROOM,
                """lapsed = tx.one(
        "SELECT coalesce(sum(reserved_tokens), 0) FROM reservations WHERE journey = ?"
        " AND state = 'reserved' AND falls_due_at <= ? AND idempotency = 'none'",
        (row.journey, tx.now),
    )
    exposure -= (lapsed or (0,))[0]
    """
                + _ROOM,
            ),
        ),
    ),
    Mutant(
        name="amount-cut-to-the-ceiling",
        clauses=("ceiling-08", "ceiling-01"),
        fault="An amount above max_total_tokens is cut to it.",
        kind="logic",
        edits=(
            _reservations(
                _AMOUNT,
                f"""{_AMOUNT}
    if request.estimated_prompt_tokens < row.max_total_tokens:
        amount = min(amount, row.max_total_tokens)""",
            ),
        ),
    ),
    Mutant(
        name="absent-estimate-coalesced-to-zero",
        clauses=("ceiling-09", "transmission-03"),
        fault="An absent prompt bound is taken for 0.",
        kind="logic",
        edits=(
            _reservations(
                _ABSENT,
                f"""if request.estimated_prompt_tokens is None:
        from dataclasses import replace
        request = replace(request, estimated_prompt_tokens=0)
    {_ABSENT}""",
            ),
        ),
    ),
    Mutant(
        name="absent-output-refused-without-an-end",
        clauses=("ceiling-09",),
        fault="A reservation without a maximum output is refused, and the journey goes on.",
        kind="logic",
        edits=(
            _reservations(
                _ABSENT,
                f"""if request.max_output_tokens is None:
        raise Refusal(RefusalCode.TOKEN_RESERVATION_UNAVAILABLE)
    {_ABSENT}""",
            ),
        ),
    ),
    Mutant(
        name="refused-reservation-left-behind",
        clauses=("precedence-05", "precedence-09"),
        fault="A reservation is written before the ceiling is looked at, and the refusal commits"
        " it.",
        kind="transaction",
        edits=(
            _reservations(
                _ROOM,
                f"""{_ROOM}
        until = after(tx.now, request.lease_milliseconds)
        tx.connection.execute(
            _GRANT,
            (
                *(row.journey, row.reservations + 1, request.workflow_run_id),
                *(request.invocation_id, request.transmission_id, idempotency),
                *(request.estimated_prompt_tokens, amount, request.fencing_token),
                *(request.lease_milliseconds, until, until, tx.now, tx.next_version),
            ),
        )
        tx.change(
            "reservations = reservations + 1, reserved_tokens = reserved_tokens + ?,"
            " unsettled_reservations = unsettled_reservations + 1",
            (delta,),
        )""",
            ),
        ),
    ),
    Mutant(
        name="estimate-counted-once-for-each-invocation",
        clauses=("usage-01", "transmission-04"),
        fault="The prompt estimate of a retry does not count.",
        kind="sql",
        edits=(
            _reservations(
                "_claim(tx, request.estimated_prompt_tokens, delta,",
                "_claim(tx, 0 if latest is not None else request.estimated_prompt_tokens, delta,",
            ),
        ),
    ),
    Mutant(
        name="estimates-beyond-the-bound",
        clauses=("usage-01", "policy-10"),
        fault="The sum of prompt estimates does not stop at 2**53-1.",
        kind="sql",
        edits=(
            _reservations(
                "estimated_prompt_tokens = min(estimated_prompt_tokens + ?, ?)",
                "estimated_prompt_tokens = max(estimated_prompt_tokens + ?, ? * 0)",
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
