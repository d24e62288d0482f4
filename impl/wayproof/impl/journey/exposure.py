"""What reservations count for in the journey's token totals, and how they change state.

A group is one transmission, or all transmissions of one invocation that is authoritatively
idempotent. Its exposure is found by looking up the greatest member in each state, never by going
through its members.
"""

from typing import Final, NamedTuple

from wayproof.impl.journey.rows import ReservationRow
from wayproof.impl.journey.transaction import Transaction
from wayproof.spec.journey.vocabulary import ReservationState

_UNSETTLED: Final = frozenset({"reserved", "transmitted", "expired_conservatively"})

_GREATEST: Final = """
    (SELECT max({amount}) FROM reservations INDEXED BY group_members
    WHERE journey = ?1 AND invocation_id = ?2 AND idempotency = 'authoritative' AND {members})"""
_GREATEST_MEMBERS: Final = "SELECT" + ",".join(
    _GREATEST.format(amount=amount, members=members)
    for amount, members in (
        ("actual_tokens", "state = 'reconciled'"),
        ("reserved_tokens", "state = 'expired_conservatively' AND actual_tokens IS NULL"),
        ("reserved_tokens", "state = 'transmitted' AND actual_tokens IS NULL"),
        ("reserved_tokens", "state = 'reserved' AND actual_tokens IS NULL"),
    )
)


class Exposure(NamedTuple):
    """What one group adds to the journey's reconciled, conservative and outstanding totals."""

    reconciled: int
    conservative: int
    outstanding: int

    @property
    def total(self) -> int:
        """The group's exposure: the greatest amount that any of its members stands for."""
        return sum(self)


NOTHING: Final = Exposure(0, 0, 0)


def in_group(reservation: ReservationRow) -> bool:
    """Whether its provider promises at most one execution of all its invocation's
    transmissions."""
    return reservation.idempotency == "authoritative"


def group_exposure(tx: Transaction, invocation_id: str) -> Exposure:
    """The exposure of an authoritative group."""
    reconciled, expired, transmitted, reserved = _greatest_members(tx, invocation_id)
    committed = max(reconciled, expired)
    return Exposure(
        reconciled, committed - reconciled, max(committed, transmitted, reserved) - committed
    )


def exposure_of(tx: Transaction, reservation: ReservationRow) -> Exposure:
    """The exposure of the group that a reservation belongs to."""
    if in_group(reservation):
        return group_exposure(tx, reservation.invocation_id)
    match reservation.state:
        case "reconciled":
            return Exposure(reservation.actual_tokens or 0, 0, 0)
        case "expired_conservatively":
            return Exposure(0, reservation.reserved_tokens, 0)
        case "reserved" | "transmitted":
            return Exposure(0, 0, reservation.reserved_tokens)
    return NOTHING


def exposure_once_answered(tx: Transaction, reservation: ReservationRow, usage: int) -> int:
    """What the group of a transmission will stand for once positive usage has reconciled it:
    no member is left transmitted or conservatively expired then."""
    if not in_group(reservation):
        return usage
    reconciled, _, _, reserved = _greatest_members(tx, reservation.invocation_id)
    return max(usage, reconciled, reserved)


def transmit(tx: Transaction, reservation: ReservationRow) -> ReservationRow:
    """Make a reservation transmitted. It stands for the same amount as before."""
    tx.set_once(
        "UPDATE reservations SET state = 'transmitted'"
        " WHERE journey = ? AND ordinal = ? AND state = 'reserved'",
        (tx.row.journey, reservation.ordinal),
    )
    tx.change(
        "transmitted_outside_groups = transmitted_outside_groups + ?",
        (0 if in_group(reservation) else 1,),
    )
    return reservation._replace(state=ReservationState.TRANSMITTED.value)


def close(
    tx: Transaction,
    reservation: ReservationRow,
    state: ReservationState,
    *,
    actual_tokens: int | None = None,
    settles_siblings: bool = False,
) -> ReservationRow:
    """Change a reservation's state and, in the same commit, the journey's totals.

    ``actual_tokens`` is the usage that reconciles it; with ``settles_siblings`` it reconciles
    every other transmitted or conservatively expired member of its group as well.
    """
    before = exposure_of(tx, reservation)
    tx.set_once(
        "UPDATE reservations SET state = ?, actual_tokens = ?, falls_due_at = NULL"
        " WHERE journey = ? AND ordinal = ? AND state = ?",
        (state.value, actual_tokens, tx.row.journey, reservation.ordinal, reservation.state),
    )
    settled = 0 if state.value in _UNSETTLED else 1
    if settles_siblings:
        settled += _settle_siblings(tx, reservation, actual_tokens)
    closed = reservation._replace(state=state.value, actual_tokens=actual_tokens)
    now = exposure_of(tx, closed)
    was_ambiguous = reservation.state == "transmitted" and not in_group(reservation)
    tx.change(
        "reconciled_tokens = reconciled_tokens + ?,"
        " conservatively_committed_tokens = conservatively_committed_tokens + ?,"
        " reserved_tokens = reserved_tokens + ?,"
        " observed_actual_tokens = observed_actual_tokens + ?,"
        " unsettled_reservations = unsettled_reservations - ?,"
        " transmitted_outside_groups = transmitted_outside_groups - ?",
        (
            now.reconciled - before.reconciled,
            now.conservative - before.conservative,
            now.outstanding - before.outstanding,
            actual_tokens or 0,
            settled,
            1 if was_ambiguous else 0,
        ),
    )
    return closed


def _greatest_members(tx: Transaction, invocation_id: str) -> tuple[int, int, int, int]:
    """The greatest reconciled, expired, transmitted and reserved amount of a group, or 0."""
    found = tx.one(_GREATEST_MEMBERS, (tx.row.journey, invocation_id)) or (None,) * 4
    reconciled, expired, transmitted, reserved = (amount or 0 for amount in found)
    return reconciled, expired, transmitted, reserved


def _settle_siblings(
    tx: Transaction, reservation: ReservationRow, actual_tokens: int | None
) -> int:
    return tx.connection.execute(
        "UPDATE reservations INDEXED BY group_members"
        " SET state = 'reconciled', actual_tokens = ?, falls_due_at = NULL"
        " WHERE journey = ? AND invocation_id = ? AND idempotency = 'authoritative'"
        " AND state IN ('transmitted', 'expired_conservatively')",
        (actual_tokens, tx.row.journey, reservation.invocation_id),
    ).rowcount
