"""The reservation of physical transmissions: granted, transmitted, renewed."""

from typing import Any, Final

from wayproof.impl.journey.ending import after, end_and_refuse, require_going
from wayproof.impl.journey.exposure import group_exposure, transmit
from wayproof.impl.journey.identities import require_live
from wayproof.impl.journey.limits import claims, require_room
from wayproof.impl.journey.rows import ReservationRow
from wayproof.impl.journey.runs import known_run, require_active
from wayproof.impl.journey.transaction import Transaction
from wayproof.spec.journey.constraints import from_milliseconds
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.records import (
    LeaseExtended,
    ReservationGranted,
    TransmissionReading,
)
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import (
    RenewReservationRequest,
    ReserveRequest,
    TransmitRequest,
)
from wayproof.spec.journey.vocabulary import (
    MAXIMUM_INTEGER,
    Counter,
    Idempotency,
    LifecycleState,
    ReservationState,
    TerminalReason,
)

_LATEST_OF_INVOCATION: Final = (
    "SELECT workflow_run_id, idempotency, state FROM reservations INDEXED BY invocations"
    " WHERE journey = ? AND invocation_id = ? ORDER BY ordinal DESC LIMIT 1"
)
_GRANT: Final = (
    "INSERT INTO reservations (journey, ordinal, workflow_run_id, invocation_id,"
    " transmission_id, idempotency, state, estimated_prompt_tokens, reserved_tokens,"
    " fencing_token, lease_milliseconds, lease_expires_at, falls_due_at, created_at,"
    " created_version) VALUES (?, ?, ?, ?, ?, ?, 'reserved', ?, ?, ?, ?, ?, ?, ?, ?)"
)
_RETRY: Final = {Counter.PROVIDER_RETRY_ATTEMPTS: 1}


def reserve(tx: Transaction, request: ReserveRequest) -> Any:
    """Grant the conservative amount of one transmission, if the ceiling and the retries allow."""
    known = tx.reservation(request.transmission_id)
    if known is not None:
        return _granted_before(known, request)
    row = tx.row
    latest = tx.one(_LATEST_OF_INVOCATION, (row.journey, request.invocation_id))
    idempotency = request.idempotency.value
    if latest is not None and latest[:2] != (request.workflow_run_id, idempotency):
        raise Refusal(RefusalCode.OPERATION_CONFLICT)
    run = known_run(tx, request.workflow_run_id)
    require_live(tx, request.fencing_token)
    require_going(tx)
    require_active(run)
    authoritative = request.idempotency is Idempotency.AUTHORITATIVE
    # Outside a group no transmission follows one that is open, so only the latest can be.
    if not authoritative and latest is not None and latest[2] in ("reserved", "transmitted"):
        raise Refusal(RefusalCode.PREDECESSOR_UNRESOLVED)
    if request.estimated_prompt_tokens is None or request.max_output_tokens is None:
        end_and_refuse(tx, LifecycleState.FAILED, TerminalReason.TOKEN_RESERVATION_UNAVAILABLE)
    amount = request.estimated_prompt_tokens + request.max_output_tokens
    delta = amount
    if authoritative and latest is not None:
        delta = max(0, amount - group_exposure(tx, request.invocation_id).total)
    exposure = row.reconciled_tokens + row.conservatively_committed_tokens + row.reserved_tokens
    if exposure + delta > row.max_total_tokens:
        end_and_refuse(tx, LifecycleState.BUDGET_EXCEEDED, TerminalReason.TOKEN_BUDGET_EXHAUSTED)
    if latest is not None:
        require_room(tx, _RETRY)
    expires_at = after(tx.now, request.lease_milliseconds)
    _claim(tx, request.estimated_prompt_tokens, delta, is_retry=latest is not None)
    tx.set_once(
        _GRANT,
        (
            *(row.journey, row.reservations + 1, request.workflow_run_id, request.invocation_id),
            *(request.transmission_id, idempotency, request.estimated_prompt_tokens, amount),
            *(request.fencing_token, request.lease_milliseconds, expires_at, expires_at),
            *(tx.now, tx.next_version),
        ),
    )
    if row.due_at is None or expires_at < row.due_at:
        tx.note("due_at = ?", (expires_at,))
    return encode(
        ReservationGranted(transmission_id=request.transmission_id, reserved_tokens=amount)
    )


def transmit_reservation(tx: Transaction, request: TransmitRequest) -> Any:
    """Let one request leave, once."""
    reservation = known_transmission(tx, request.transmission_id)
    require_live(tx, request.fencing_token)
    if request.fencing_token != reservation.fencing_token:
        raise Refusal(RefusalCode.FENCED)
    require_going(tx)
    require_active(known_run(tx, reservation.workflow_run_id))
    if reservation.state != "reserved":
        raise Refusal(RefusalCode.TRANSMISSION_NOT_RESERVED)
    if tx.now >= reservation.lease_expires_at:
        raise Refusal(RefusalCode.RESERVATION_LEASE_EXPIRED)
    return reading_of(transmit(tx, reservation))


def renew_reservation(tx: Transaction, request: RenewReservationRequest) -> Any:
    """Extend a reservation's lease, never shorten it."""
    reservation = known_transmission(tx, request.transmission_id)
    require_live(tx, request.fencing_token)
    if request.fencing_token != reservation.fencing_token:
        raise Refusal(RefusalCode.FENCED)
    require_going(tx)
    if reservation.state not in ("reserved", "transmitted"):
        raise Refusal(RefusalCode.TRANSMISSION_CLOSED)
    held_until = reservation.lease_expires_at
    if tx.now >= held_until:
        raise Refusal(RefusalCode.RESERVATION_LEASE_EXPIRED)
    expires_at = max(held_until, after(tx.now, request.lease_milliseconds))
    if expires_at > held_until:
        tx.set_once(
            "UPDATE reservations SET lease_expires_at = ?, falls_due_at = ?"
            " WHERE journey = ? AND ordinal = ? AND falls_due_at IS NOT NULL",
            (expires_at, expires_at, tx.row.journey, reservation.ordinal),
        )
        tx.change("reservations = reservations")
    return encode(LeaseExtended(lease_expires_at=from_milliseconds(expires_at)))


def known_transmission(tx: Transaction, transmission_id: str) -> ReservationRow:
    """The reservation that a request names.

    Raises:
        Refusal: ``unknown_transmission``.
    """
    reservation = tx.reservation(transmission_id)
    if reservation is None:
        raise Refusal(RefusalCode.UNKNOWN_TRANSMISSION)
    return reservation


def reading_of(reservation: ReservationRow) -> Any:
    """How a transmission stands, as JSON."""
    return encode(
        TransmissionReading(
            transmission_id=reservation.transmission_id,
            state=ReservationState(reservation.state),
            actual_tokens=reservation.actual_tokens,
        )
    )


def _granted_before(known: ReservationRow, request: ReserveRequest) -> Any:
    estimate, most = request.estimated_prompt_tokens, request.max_output_tokens
    recorded = (
        *(known.workflow_run_id, known.invocation_id, known.idempotency),
        *(known.estimated_prompt_tokens, known.reserved_tokens - known.estimated_prompt_tokens),
        known.lease_milliseconds,
    )
    asked = (
        *(request.workflow_run_id, request.invocation_id, request.idempotency.value),
        *(estimate, most, request.lease_milliseconds),
    )
    if recorded != asked:
        raise Refusal(RefusalCode.OPERATION_CONFLICT)
    return encode(
        ReservationGranted(
            transmission_id=known.transmission_id, reserved_tokens=known.reserved_tokens
        )
    )


def _claim(tx: Transaction, estimate: int, delta: int, *, is_retry: bool) -> None:
    """Take the delta from the journey's budget, under its ceiling."""
    retry = f", {claims(_RETRY)}" if is_retry else ""
    tx.change(
        "reserved_tokens = reserved_tokens + ?,"
        " estimated_prompt_tokens = min(estimated_prompt_tokens + ?, ?),"
        " reservations = reservations + 1,"
        f" unsettled_reservations = unsettled_reservations + 1{retry}",
        (delta, estimate, MAXIMUM_INTEGER),
        guard=" AND lifecycle_state = 'running' AND reconciled_tokens"
        " + conservatively_committed_tokens + reserved_tokens + ? <= max_total_tokens",
        guard_values=(delta,),
    )
