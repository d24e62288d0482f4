"""Faults of granting reservations: predecessors, replays, identities and running sums."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

_PREDECESSOR: Final = (
    "    # Outside a group no transmission follows one that is open, so only the latest can be.\n"
    "    if not authoritative and latest is not None"
    ' and latest[2] in ("reserved", "transmitted"):\n'
    "        raise Refusal(RefusalCode.PREDECESSOR_UNRESOLVED)\n"
)
_UNAVAILABLE: Final = (
    "    if request.estimated_prompt_tokens is None or request.max_output_tokens is None:\n"
    "        end_and_refuse(tx, LifecycleState.FAILED,"
    " TerminalReason.TOKEN_RESERVATION_UNAVAILABLE)\n"
)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="predecessor-is-the-first-of-its-invocation",
        clauses=("ambiguity-06",),
        fault=(
            "Outside a group the first transmission is released and the second reserved; a third "
            "one of the same invocation is granted beside it."
        ),
        kind="sql",
        edits=(
            Edit(
                file="reservations.py",
                find="ORDER BY ordinal DESC LIMIT 1",
                replace="ORDER BY ordinal LIMIT 1",
            ),
        ),
    ),
    Mutant(
        name="no-estimate-before-unresolved-predecessor",
        clauses=("precedence-11", "ambiguity-06"),
        fault=(
            "While a transmission is in flight its successor is asked for without a maximum "
            "output: the journey fails instead of going on with predecessor_unresolved."
        ),
        kind="logic",
        edits=(
            Edit(
                file="reservations.py",
                find=_PREDECESSOR + _UNAVAILABLE,
                replace=_UNAVAILABLE + _PREDECESSOR,
            ),
        ),
    ),
    Mutant(
        name="released-invocation-may-change-its-run",
        clauses=("identity-05",),
        fault=(
            "The only transmission of an invocation is released; a new one of the same invocation "
            "under another run is granted instead of refused with operation_conflict."
        ),
        kind="logic",
        edits=(
            Edit(
                file="reservations.py",
                find=(
                    "    if latest is not None"
                    " and latest[:2] != (request.workflow_run_id, idempotency):\n"
                ),
                replace=(
                    "    is_open = latest is not None"
                    ' and latest[2] != "released_untransmitted"\n'
                    "    if is_open and latest[:2] != (request.workflow_run_id, idempotency):\n"
                ),
            ),
        ),
    ),
    Mutant(
        name="replayed-grant-compares-the-renewed-lease",
        clauses=("reservation-13", "idempotency-09"),
        fault=(
            "Reserve, renew the reservation's lease, repeat the reserve: it is refused with "
            "operation_conflict, because the lease is longer now than it was asked for."
        ),
        kind="logic",
        edits=(
            Edit(
                file="reservations.py",
                find="        known.lease_milliseconds,\n",
                replace="        known.lease_expires_at - known.created_at,\n",
            ),
        ),
    ),
    Mutant(
        name="prompt-estimates-summed-beyond-the-bound",
        clauses=("usage-01",),
        fault=(
            "Under the greatest ceiling, reserve an estimate of 2**53-2 with one token of output, "
            "release it and do the same again: estimated_prompt_tokens is shown above 2**53-1."
        ),
        kind="sql",
        edits=(
            Edit(
                file="reservations.py",
                find="estimated_prompt_tokens = min(estimated_prompt_tokens + ?, ?),",
                replace="estimated_prompt_tokens = estimated_prompt_tokens + ?,",
            ),
            Edit(
                file="reservations.py",
                find="        (delta, estimate, MAXIMUM_INTEGER),\n",
                replace="        (delta, estimate),\n",
            ),
        ),
    ),
)
