"""Operations of the reservation boundary: every physical transmission is covered before it may
leave, under one atomic ceiling."""

from wayproof.model.journey.counters import claimed, exhausted
from wayproof.model.journey.guards import (
    active_run,
    answer,
    fenced,
    find_run,
    refuse,
    refuse_ended,
    stopped,
)
from wayproof.model.journey.lifecycle import end_failed, end_over_budget, later
from wayproof.model.journey.state import State, Terms, Transmission
from wayproof.model.journey.totals import (
    OPEN,
    find_transmission,
    is_grouped,
    with_reservation,
    with_transmissions,
)
from wayproof.model.journey.transition import Transition, realises
from wayproof.spec.journey.constraints import from_milliseconds
from wayproof.spec.journey.records import (
    LeaseExtended,
    ReservationGranted,
    TransmissionReading,
)
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.requests import (
    RenewReservationRequest,
    ReserveRequest,
    TransmitRequest,
)
from wayproof.spec.journey.vocabulary import Counter, ReservationState, TerminalReason


def reading(transmission: Transmission) -> TransmissionReading:
    """How a transmission stands."""
    return TransmissionReading(
        transmission_id=transmission.transmission_id,
        state=transmission.state,
        actual_tokens=transmission.actual_tokens,
    )


@realises({"refused.unknown_transmission": "precedence-10"})
def known_transmission(state: State, transmission_id: str) -> Transmission | Transition:
    """The transmission of that id, or the refusal."""
    transmission = find_transmission(state, transmission_id)
    if transmission is None:
        return refuse(state, RefusalCode.UNKNOWN_TRANSMISSION, "refused.unknown_transmission")
    return transmission


@realises(
    {
        "reserve.replayed": "reservation-13",
        "reserve.transmission_conflict": "reservation-14",
        "reserve.invocation_conflict": "identity-05 group-08",
    }
)
def known_reservation(state: State, request: ReserveRequest) -> Transition | None:
    """A known transmission answers its recorded grant and never reserves twice; other inputs,
    or an invocation of another run or idempotency, are a conflict."""
    transmission = find_transmission(state, request.transmission_id)
    if transmission is not None:
        if _same_inputs(transmission, request):
            return answer(state, _grant(transmission), "reserve.replayed")
        label = "reserve.transmission_conflict"
        return refuse(state, RefusalCode.OPERATION_CONFLICT, label)
    for sibling in state.transmissions:
        if sibling.invocation_id == request.invocation_id and (
            sibling.workflow_run_id != request.workflow_run_id
            or sibling.idempotency is not request.idempotency
        ):
            label = "reserve.invocation_conflict"
            return refuse(state, RefusalCode.OPERATION_CONFLICT, label)
    return None


def _same_inputs(transmission: Transmission, request: ReserveRequest) -> bool:
    return (
        request.max_output_tokens is not None
        and transmission.workflow_run_id == request.workflow_run_id
        and transmission.invocation_id == request.invocation_id
        and transmission.idempotency is request.idempotency
        and transmission.estimated_prompt_tokens == request.estimated_prompt_tokens
        and transmission.reserved_tokens
        == request.estimated_prompt_tokens + request.max_output_tokens
        and transmission.lease_milliseconds == request.lease_milliseconds
    )


def _grant(transmission: Transmission) -> ReservationGranted:
    return ReservationGranted(
        transmission_id=transmission.transmission_id,
        reserved_tokens=transmission.reserved_tokens,
    )


@realises(
    {
        "reserve.granted": (
            "reservation-01 reservation-02 ceiling-01 ceiling-05 ceiling-08 usage-01 "
            "transmission-06 counter-13"
        ),
        "reserve.successor_granted": (
            "ambiguity-01 ambiguity-02 ambiguity-03 ambiguity-04 ambiguity-05 counter-13 "
            "group-02 transmission-05 ceiling-02"
        ),
        "reserve.predecessor_unresolved": "ambiguity-06 precedence-11",
        "reserve.unavailable": "ceiling-09",
        "reserve.over_the_ceiling": (
            "ceiling-01 ceiling-06 ceiling-07 precedence-05 precedence-06 transmission-05 "
            "precedence-09"
        ),
    }
)
def reserve(terms: Terms, state: State, request: ReserveRequest, now: int) -> Transition:
    """Reserve the conservative amount of one transmission, or end the journey.

    ::

        reserve A 6 of 10 ──┬── reserve B 6 of 10 ──> budget_exceeded: A's 6 still count
                            └── even if A is released a moment later
    """
    known = known_reservation(state, request)
    if known is not None:
        return known
    run = find_run(state, request.workflow_run_id)
    if isinstance(run, Transition):
        return run
    refused = fenced(state, request.fencing_token, now)
    if refused is not None:
        return refused
    passed = stopped(terms, state, now)
    if isinstance(passed, Transition):
        return passed
    finished = active_run(state, run)
    if finished is not None:
        return finished
    earlier = [t for t in state.transmissions if t.invocation_id == request.invocation_id]
    if any(t.state in OPEN and not is_grouped(t) for t in earlier):
        label = "reserve.predecessor_unresolved"
        return refuse(state, RefusalCode.PREDECESSOR_UNRESOLVED, label)
    if request.estimated_prompt_tokens is None or request.max_output_tokens is None:
        reason = TerminalReason.TOKEN_RESERVATION_UNAVAILABLE
        ended = end_failed(terms, state, now, reason)
        return refuse_ended(terms, ended, RefusalCode(reason), "reserve.unavailable")
    added = Transmission(
        transmission_id=request.transmission_id,
        invocation_id=request.invocation_id,
        workflow_run_id=request.workflow_run_id,
        idempotency=request.idempotency,
        estimated_prompt_tokens=request.estimated_prompt_tokens,
        reserved_tokens=request.estimated_prompt_tokens + request.max_output_tokens,
        lease_milliseconds=request.lease_milliseconds,
        fencing_token=request.fencing_token,
        lease_expires_at=later(now, request.lease_milliseconds),
        created_at=now,
        created_version=state.record_version + 1,
    )
    reserved = with_reservation(state, added)
    if reserved.totals.exposure > terms.max_total_tokens:
        reason = TerminalReason.TOKEN_BUDGET_EXHAUSTED
        ended = end_over_budget(terms, state, now, reason)
        return refuse_ended(terms, ended, RefusalCode(reason), "reserve.over_the_ceiling")
    if not earlier:
        return answer(reserved, _grant(added), "reserve.granted")
    over = exhausted(terms, state, now, {Counter.PROVIDER_RETRY_ATTEMPTS: 1})
    if over is not None:
        return over
    reserved = claimed(reserved, [Counter.PROVIDER_RETRY_ATTEMPTS])
    return answer(reserved, _grant(added), "reserve.successor_granted")


@realises({"refused.not_the_reservations_owner": "reservation-17"})
def foreign_token(state: State, transmission: Transmission, token: int) -> Transition | None:
    """A token other than the one under which the transmission was reserved is refused."""
    if transmission.fencing_token == token:
        return None
    return refuse(state, RefusalCode.FENCED, "refused.not_the_reservations_owner")


@realises(
    {
        "transmit.transmitted": "reservation-03 reservation-18",
        "transmit.not_reserved": "reservation-04 reservation-09 reservation-12",
        "transmit.lease_expired": "reservation-16",
    }
)
def transmit(terms: Terms, state: State, request: TransmitRequest, now: int) -> Transition:
    """Make one transmission durable; it is granted once, and only its grant lets the request
    leave the adapter."""
    transmission = known_transmission(state, request.transmission_id)
    if isinstance(transmission, Transition):
        return transmission
    refused = fenced(state, request.fencing_token, now) or foreign_token(
        state, transmission, request.fencing_token
    )
    if refused is not None:
        return refused
    passed = stopped(terms, state, now)
    if isinstance(passed, Transition):
        return passed
    run = find_run(state, transmission.workflow_run_id)
    assert not isinstance(run, Transition)
    finished = active_run(state, run)
    if finished is not None:
        return finished
    if transmission.state is not ReservationState.RESERVED:
        return refuse(state, RefusalCode.TRANSMISSION_NOT_RESERVED, "transmit.not_reserved")
    if now >= transmission.lease_expires_at:
        return refuse(state, RefusalCode.RESERVATION_LEASE_EXPIRED, "transmit.lease_expired")
    transmission = transmission._replace(state=ReservationState.TRANSMITTED)
    state = with_transmissions(state, [transmission])
    return answer(state, reading(transmission), "transmit.transmitted")


@realises(
    {
        "renew_reservation.renewed": "reservation-18",
        "renew_reservation.closed": "reservation-12",
        "renew_reservation.lease_expired": "reservation-18",
    }
)
def renew_reservation(
    terms: Terms, state: State, request: RenewReservationRequest, now: int
) -> Transition:
    """Extend a reservation's lease while its call is in flight; never shorten it."""
    transmission = known_transmission(state, request.transmission_id)
    if isinstance(transmission, Transition):
        return transmission
    refused = fenced(state, request.fencing_token, now) or foreign_token(
        state, transmission, request.fencing_token
    )
    if refused is not None:
        return refused
    passed = stopped(terms, state, now)
    if isinstance(passed, Transition):
        return passed
    if transmission.state not in OPEN:
        return refuse(state, RefusalCode.TRANSMISSION_CLOSED, "renew_reservation.closed")
    if now >= transmission.lease_expires_at:
        label = "renew_reservation.lease_expired"
        return refuse(state, RefusalCode.RESERVATION_LEASE_EXPIRED, label)
    expires_at = max(transmission.lease_expires_at, later(now, request.lease_milliseconds))
    state = with_transmissions(state, [transmission._replace(lease_expires_at=expires_at)])
    reply = LeaseExtended(lease_expires_at=from_milliseconds(expires_at))
    return answer(state, reply, "renew_reservation.renewed")
