"""Contracts on authoritative groups (clauses ``group-``)."""

from wayproof.model.journey.properties.ceiling import is_granted, kept_by_the_ceiling
from wayproof.model.journey.properties.contract import JourneyStep, journey_contract
from wayproof.model.journey.properties.exposure import exposure_of, groups
from wayproof.model.journey.properties.situation import (
    OPEN,
    SENT,
    changed_transmissions,
    earlier_of_invocation,
    goes_on,
    increase,
    is_sibling,
    is_to_be_granted,
    named,
    nothing_changed,
    settles,
    transmission,
)
from wayproof.model.journey.properties.standing import EXPIRED, RECONCILED, TRANSMITTED, lapsed
from wayproof.model.journey.state import State, Transmission
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.requests import ReserveRequest
from wayproof.spec.journey.vocabulary import Idempotency, LifecycleState, ReservationState

TOTAL_OF = {
    ReservationState.RECONCILED: "reconciled",
    ReservationState.EXPIRED_CONSERVATIVELY: "conservative",
    ReservationState.RESERVED: "outstanding",
    ReservationState.TRANSMITTED: "outstanding",
}
"""The total that a record counts under; a released one counts under none."""


def changed_groups(step: JourneyStep) -> list[list[Transmission]]:
    """The groups of several members, after the step, of which it added or changed one."""
    if not changed_transmissions(step):
        return []
    return [
        group
        for group in groups(step.after.transmissions)
        if len(group) > 1 and any(record not in step.before.transmissions for record in group)
    ]


def others_stay(before: State, after: State, changed: list[Transmission]) -> bool:
    """Whether every record of before, but these, is as it was."""
    return all(
        record in changed or transmission(after, record.transmission_id) == record
        for record in before.transmissions
    )


@journey_contract("group-01")
def group_counts_at_its_maximum(step: JourneyStep) -> bool | None:
    """At stake when a member of a group of several is added or changes."""
    if not changed_groups(step):
        return None
    return step.after.totals.exposure == exposure_of(step.after.transmissions).total


@journey_contract("group-02")
def member_asks_for_its_increase_only(step: JourneyStep) -> bool | None:
    """At stake when a second or later member of a group gets as far as the ceiling."""
    request = step.request
    if not isinstance(request, ReserveRequest) or not earlier_of_invocation(step):
        return None
    if request.idempotency is not Idempotency.AUTHORITATIVE:
        return None
    if increase(step) == 0 and is_to_be_granted(step):
        return is_granted(step) and step.after.totals.exposure == step.before.totals.exposure
    return kept_by_the_ceiling(step)


@journey_contract("group-03")
def expired_members_are_charged_once(step: JourneyStep) -> bool | None:
    """At stake when a member expires conservatively beside another that did."""
    for group in changed_groups(step):
        expired = [record for record in group if record.state is EXPIRED]
        if len(expired) > 1 and any(r not in step.before.transmissions for r in expired):
            expected = exposure_of(step.after.transmissions)
            return step.after.totals.conservative == expected.conservative
    return None


@journey_contract("group-04")
def group_is_attributed_in_order(step: JourneyStep) -> bool | None:
    """At stake when a changed group has members that count under different totals."""
    for group in changed_groups(step):
        if len({TOTAL_OF[record.state] for record in group if record.state in TOTAL_OF}) > 1:
            return exposure_of(step.after.transmissions) == tuple(step.after.totals)
    return None


@journey_contract("group-05")
def positive_usage_settles_the_sent_siblings(step: JourneyStep) -> bool | None:
    """At stake when positive usage reconciles a member that has a sent sibling."""
    record, usage = named(step), settles(step)
    if record is None or not usage:
        return None
    siblings = [o for o in step.before.transmissions if is_sibling(record, o) and o.state in SENT]
    if not siblings:
        return None
    return (
        others_stay(step.before, step.after, [record, *siblings])
        and all(
            transmission(step.after, sibling.transmission_id)
            == sibling._replace(state=RECONCILED, actual_tokens=usage)
            for sibling in siblings
        )
        and step.after.observed == step.before.observed + usage
        and exposure_of(step.after.transmissions) == tuple(step.after.totals)
    )


@journey_contract("group-06")
def zero_settles_no_sibling(step: JourneyStep) -> bool | None:
    """At stake when an explicit zero reconciles a member that has a sent sibling."""
    record = named(step)
    if record is None or settles(step) != 0:
        return None
    if not any(is_sibling(record, o) and o.state in SENT for o in step.before.transmissions):
        return None
    return others_stay(step.before, step.after, [record])


@journey_contract("group-07")
def ordinary_response_settles_itself_alone(step: JourneyStep) -> bool | None:
    """At stake when a response reconciles an ordinary transmission while another one of its
    invocation was sent."""
    record = named(step)
    if record is None or record.idempotency is not Idempotency.NONE or settles(step) is None:
        return None
    if not any(
        other.invocation_id == record.invocation_id and other is not record and other.state in SENT
        for other in step.before.transmissions
    ):
        return None
    return others_stay(step.before, step.after, [record])


@journey_contract("group-08")
def only_one_invocation_forms_a_group(step: JourneyStep) -> bool | None:
    """At stake when a reservation of a known invocation comes with another run or idempotency,
    and when a member is granted, or settled by positive usage, beside another group."""
    request = step.request
    if isinstance(request, ReserveRequest):
        if transmission(step.before, request.transmission_id) is not None:
            return None
        if any(
            (known.workflow_run_id, known.idempotency)
            != (request.workflow_run_id, request.idempotency)
            for known in earlier_of_invocation(step)
        ):
            return step.code is RefusalCode.OPERATION_CONFLICT and nothing_changed(step)
        if request.idempotency is not Idempotency.AUTHORITATIVE:
            return None
        if not _has_another_group(step, request.invocation_id):
            return None
        return kept_by_the_ceiling(step)
    record = named(step)
    if record is None or record.idempotency is not Idempotency.AUTHORITATIVE or not settles(step):
        return None
    if not _has_another_group(step, record.invocation_id):
        return None
    return all(
        transmission(step.after, other.transmission_id) == other
        for other in step.before.transmissions
        if other.invocation_id != record.invocation_id
    )


def _has_another_group(step: JourneyStep, invocation_id: str) -> bool:
    return any(
        other.idempotency is Idempotency.AUTHORITATIVE
        and other.invocation_id != invocation_id
        and other.state in (*OPEN, EXPIRED)
        for other in step.before.transmissions
    )


@journey_contract("group-09")
def lapsed_member_does_not_end_the_journey(step: JourneyStep) -> bool | None:
    """At stake when a sweep of a running journey charges a member past its lease, and no
    ordinary transmission."""
    charged = lapsed(step, TRANSMITTED)
    if not charged or not goes_on(step):
        return None
    if any(record.idempotency is Idempotency.NONE for record in charged):
        return None
    return step.after.lifecycle is LifecycleState.RUNNING
