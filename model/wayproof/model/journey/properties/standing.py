"""How a reservation stands after a step, and what evidence a report leaves of it."""

from wayproof.model.journey.properties.contract import JourneyStep
from wayproof.model.journey.properties.situation import (
    accounting_is_open,
    named,
    token_is_right,
    usage_of,
)
from wayproof.model.journey.state import Transmission
from wayproof.spec.journey.records import TransmissionReading
from wayproof.spec.journey.requests import ReportResponseRequest, ReportUnsentRequest
from wayproof.spec.journey.vocabulary import DiscrepancyKind, ReservationState

RESERVED = ReservationState.RESERVED
TRANSMITTED = ReservationState.TRANSMITTED
RECONCILED = ReservationState.RECONCILED
RELEASED = ReservationState.RELEASED_UNTRANSMITTED
EXPIRED = ReservationState.EXPIRED_CONSERVATIVELY


def same_but_state(before: Transmission, after: Transmission | None, to: ReservationState) -> bool:
    """Whether a record changed its state to ``to`` and nothing else."""
    return after == before._replace(state=to)


def reads(step: JourneyStep, record: Transmission | None) -> bool:
    """Whether the reply says how that record stands."""
    return record is not None and step.answer == TransmissionReading(
        transmission_id=record.transmission_id,
        state=record.state,
        actual_tokens=record.actual_tokens,
    )


def lapsed(step: JourneyStep, *states: ReservationState) -> list[Transmission]:
    """Before a sweep, the records in these states whose lease has expired."""
    if step.request is not None:
        return []
    return [
        record
        for record in step.before.transmissions
        if record.state in states and step.now >= record.lease_expires_at
    ]


def left_evidence(
    step: JourneyStep, record: Transmission, kind: DiscrepancyKind, reported: int | None
) -> bool:
    """Whether a record has evidence of that kind, and of that number if it is new."""
    for known in step.before.discrepancies:
        if (known.transmission_id, known.kind) == (record.transmission_id, kind):
            return known in step.after.discrepancies
    return any(
        (new.transmission_id, new.kind, new.reported_tokens, new.recorded_at)
        == (record.transmission_id, kind, reported, step.now)
        for new in step.after.discrepancies
    )


def evidence_of(step: JourneyStep) -> tuple[DiscrepancyKind, int | None] | None:
    """The kind and number of the evidence that a report leaves, unless the record has one of
    that kind already; None if it leaves none."""
    record = named(step)
    if isinstance(step.request, ReportUnsentRequest) and token_is_right(step):
        usage: int | None = 0
    elif isinstance(step.request, ReportResponseRequest):
        usage = usage_of(step)
    else:
        return None
    if record is None:
        return None
    if usage is None:
        return DiscrepancyKind.MALFORMED_USAGE, None
    if record.state in (RESERVED, RELEASED):
        if isinstance(step.request, ReportUnsentRequest):
            return None
        return DiscrepancyKind.USAGE_OF_UNSENT, usage
    if record.state is RECONCILED:
        if usage == record.actual_tokens:
            return None
        return DiscrepancyKind.CONFLICTING_USAGE, usage
    if not accounting_is_open(step):
        return DiscrepancyKind.LATE_USAGE, usage
    if usage > record.reserved_tokens:
        return DiscrepancyKind.USAGE_OVER_RESERVATION, usage
    return None
