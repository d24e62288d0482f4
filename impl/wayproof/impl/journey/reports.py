"""Evidence about transmissions: unsent, answered, ambiguous. Accepted in every state."""

from typing import Any

from wayproof.impl.journey.ending import checkpoint, end, settle_if_done
from wayproof.impl.journey.exposure import (
    close,
    exposure_of,
    exposure_once_answered,
    in_group,
)
from wayproof.impl.journey.reservations import known_transmission, reading_of
from wayproof.impl.journey.rows import ReservationRow
from wayproof.impl.journey.transaction import Transaction
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import (
    ReportAmbiguityRequest,
    ReportResponseRequest,
    ReportUnsentRequest,
)
from wayproof.spec.journey.vocabulary import (
    MAXIMUM_INTEGER,
    DiscrepancyKind,
    LifecycleState,
    ReservationState,
    TerminalReason,
)


def report_unsent(tx: Transaction, request: ReportUnsentRequest) -> Any:
    """Nothing left the adapter: what is reserved is released, what is charged becomes zero."""
    reservation = known_transmission(tx, request.transmission_id)
    if request.fencing_token != reservation.fencing_token:
        raise Refusal(RefusalCode.FENCED)
    reservation = _after_checkpoint(tx, reservation)
    if reservation.state == "reserved":
        reservation = close(tx, reservation, ReservationState.RELEASED_UNTRANSMITTED)
    elif _awaits_usage(tx, reservation):
        reservation = close(tx, reservation, ReservationState.RECONCILED, actual_tokens=0)
    elif reservation.state == "expired_conservatively":
        _record(tx, reservation, DiscrepancyKind.LATE_USAGE, 0)
    elif reservation.state == "reconciled" and reservation.actual_tokens != 0:
        _record(tx, reservation, DiscrepancyKind.CONFLICTING_USAGE, 0)
    _settle(tx)
    return reading_of(reservation)


def report_response(tx: Transaction, request: ReportResponseRequest) -> Any:
    """The provider answered, with whatever usage it said."""
    reservation = known_transmission(tx, request.transmission_id)
    reservation = _after_checkpoint(tx, reservation)
    usage: int | None = request.usage  # Decoding has reduced it: None is malformed.
    if _awaits_usage(tx, reservation):
        if usage is None or not _fits(tx, reservation, usage):
            reservation = _charge(tx, reservation)
        else:
            reservation = _reconcile(tx, reservation, usage)
    elif usage is None:
        _record(tx, reservation, DiscrepancyKind.MALFORMED_USAGE, None)
    elif reservation.state in ("reserved", "released_untransmitted"):
        _record(tx, reservation, DiscrepancyKind.USAGE_OF_UNSENT, usage)
    elif reservation.state == "expired_conservatively":
        _record(tx, reservation, DiscrepancyKind.LATE_USAGE, usage)
    elif usage != reservation.actual_tokens:
        _record(tx, reservation, DiscrepancyKind.CONFLICTING_USAGE, usage)
    return reading_of(reservation)


def report_ambiguity(tx: Transaction, request: ReportAmbiguityRequest) -> Any:
    """Nobody can know: what is in flight is charged, and outside a group that ends the journey."""
    reservation = known_transmission(tx, request.transmission_id)
    reservation = _after_checkpoint(tx, reservation)
    if reservation.state == "transmitted":
        reservation = expire(tx, reservation)
    return reading_of(reservation)


def expire(tx: Transaction, reservation: ReservationRow) -> ReservationRow:
    """Charge what is in flight in full; outside a group a running journey fails by it."""
    expired = close(tx, reservation, ReservationState.EXPIRED_CONSERVATIVELY)
    if not in_group(reservation) and tx.row.lifecycle_state == "running":
        end(tx, LifecycleState.FAILED, TerminalReason.PROVIDER_TRANSMISSION_AMBIGUOUS)
    return expired


def _after_checkpoint(tx: Transaction, reservation: ReservationRow) -> ReservationRow:
    """The reservation as the checkpoint leaves it: accounting may have become final."""
    version = tx.version
    checkpoint(tx)
    if tx.version == version:
        return reservation
    return known_transmission(tx, reservation.transmission_id)


def _awaits_usage(tx: Transaction, reservation: ReservationRow) -> bool:
    if reservation.state == "expired_conservatively":
        return tx.row.accounting_status == "pending"
    return reservation.state == "transmitted"


def _fits(tx: Transaction, reservation: ReservationRow, usage: int) -> bool:
    """Whether the totals can hold the usage once it has replaced what its group counts for now.

    A zero always fits: it takes something away.
    """
    if usage == 0:
        return True
    row = tx.row
    counted = row.reconciled_tokens + row.conservatively_committed_tokens + row.reserved_tokens
    others = counted - exposure_of(tx, reservation).total
    exposure = others + exposure_once_answered(tx, reservation, usage)
    return max(exposure, row.observed_actual_tokens + usage) <= MAXIMUM_INTEGER


def _charge(tx: Transaction, reservation: ReservationRow) -> ReservationRow:
    """The response was terminal but its usage is unknown: the amount is charged, the journey goes
    on."""
    _record(tx, reservation, DiscrepancyKind.MALFORMED_USAGE, None)
    if reservation.state != "transmitted":
        return reservation
    return close(tx, reservation, ReservationState.EXPIRED_CONSERVATIVELY)


def _reconcile(tx: Transaction, reservation: ReservationRow, usage: int) -> ReservationRow:
    overshoot = usage > reservation.reserved_tokens
    if overshoot:
        _record(tx, reservation, DiscrepancyKind.USAGE_OVER_RESERVATION, usage)
    reconciled = close(
        tx,
        reservation,
        ReservationState.RECONCILED,
        actual_tokens=usage,
        settles_siblings=usage > 0 and in_group(reservation),
    )
    if overshoot and tx.row.lifecycle_state == "running":
        end(tx, LifecycleState.BUDGET_EXCEEDED, TerminalReason.TOKEN_BUDGET_EXHAUSTED)
    _settle(tx)
    return reconciled


def _settle(tx: Transaction) -> None:
    if tx.row.terminal_reason is not None:
        tx.reload()
        settle_if_done(tx)


def _record(
    tx: Transaction, reservation: ReservationRow, kind: DiscrepancyKind, reported: int | None
) -> None:
    """Keep a report as evidence, the first of its kind for this transmission."""
    recorded = tx.connection.execute(
        "INSERT INTO discrepancies"
        " (journey, ordinal, transmission_id, kind, reported_tokens, recorded_at)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (journey, transmission_id, kind) DO NOTHING",
        (
            *(tx.row.journey, tx.row.discrepancies + 1, reservation.transmission_id),
            *(kind.value, reported, tx.now),
        ),
    ).rowcount
    if recorded:
        tx.change("discrepancies = discrepancies + 1")
