"""Contracts on settlement (clauses ``settle-``)."""

from wayproof.model.journey.properties.contract import (
    JourneyStep,
    WorldStep,
    journey_contract,
    world_contract,
)
from wayproof.model.journey.properties.exposure import exposure_of
from wayproof.model.journey.properties.situation import (
    REPORTS,
    SETTLED,
    changed_transmissions,
    closes_accounting,
    is_terminal,
    named,
    nothing_changed,
    settles,
    transmission,
)
from wayproof.model.journey.properties.standing import (
    EXPIRED,
    RELEASED,
    RESERVED,
    TRANSMITTED,
    same_but_state,
)
from wayproof.model.journey.state import State
from wayproof.model.journey.world import World
from wayproof.spec.journey.constraints import LATEST_MILLISECONDS
from wayproof.spec.journey.requests import JourneyStartRequest
from wayproof.spec.journey.vocabulary import AccountingStatus, ReservationState

PENDING = AccountingStatus.PENDING


def all_settled(state: State) -> bool:
    """Whether every reservation, if any, is reconciled or released."""
    return all(record.state in SETTLED for record in state.transmissions)


def accounting_of(state: State) -> tuple[AccountingStatus, int | None, int | None]:
    """All that a journey says of its settlement."""
    return state.accounting, state.settled_at, state.settled_discrepancies


@world_contract("settle-01")
def accounting_starts_pending(step: WorldStep) -> bool | None:
    """At stake when a start creates a journey."""
    if not isinstance(step.request, JourneyStartRequest):
        return None
    if len(step.after.journeys) == len(step.before.journeys):
        return None
    return accounting_of(step.after.journeys[-1].state) == (PENDING, None, None)


@journey_contract("settle-01")
def final_accounting_stays(step: JourneyStep) -> bool | None:
    """At stake when a report or a sweep meets final accounting."""
    if step.before.accounting is PENDING:
        return None
    if step.request is not None and not isinstance(step.request, REPORTS):
        return None
    return accounting_of(step.after) == accounting_of(step.before)


@journey_contract("settle-02")
def end_fixes_the_accounting_deadline(step: JourneyStep) -> bool | None:
    """At stake when the journey ends."""
    if is_terminal(step.before) or not is_terminal(step.after):
        return None
    return step.after.accounting_deadline == min(
        step.now + step.terms.settlement_grace, LATEST_MILLISECONDS
    )


@journey_contract("settle-03")
def live_journey_is_never_settled(step: JourneyStep) -> bool | None:
    """At stake when the last open reservation of a journey that goes on is settled."""
    if not changed_transmissions(step) or is_terminal(step.after) or not all_settled(step.after):
        return None
    return accounting_of(step.after) == (PENDING, None, None)


@journey_contract("settle-04")
def last_disposition_settles(step: JourneyStep) -> bool | None:
    """At stake when, accounting pending, a journey's end or the change of a reservation leaves
    a terminal journey with every reservation reconciled or released."""
    if step.before.accounting is not PENDING or not is_terminal(step.after):
        return None
    if not all_settled(step.after):
        return None
    return accounting_of(step.after)[:2] == (AccountingStatus.SETTLED, step.now)


@journey_contract("settle-05")
def deadline_charges_what_was_sent(step: JourneyStep) -> bool | None:
    """At stake when accounting reaches its deadline with a transmitted reservation."""
    if not _closes_with(step, TRANSMITTED):
        return None
    expected = exposure_of(step.after.transmissions)
    return _all_became(step, TRANSMITTED, EXPIRED) and expected == tuple(step.after.totals)


@journey_contract("settle-06")
def deadline_releases_what_was_not(step: JourneyStep) -> bool | None:
    """At stake when accounting reaches its deadline with a reserved reservation."""
    if not _closes_with(step, RESERVED):
        return None
    expected = exposure_of(step.after.transmissions)
    return _all_became(step, RESERVED, RELEASED) and expected == tuple(step.after.totals)


def _closes_with(step: JourneyStep, *states: ReservationState) -> bool:
    return closes_accounting(step) and any(r.state in states for r in step.before.transmissions)


def _all_became(step: JourneyStep, of: ReservationState, to: ReservationState) -> bool:
    return all(
        same_but_state(record, transmission(step.after, record.transmission_id), to)
        for record in step.before.transmissions
        if record.state is of
    )


@journey_contract("settle-07")
def settlement_fails_at_the_deadline_only(step: JourneyStep) -> bool | None:
    """At stake when accounting reaches its deadline with something charged conservatively, and
    when a sweep or report before the deadline leaves something so charged."""
    if _closes_with(step, TRANSMITTED, EXPIRED):
        return accounting_of(step.after)[:2] == (AccountingStatus.SETTLEMENT_FAILED, step.now)
    if step.request is not None and not isinstance(step.request, REPORTS):
        return None
    if (
        step.before.accounting is not PENDING
        or not is_terminal(step.after)
        or closes_accounting(step)
        or step.now == LATEST_MILLISECONDS  # ends and reaches its accounting deadline at once
        or all(record.state is not EXPIRED for record in step.after.transmissions)
    ):
        return None
    return accounting_of(step.after) == (PENDING, None, None)


@journey_contract("settle-08")
def report_at_the_deadline_is_too_late(step: JourneyStep) -> bool | None:
    """At stake when a report is the first to meet a passed accounting deadline."""
    if not isinstance(step.request, REPORTS) or not closes_accounting(step):
        return None
    expected = {RESERVED: RELEASED, TRANSMITTED: EXPIRED}
    return (
        step.after.accounting is not PENDING
        and step.after.observed == step.before.observed
        and step.after.settled_discrepancies == len(step.before.discrepancies)
        and step.after.transmissions
        == tuple(
            record._replace(state=expected.get(record.state, record.state))
            for record in step.before.transmissions
        )
    )


@journey_contract("settle-09")
def reconciled_in_time_counts_as_reconciled(step: JourneyStep) -> bool | None:
    """At stake when usage reconciles, after the journey's end, the last transmission that had
    expired conservatively, while nothing else is open."""
    record = named(step)
    if record is None or record.state is not EXPIRED or not is_terminal(step.before):
        return None
    if settles(step) is None or not all_settled(step.after):
        return None
    return step.after.accounting is AccountingStatus.SETTLED


@journey_contract("settle-10")
def finishing_twice_changes_nothing(step: JourneyStep) -> bool | None:
    """At stake when a sweep meets final accounting past its deadline."""
    before = step.before
    if step.request is not None or before.accounting is PENDING:
        return None
    if before.accounting_deadline is None or step.now < before.accounting_deadline:
        return None
    return nothing_changed(step)


@world_contract("settle-10")
def settlement_outlives_a_restart(step: WorldStep) -> bool | None:
    """At stake when a process restarts while a journey is terminal."""
    if step.operation != "restart":
        return None
    if not any(is_terminal(journey.state) for journey in step.before.journeys):
        return None
    return _settlements(step.before) == _settlements(step.after)


def _settlements(world: World) -> list[object]:
    return [
        (accounting_of(state), state.accounting_deadline, state.transmissions)
        for state in (journey.state for journey in world.journeys)
        if is_terminal(state)
    ]
