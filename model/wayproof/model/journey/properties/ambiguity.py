"""Contracts on ambiguous and unresolved transmissions (clauses ``ambiguity-``)."""

from wayproof.model.journey.properties.ceiling import is_granted
from wayproof.model.journey.properties.contract import JourneyStep, journey_contract
from wayproof.model.journey.properties.exposure import exposure_of
from wayproof.model.journey.properties.settle import accounting_of, all_settled
from wayproof.model.journey.properties.situation import (
    LIVE,
    OPEN,
    SETTLED,
    accounting_is_open,
    closes_accounting,
    earlier_of_invocation,
    goes_on,
    is_terminal,
    is_to_be_granted,
    meets_predecessors,
    named,
    named_after,
    nothing_changed,
    settles,
    transmission,
    usage_of,
)
from wayproof.model.journey.properties.standing import (
    EXPIRED,
    RECONCILED,
    TRANSMITTED,
    lapsed,
    left_evidence,
    same_but_state,
)
from wayproof.model.journey.state import State, Transmission
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.requests import (
    ReportAmbiguityRequest,
    ReportResponseRequest,
    ReserveRequest,
)
from wayproof.spec.journey.vocabulary import (
    AccountingStatus,
    DiscrepancyKind,
    Idempotency,
    LifecycleState,
)


def _ordinary_predecessors(step: JourneyStep) -> list[Transmission]:
    """What an ordinary successor that gets as far as its predecessors finds of them."""
    request = step.request
    if not isinstance(request, ReserveRequest) or request.idempotency is not Idempotency.NONE:
        return []
    earlier = earlier_of_invocation(step)
    return earlier if earlier and meets_predecessors(step) else []


def _permitted(step: JourneyStep) -> bool:
    """Whether a successor was not held back by its predecessors, and granted if due."""
    if step.code is RefusalCode.PREDECESSOR_UNRESOLVED:
        return False
    return is_granted(step) or not is_to_be_granted(step)


@journey_contract("ambiguity-01")
def settled_predecessor_permits_a_successor(step: JourneyStep) -> bool | None:
    """At stake when every ordinary predecessor was released or reconciled."""
    earlier = _ordinary_predecessors(step)
    if not earlier or any(record.state not in SETTLED for record in earlier):
        return None
    return _permitted(step)


@journey_contract("ambiguity-02")
def explicit_zero_permits_a_successor(step: JourneyStep) -> bool | None:
    """At stake when an explicit zero is proven of a sent transmission, and when the successor
    of one that was reconciled with zero is claimed."""
    earlier = _ordinary_predecessors(step)
    if earlier:
        if any(r.state in OPEN for r in earlier) or all(r.actual_tokens != 0 for r in earlier):
            return None
        return _permitted(step)
    record = named(step)
    if record is None or settles(step) != 0:
        return None
    return named_after(step) == record._replace(state=RECONCILED, actual_tokens=0)


@journey_contract("ambiguity-03", "ambiguity-04")
def response_without_usage_charges_and_permits_a_successor(step: JourneyStep) -> bool | None:
    """At stake when a response without well-formed usage reaches a transmitted reservation, and
    when the successor of one so charged is claimed. The two clauses differ in what the provider
    answered, which no request tells apart."""
    earlier = _ordinary_predecessors(step)
    if earlier:
        charged = {
            known.transmission_id
            for known in step.before.discrepancies
            if known.kind is DiscrepancyKind.MALFORMED_USAGE
        }
        if any(record.state in OPEN for record in earlier) or not any(
            record.state is EXPIRED and record.transmission_id in charged for record in earlier
        ):
            return None
        return _permitted(step)
    record = named(step)
    if record is None or record.state is not TRANSMITTED:
        return None
    if not isinstance(step.request, ReportResponseRequest) or usage_of(step) is not None:
        return None
    return (
        same_but_state(record, named_after(step), EXPIRED)
        and exposure_of(step.after.transmissions) == tuple(step.after.totals)
        and left_evidence(step, record, DiscrepancyKind.MALFORMED_USAGE, None)
        and (not goes_on(step) or step.after.lifecycle is step.before.lifecycle)
    )


@journey_contract("ambiguity-05")
def sibling_need_not_wait(step: JourneyStep) -> bool | None:
    """At stake when a member is claimed while an earlier one is reserved or transmitted."""
    request = step.request
    if (
        not isinstance(request, ReserveRequest)
        or request.idempotency is not Idempotency.AUTHORITATIVE
        or all(record.state not in OPEN for record in earlier_of_invocation(step))
        or not meets_predecessors(step)
    ):
        return None
    return _permitted(step)


@journey_contract("ambiguity-06")
def unresolved_predecessor_refuses_a_successor(step: JourneyStep) -> bool | None:
    """At stake when an ordinary successor is claimed while a predecessor is open."""
    if all(record.state not in OPEN for record in _ordinary_predecessors(step)):
        return None
    return step.code is RefusalCode.PREDECESSOR_UNRESOLVED and nothing_changed(step)


def _failed_as_ambiguous(step: JourneyStep) -> bool:
    return (
        step.after.lifecycle is LifecycleState.FAILED
        and step.after.terminal_reason == "provider_transmission_ambiguous"
        and step.after.finished_at == step.now
    )


@journey_contract("ambiguity-07")
def reported_ambiguity_fails_the_journey(step: JourneyStep) -> bool | None:
    """At stake when an ordinary transmitted reservation of a running journey is reported
    ambiguous."""
    record = _reported_ambiguous(step)
    if record is None or record.idempotency is not Idempotency.NONE or not goes_on(step):
        return None
    return _failed_as_ambiguous(step) and same_but_state(record, named_after(step), EXPIRED)


def _reported_ambiguous(step: JourneyStep) -> Transmission | None:
    if not isinstance(step.request, ReportAmbiguityRequest):
        return None
    record = named(step)
    return record if record is not None and record.state is TRANSMITTED else None


@journey_contract("ambiguity-08")
def lapsed_ordinary_transmission_fails_the_journey(step: JourneyStep) -> bool | None:
    """At stake when a sweep of a running journey finds an ordinary transmitted reservation past
    its lease."""
    charged = [r for r in lapsed(step, TRANSMITTED) if r.idempotency is Idempotency.NONE]
    if not charged or not goes_on(step):
        return None
    return _failed_as_ambiguous(step)


@journey_contract("ambiguity-09")
def ambiguity_after_the_stop_changes_no_outcome(step: JourneyStep) -> bool | None:
    """At stake when a transmitted reservation of a cancelling or terminal journey becomes
    ambiguous, by a report or by its lease."""
    if step.before.lifecycle in LIVE:
        return None
    reported = _reported_ambiguous(step)
    charged = lapsed(step, TRANSMITTED) if reported is None else [reported]
    if not charged:
        return None
    return _same_outcome(step.before, step.after) and all(
        same_but_state(record, transmission(step.after, record.transmission_id), EXPIRED)
        for record in charged
    )


def _same_outcome(before: State, after: State) -> bool:
    if not is_terminal(before):
        assert before.cancellation is not None
        return after.lifecycle is LifecycleState.CANCELLING or (
            after.lifecycle is LifecycleState.CANCELLED
            and after.terminal_reason == before.cancellation.reason
        )
    return (after.lifecycle, after.terminal_reason, after.finished_at, after.runs) == (
        before.lifecycle,
        before.terminal_reason,
        before.finished_at,
        before.runs,
    )


@journey_contract("ambiguity-10")
def ambiguous_journey_is_not_settled(step: JourneyStep) -> bool | None:
    """At stake when accounting reaches its deadline with a conservatively expired transmission,
    and when usage in time reconciles the last one of a terminal journey."""
    expired = [record for record in step.before.transmissions if record.state is EXPIRED]
    if not expired:
        return None
    if closes_accounting(step):
        return accounting_of(step.after)[:2] == (AccountingStatus.SETTLEMENT_FAILED, step.now)
    if not is_terminal(step.before) or not accounting_is_open(step) or settles(step) is None:
        return None
    if not all_settled(step.after):
        return step.after.accounting is AccountingStatus.PENDING
    return step.after.accounting is AccountingStatus.SETTLED
