"""Mutants that count the members of a group, or its siblings, wrongly."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import SAME_SCOPE

_DELTA: Final = "delta = max(0, amount - group_exposure(tx, request.invocation_id).total)"
_SIBLINGS: Final = "AND state IN ('transmitted', 'expired_conservatively')"
_KNOWN: Final = "latest[:2] != (request.workflow_run_id, idempotency)"


def _exposure(find: str, replace: str) -> Edit:
    return Edit(file="exposure.py", find=find, replace=replace)


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="outstanding-members-summed",
        clauses=("group-01", "usage-02"),
        fault="A transmitted and a reserved member of a group stand for their sum.",
        kind="logic",
        edits=(
            _exposure(
                "max(committed, transmitted, reserved) - committed",
                "max(committed, transmitted + reserved) - committed",
            ),
        ),
    ),
    Mutant(
        name="released-member-still-stands-for-its-amount",
        clauses=("group-01", "reservation-05"),
        fault="A released member of a group counts like a reserved one.",
        kind="sql",
        edits=(
            _exposure(
                "state = 'reserved' AND actual_tokens IS NULL",
                "state IN ('reserved', 'released_untransmitted') AND actual_tokens IS NULL",
            ),
        ),
    ),
    Mutant(
        name="increase-over-what-is-outstanding",
        clauses=("group-02",),
        fault="A new member of a group asks for its amount beyond what the group has outstanding.",
        kind="logic",
        edits=(
            Edit(
                file="reservations.py",
                find=_DELTA,
                replace=_DELTA.replace(".total", ".outstanding"),
            ),
        ),
    ),
    Mutant(
        name="member-asks-for-its-full-amount",
        clauses=("group-02",),
        fault="A new member of a group asks the ceiling for its full amount.",
        kind="logic",
        edits=(
            Edit(
                file="reservations.py",
                find="if exposure + delta > row.max_total_tokens:",
                replace="if exposure + amount > row.max_total_tokens:",
            ),
        ),
    ),
    Mutant(
        name="expired-members-summed",
        clauses=("group-03", "group-01"),
        fault="A group whose members expire conservatively is charged for each of them.",
        kind="sql",
        edits=(
            _exposure(
                "    committed = max(reconciled, expired)",
                """    summed = tx.one(
        "SELECT coalesce(sum(reserved_tokens), 0) FROM reservations WHERE journey = ?"
        " AND invocation_id = ? AND state = 'expired_conservatively'",
        (tx.row.journey, invocation_id),
    )
    expired = (summed or (0,))[0]
    committed = max(reconciled, expired)""",
            ),
        ),
    ),
    Mutant(
        name="conservative-before-reconciled",
        clauses=("group-04",),
        fault="A group's exposure counts first as conservative, then as reconciled.",
        kind="logic",
        edits=(
            _exposure(
                "reconciled, committed - reconciled, max(",
                "committed - expired, expired, max(",
            ),
        ),
    ),
    Mutant(
        name="expired-siblings-left",
        clauses=("group-05", "reservation-08"),
        fault="Positive usage settles transmitted siblings, not conservatively expired ones.",
        kind="sql",
        edits=(_exposure(_SIBLINGS, "AND state IN ('transmitted')"),),
    ),
    Mutant(
        name="reserved-siblings-settled",
        clauses=("group-05", "reservation-11"),
        fault="Positive usage settles siblings that were never transmitted as well.",
        kind="sql",
        edits=(
            _exposure(
                _SIBLINGS, "AND state IN ('reserved', 'transmitted', 'expired_conservatively')"
            ),
        ),
    ),
    Mutant(
        name="number-of-settled-siblings-ignored",
        clauses=("group-05", "settle-04"),
        fault="Siblings that a response settles still count as unsettled.",
        kind="sql",
        edits=(
            _exposure(
                "settled += _settle_siblings(tx, reservation, actual_tokens)",
                "_settle_siblings(tx, reservation, actual_tokens)",
            ),
        ),
    ),
    Mutant(
        name="zero-settles-siblings",
        clauses=("group-06", "ambiguity-02"),
        fault="An explicit zero settles the whole group with zero.",
        kind="logic",
        edits=(
            Edit(
                file="reports.py",
                find="settles_siblings=usage > 0 and in_group(reservation)",
                replace="settles_siblings=in_group(reservation)",
            ),
        ),
    ),
    Mutant(
        name="unsent-settles-siblings",
        clauses=("group-06", "reservation-10"),
        fault="Proof that one member was not sent settles the whole group with zero.",
        kind="logic",
        edits=(
            Edit(
                file="reports.py",
                find="ReservationState.RECONCILED, actual_tokens=0)",
                replace="ReservationState.RECONCILED, actual_tokens=0,"
                " settles_siblings=in_group(reservation))",
            ),
        ),
    ),
    Mutant(
        name="retry-settles-its-predecessors",
        clauses=("group-07", "ambiguity-10"),
        fault="A response without an idempotency contract settles the charged predecessors too.",
        kind="sql",
        edits=(
            Edit(
                file="reports.py",
                find="settles_siblings=usage > 0 and in_group(reservation)",
                replace="settles_siblings=usage > 0",
            ),
            _exposure("UPDATE reservations INDEXED BY group_members", "UPDATE reservations"),
            _exposure(
                "AND invocation_id = ? AND idempotency = 'authoritative'\"\n"
                "        \" AND state IN ('trans",
                'AND invocation_id = ?"\n        " AND state IN (\'trans',
            ),
        ),
    ),
    Mutant(
        name="groups-joined-across-journeys",
        clauses=("group-08", "identity-05"),
        fault="A response settles members of the same invocation_id in other journeys.",
        kind="sql",
        edits=(
            _exposure(
                "WHERE journey = ? AND invocation_id = ? AND idempotency = 'authoritative'\"",
                f"WHERE journey IN ({SAME_SCOPE}) AND invocation_id = ?"
                " AND idempotency = 'authoritative'\"",
            ),
        ),
    ),
    Mutant(
        name="invocation-changes-its-contract",
        clauses=("group-08", "identity-05"),
        fault="A known invocation may be continued with another idempotency.",
        kind="logic",
        edits=(
            Edit(
                file="reservations.py", find=_KNOWN, replace="latest[0] != request.workflow_run_id"
            ),
        ),
    ),
    Mutant(
        name="invocation-changes-its-run",
        clauses=("identity-05", "reservation-14"),
        fault="A known invocation may be continued by another run.",
        kind="logic",
        edits=(Edit(file="reservations.py", find=_KNOWN, replace="latest[1] != idempotency"),),
    ),
    Mutant(
        name="lapsed-member-ends-the-journey",
        clauses=("group-09",),
        fault="The lease expiry of a transmitted group member fails the journey.",
        kind="logic",
        edits=(
            Edit(
                file="sweeps.py",
                find="            expire(tx, reservation)",
                replace="""            expire(tx, reservation)
            if tx.row.lifecycle_state == "running":
                from wayproof.impl.journey.ending import end
                from wayproof.spec.journey.vocabulary import LifecycleState, TerminalReason
                end(tx, LifecycleState.FAILED, TerminalReason.PROVIDER_TRANSMISSION_AMBIGUOUS)""",
            ),
        ),
    ),
    Mutant(
        name="siblings-observed-too",
        clauses=("usage-03", "group-05"),
        fault="observed_actual_tokens counts the usage once for each sibling that it settles.",
        kind="sql",
        edits=(
            _exposure(
                "            actual_tokens or 0,\n",
                "            (actual_tokens or 0) * max(1, settled),\n",
            ),
        ),
    ),
)
