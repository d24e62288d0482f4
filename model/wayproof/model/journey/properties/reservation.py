"""Contracts on the life of one reservation (clauses ``reservation-``)."""

from wayproof.model.journey.properties.contract import JourneyStep, journey_contract
from wayproof.model.journey.properties.exposure import exposure_of
from wayproof.model.journey.properties.situation import (
    OPEN,
    SETTLED,
    accounting_is_open,
    changed_transmissions,
    closes_accounting,
    conservative_amount,
    is_live,
    is_newly_granted,
    named,
    named_after,
    nothing_changed,
    proceeds,
    run_is_active,
    settles,
    token_is_right,
    transmission,
    usage_of,
)
from wayproof.model.journey.properties.standing import (
    EXPIRED,
    RECONCILED,
    RELEASED,
    RESERVED,
    TRANSMITTED,
    lapsed,
    left_evidence,
    reads,
    same_but_state,
)
from wayproof.model.journey.state import Transmission
from wayproof.spec.journey.constraints import LATEST_MILLISECONDS, from_milliseconds
from wayproof.spec.journey.records import (
    JourneySettledResult,
    JourneySnapshot,
    LeaseExtended,
    ReservationGranted,
    TokenTotals,
)
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.requests import (
    RenewReservationRequest,
    ReportAmbiguityRequest,
    ReportResponseRequest,
    ReportUnsentRequest,
    ReserveRequest,
    TransmitRequest,
)
from wayproof.spec.journey.vocabulary import DiscrepancyKind, ReservationState


@journey_contract("reservation-01")
def grant_adds_one_record(step: JourneyStep) -> bool | None:
    """At stake when a transmission is granted its reservation."""
    if not is_newly_granted(step):
        return None
    added = named_after(step)
    return (
        added is not None
        and step.after.transmissions == (*step.before.transmissions, added)
        and added.state in frozenset(ReservationState)
    )


@journey_contract("reservation-02")
def grant_is_recorded_whole(step: JourneyStep) -> bool | None:
    """At stake when a transmission is granted its reservation."""
    if not is_newly_granted(step):
        return None
    request = step.request
    assert isinstance(request, ReserveRequest)
    record = named_after(step)
    return (
        record is not None
        and record.state is RESERVED
        and record.actual_tokens is None
        and record.invocation_id == request.invocation_id
        and record.workflow_run_id == request.workflow_run_id
        and record.idempotency is request.idempotency
        and record.estimated_prompt_tokens == request.estimated_prompt_tokens
        and record.reserved_tokens == conservative_amount(request)
        and record.fencing_token == request.fencing_token
        and record.lease_expires_at
        == min(step.now + request.lease_milliseconds, LATEST_MILLISECONDS)
        and record.created_at == step.now
        and record.created_version == step.after.record_version == step.before.record_version + 1
    )


def _transmit_of(step: JourneyStep, *states: ReservationState) -> Transmission | None:
    """What a transmit request names, if it is in one of these states and its owner asks while
    the journey goes on and the run is active."""
    if not isinstance(step.request, TransmitRequest):
        return None
    record = named(step)
    if (
        record is None
        or record.state not in states
        or not proceeds(step)
        or not run_is_active(step.before, record.workflow_run_id)
    ):
        return None
    return record


@journey_contract("reservation-03")
def owner_transmits_within_the_lease(step: JourneyStep) -> bool | None:
    """At stake when the owner marks its reserved reservation transmitted within its lease."""
    record = _transmit_of(step, RESERVED)
    if record is None or step.now >= record.lease_expires_at:
        return None
    after = named_after(step)
    return after is not None and after.state is TRANSMITTED and reads(step, after)


@journey_contract("reservation-04")
def transmission_is_granted_once(step: JourneyStep) -> bool | None:
    """At stake when the owner asks again for a transmission that was granted before."""
    if _transmit_of(step, TRANSMITTED, RECONCILED, EXPIRED) is None:
        return None
    return step.code is RefusalCode.TRANSMISSION_NOT_RESERVED and nothing_changed(step)


@journey_contract("reservation-05")
def release_frees_the_amount(step: JourneyStep) -> bool | None:
    """At stake when the owner proves a reserved reservation unsent."""
    record = named(step) if isinstance(step.request, ReportUnsentRequest) else None
    if record is None or record.state is not RESERVED or not token_is_right(step):
        return None
    after = named_after(step)
    others = [r for r in step.after.transmissions if r != after]
    return (
        same_but_state(record, after, RELEASED)
        and reads(step, after)
        and step.after.totals.exposure == exposure_of(others).total
    )


@journey_contract("reservation-06")
def usage_reconciles_a_transmitted_one(step: JourneyStep) -> bool | None:
    """At stake when valid usage is reported for a transmitted reservation."""
    return _reconciles(step, TRANSMITTED)


@journey_contract("reservation-08")
def usage_reconciles_an_expired_one(step: JourneyStep) -> bool | None:
    """At stake when authoritative usage reaches an expired_conservatively reservation while
    accounting is pending."""
    return _reconciles(step, EXPIRED)


def _reconciles(step: JourneyStep, state: ReservationState) -> bool | None:
    record = named(step)
    if record is None or record.state is not state:
        return None
    usage = settles(step)
    if usage is None:
        return None
    after = named_after(step)
    return after == record._replace(state=RECONCILED, actual_tokens=usage) and reads(step, after)


@journey_contract("reservation-07")
def lapsed_transmission_is_charged(step: JourneyStep) -> bool | None:
    """At stake when a sweep finds a transmitted reservation past its lease."""
    charged = lapsed(step, TRANSMITTED)
    if not charged:
        return None
    committed = step.after.totals.reconciled + step.after.totals.conservative
    expected = exposure_of(step.after.transmissions)
    return committed == expected.reconciled + expected.conservative and all(
        same_but_state(record, transmission(step.after, record.transmission_id), EXPIRED)
        for record in charged
    )


@journey_contract("reservation-09")
def expired_is_only_ever_reconciled(step: JourneyStep) -> bool | None:
    """At stake when a request names an expired_conservatively reservation."""
    record = named(step)
    if record is None or record.state is not EXPIRED:
        return None
    after = named_after(step)
    if after == record:
        return True
    return after is not None and after.state is RECONCILED and accounting_is_open(step)


@journey_contract("reservation-10")
def transmitted_is_never_released(step: JourneyStep) -> bool | None:
    """At stake when the owner proves a transmitted reservation unsent."""
    record = named(step) if isinstance(step.request, ReportUnsentRequest) else None
    if record is None or record.state is not TRANSMITTED or not token_is_right(step):
        return None
    after = named_after(step)
    if not accounting_is_open(step):
        return same_but_state(record, after, EXPIRED)
    return after == record._replace(state=RECONCILED, actual_tokens=0)


@journey_contract("reservation-11")
def usage_of_a_reserved_one_is_evidence(step: JourneyStep) -> bool | None:
    """At stake when a response or an ambiguity is reported for a reserved reservation."""
    record = named(step)
    if record is None or record.state is not RESERVED:
        return None
    if isinstance(step.request, ReportResponseRequest):
        evidence = _evidence_of_unsent(step, record)
    elif isinstance(step.request, ReportAmbiguityRequest):
        evidence = step.after.discrepancies == step.before.discrepancies
    else:
        return None
    to = RELEASED if closes_accounting(step) else RESERVED
    return evidence and same_but_state(record, named_after(step), to)


def _evidence_of_unsent(step: JourneyStep, record: Transmission) -> bool:
    usage = usage_of(step)
    if usage is None:
        return left_evidence(step, record, DiscrepancyKind.MALFORMED_USAGE, None)
    return left_evidence(step, record, DiscrepancyKind.USAGE_OF_UNSENT, usage)


@journey_contract("reservation-12")
def closed_reservation_stays(step: JourneyStep) -> bool | None:
    """At stake when a request names a reconciled or released reservation, or a sweep finds one
    whose lease would have expired."""
    record = named(step)
    if record is None:
        stale = lapsed(step, *SETTLED)
        if not stale:
            return None
        return all(transmission(step.after, old.transmission_id) == old for old in stale)
    if record.state not in SETTLED:
        return None
    unchanged = named_after(step) == record
    if isinstance(step.request, ReportResponseRequest) and record.state is RELEASED:
        return unchanged and _evidence_of_unsent(step, record)
    return unchanged


def _claims_again(step: JourneyStep) -> bool | None:
    """Whether a known transmission is claimed again with the same content; None if it is no
    second claim."""
    request = step.request
    if not isinstance(request, ReserveRequest):
        return None
    record = transmission(step.before, request.transmission_id)
    return None if record is None else _same_content(record, request)


def _same_content(record: Transmission, request: ReserveRequest) -> bool:
    return (
        record.workflow_run_id == request.workflow_run_id
        and record.invocation_id == request.invocation_id
        and record.idempotency is request.idempotency
        and record.estimated_prompt_tokens == request.estimated_prompt_tokens
        and record.reserved_tokens == conservative_amount(request)
        and record.lease_milliseconds == request.lease_milliseconds
    )


@journey_contract("reservation-13")
def repeated_claim_answers_the_record(step: JourneyStep) -> bool | None:
    """At stake when a known transmission is claimed again with the same content."""
    if not _claims_again(step):
        return None
    record = named_after(step)
    return (
        nothing_changed(step)
        and record is not None
        and step.answer
        == ReservationGranted(
            transmission_id=record.transmission_id, reserved_tokens=record.reserved_tokens
        )
    )


@journey_contract("reservation-14")
def changed_claim_is_a_conflict(step: JourneyStep) -> bool | None:
    """At stake when a known transmission is claimed again with other content."""
    if _claims_again(step) is not False:
        return None
    return step.code is RefusalCode.OPERATION_CONFLICT and nothing_changed(step)


@journey_contract("reservation-15")
def lapsed_reservation_is_released(step: JourneyStep) -> bool | None:
    """At stake when a sweep finds a reserved reservation past its lease."""
    released = lapsed(step, RESERVED)
    if not released:
        return None
    return step.after.totals.exposure == exposure_of(step.after.transmissions).total and all(
        same_but_state(record, transmission(step.after, record.transmission_id), RELEASED)
        for record in released
    )


@journey_contract("reservation-16")
def late_transmission_is_refused(step: JourneyStep) -> bool | None:
    """At stake when the owner marks a reservation transmitted at or past its lease expiry."""
    record = _transmit_of(step, RESERVED)
    if record is None or step.now < record.lease_expires_at:
        return None
    return step.code is RefusalCode.RESERVATION_LEASE_EXPIRED and nothing_changed(step)


@journey_contract("reservation-17")
def only_the_owner_moves_a_reservation(step: JourneyStep) -> bool | None:
    """At stake when a transmit, renewal or release shows another token than it needs, and when
    a release shows the reservation's own, which is no longer live."""
    request, record = step.request, named(step)
    if record is None or not isinstance(
        request, TransmitRequest | RenewReservationRequest | ReportUnsentRequest
    ):
        return None
    if not token_is_right(step):
        return step.code is RefusalCode.FENCED and nothing_changed(step)
    if is_live(step.before, request.fencing_token, step.now):
        return None
    return step.code is None and reads(step, named_after(step))


@journey_contract("reservation-18")
def owner_renews_and_transmitting_does_not(step: JourneyStep) -> bool | None:
    """At stake when the owner renews an unexpired lease, and when a transmission is granted."""
    request, record = step.request, named(step)
    if record is None or record.state not in OPEN:
        return None
    after = named_after(step)
    if isinstance(request, TransmitRequest) and step.answer is not None:
        return after is not None and after.lease_expires_at == record.lease_expires_at
    if not isinstance(request, RenewReservationRequest) or not proceeds(step):
        return None
    if step.now >= record.lease_expires_at:
        return step.code is RefusalCode.RESERVATION_LEASE_EXPIRED and nothing_changed(step)
    extended = min(step.now + request.lease_milliseconds, LATEST_MILLISECONDS)
    expires_at = max(record.lease_expires_at, extended)
    return after == record._replace(lease_expires_at=expires_at) and step.answer == LeaseExtended(
        lease_expires_at=from_milliseconds(expires_at)
    )


@journey_contract("reservation-19")
def records_and_totals_change_together(step: JourneyStep) -> bool | None:
    """At stake when a step changes a reservation, and when a reservation's totals are read."""
    if changed_transmissions(step):
        return step.after.record_version == step.before.record_version + 1 and exposure_of(
            step.after.transmissions
        ) == tuple(step.after.totals)
    if not step.before.transmissions:
        return None
    if isinstance(step.answer, JourneySnapshot | JourneySettledResult):
        return _shown(step.answer.tokens) == exposure_of(step.before.transmissions)
    return None


def _shown(tokens: TokenTotals) -> tuple[int, int, int]:
    return (
        tokens.reconciled_tokens,
        tokens.conservatively_committed_tokens,
        tokens.reserved_tokens,
    )
