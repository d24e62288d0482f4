"""Mutants that let a transmission follow, or fit under the ceiling, when it does not."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import NO_CEILING_CHECK

_ROOM: Final = "if exposure + delta > row.max_total_tokens:"
_ABSENT: Final = "if request.estimated_prompt_tokens is None or request.max_output_tokens is None:"
_AMOUNT: Final = "amount = request.estimated_prompt_tokens + request.max_output_tokens"
_PREDECESSOR: Final = (
    'if not authoritative and latest is not None and latest[2] in ("reserved", "transmitted"):'
)


def _reservations(find: str, replace: str) -> Edit:
    return Edit(file="reservations.py", find=find, replace=replace)


MUTANTS: Final[tuple[Mutant, ...]] = (
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
        name="predecessor-must-have-been-answered",
        clauses=("ambiguity-01", "ambiguity-02"),
        fault="A successor of a released transmission is refused as unresolved.",
        kind="sql",
        edits=(
            _reservations(
                _PREDECESSOR,
                """if not authoritative and tx.one(
        "SELECT 1 FROM reservations WHERE journey = ? AND invocation_id = ?"
        " AND actual_tokens IS NULL AND state <> 'expired_conservatively'",
        (row.journey, request.invocation_id),
    ):""",
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
                _PREDECESSOR,
                """if not authoritative and tx.one(
        "SELECT 1 FROM reservations WHERE journey = ? AND invocation_id = ?"
        " AND actual_tokens IS NULL AND state <> 'released_untransmitted'",
        (row.journey, request.invocation_id),
    ):""",
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
                _PREDECESSOR,
                """if not authoritative and tx.one(
        "SELECT 1 FROM reservations WHERE journey = ? AND invocation_id = ?"
        " AND state = 'transmitted'",
        (row.journey, request.invocation_id),
    ):""",
            ),
        ),
    ),
    Mutant(
        name="ceiling-must-not-be-reached",
        clauses=("ceiling-01",),
        fault="A reservation that exactly fills the ceiling ends the journey.",
        kind="sql",
        edits=(
            _reservations(
                _ROOM,
                """if not tx.one(
        "SELECT 1 FROM journeys WHERE journey = ? AND reconciled_tokens"
        " + conservatively_committed_tokens + reserved_tokens + ? < max_total_tokens",
        (row.journey, delta),
    ):""",
            ),
        ),
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
        clauses=("ceiling-01", "ceiling-05"),
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
)
