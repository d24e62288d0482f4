"""Invariants and oracle: they hold wherever steps lead, and each finds what is planted."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from tests.model.evidence import explored, walked

from wayproof.model.journey import reservations, totals
from wayproof.model.journey.configurations import configurations
from wayproof.model.journey.example import BEGUN, reserve, response, terms, transmit
from wayproof.model.journey.explore import serve
from wayproof.model.journey.properties.invariants import (
    INVARIANTS,
    broken_invariants,
    explain,
)
from wayproof.model.journey.properties.oracle import disagreements, observed_bounds
from wayproof.model.journey.state import (
    Cancellation,
    Discrepancy,
    State,
    Terms,
    Totals,
    Transmission,
)
from wayproof.spec.journey.requests import Request
from wayproof.spec.journey.vocabulary import (
    MAXIMUM_INTEGER,
    AccountingStatus,
    DiscrepancyKind,
    LifecycleState,
    ReservationState,
    WorkflowRunPurpose,
    WorkflowRunState,
)

Known = tuple[Terms, State]
Fault = Callable[[Terms, State], State | None]
"""Makes a good state bad; None if it does not apply to it."""


@cache
def reached() -> tuple[Known, ...]:
    """States of every configuration, and of random walks."""
    steps = [step for c in configurations("small").values() for step in explored(c)]
    steps += [step for played in walked()[:5000] for step in played.journey_steps]
    return tuple(dict.fromkeys((step.terms, step.after) for step in steps))


def test_they_hold_wherever_steps_lead() -> None:
    assert len(reached()) > 2000
    for known in reached():
        assert broken_invariants(*known) == (), list(explain(*known))


def put(**fields: Any) -> Fault:
    return lambda terms, state: state._replace(**fields)


def when(holds: Callable[[State], bool], **fields: Any) -> Fault:
    return lambda terms, state: state._replace(**fields) if holds(state) else None


def runs(**fields: Any) -> Fault:
    """Every run with other fields."""
    return lambda terms, state: (
        state._replace(runs=tuple(run._replace(**fields) for run in state.runs))
        if state.runs
        else None
    )


def last_run(**fields: Any) -> Fault:
    """The last run with other fields, if there are several."""

    def plant(terms: Terms, state: State) -> State | None:
        if len(state.runs) < 2:
            return None
        return state._replace(runs=(*state.runs[:-1], state.runs[-1]._replace(**fields)))

    return plant


def records(**fields: Any) -> Fault:
    """Every reservation with other fields."""
    return lambda terms, state: (
        state._replace(transmissions=tuple(t._replace(**fields) for t in state.transmissions))
        if state.transmissions
        else None
    )


def last_record(**fields: Any) -> Fault:
    """The last reservation with other fields, if there are several."""

    def plant(terms: Terms, state: State) -> State | None:
        if len(state.transmissions) < 2:
            return None
        *others, last = state.transmissions
        return state._replace(transmissions=(*others, last._replace(**fields)))

    return plant


def evidence(**fields: Any) -> Fault:
    """Every discrepancy with other fields."""
    return lambda terms, state: (
        state._replace(discrepancies=tuple(d._replace(**fields) for d in state.discrepancies))
        if state.discrepancies
        else None
    )


def twice(field: str) -> Fault:
    """The last of some records again."""

    def plant(terms: Terms, state: State) -> State | None:
        there = getattr(state, field)
        doubled: dict[str, Any] = {field: (*there, *there[-1:])}
        return state._replace(**doubled) if there else None

    return plant


def _has_ended(state: State) -> bool:
    return state.finished_at is not None


def _is_running(state: State) -> bool:
    return state.lifecycle is LifecycleState.RUNNING


def _above_the_limit(terms: Terms, state: State) -> State | None:
    for place, limit in enumerate(terms.limits):
        if limit is not None:
            counters = list(state.counters)
            counters[place] = limit + 1
            return state._replace(counters=tuple(counters))
    return None


def _above_the_ceiling(terms: Terms, state: State) -> State | None:
    if state.discrepancies:
        return None
    return state._replace(totals=state.totals._replace(reserved=terms.max_total_tokens + 1))


def _late(terms: Terms, state: State) -> State | None:
    if state.lifecycle not in (LifecycleState.FAILED, LifecycleState.COMPLETED):
        return None
    return state._replace(finished_at=terms.deadline)


def _cancelled_late(terms: Terms, state: State) -> State | None:
    if state.cancellation is None:
        return None
    return state._replace(cancellation=state.cancellation._replace(requested_at=terms.deadline))


def _is_queued(state: State) -> bool:
    return any(run.state is WorkflowRunState.QUEUED for run in state.runs)


def _unanswered(terms: Terms, state: State) -> State | None:
    if not any(asked.answered for asked in state.inputs) or not _is_running(state):
        return None
    return state._replace(inputs=tuple(a._replace(answered=False) for a in state.inputs))


FAULTS: dict[str, tuple[Fault, ...]] = {
    "work_begins_with_the_entry_stage": (
        when(_is_running, started_at=None),
        put(lifecycle=LifecycleState.PENDING),
        when(lambda state: state.started_at is None, counters=(1, 0, 0, 0, 0, 0)),
    ),
    "terminal_fields_go_together": (
        when(_has_ended, terminal_reason=None),
        when(_has_ended, accounting_deadline=1),
        when(_is_running, finished_at=1),
    ),
    "reason_fits_the_terminal_state": (
        when(_has_ended, terminal_reason="caller_requested"),
        when(_has_ended, terminal_reason="journey_completed"),
    ),
    "cancellation_belongs_to_a_cancelled_journey": (
        put(cancellation=None),
        when(_is_running, cancellation=Cancellation("caller_requested", 0, 1000)),
    ),
    "deadline_parts_the_ends": (_late, _cancelled_late),
    "moments_come_in_order": (
        when(_has_ended, settled_at=-1),
        runs(finished_at=-1),
        when(lambda state: state.started_at is not None, started_at=-1),
    ),
    "runs_end_with_their_journey": (
        runs(state=WorkflowRunState.ACTIVE),
        runs(state=WorkflowRunState.QUARANTINED),
        runs(state=WorkflowRunState.STOPPED),
        runs(finished_at=None),
    ),
    "completed_means_every_run_ended_well": (
        runs(state=WorkflowRunState.FAILED),
        runs(state=WorkflowRunState.QUARANTINED),
    ),
    "every_stage_is_entered_once": (
        runs(purpose=WorkflowRunPurpose.REPAIR),
        twice("runs"),
        last_run(stage_id="other"),
        last_run(member_ordinal=7),
        runs(parent_workflow_run_id="run-9"),
    ),
    "queued_runs_and_open_intents_go_together": (
        when(lambda state: bool(state.intents), intents=()),
        twice("intents"),
        when(_is_queued, lifecycle=LifecycleState.CANCELLING),
    ),
    "waiting_runs_have_their_request": (
        when(lambda state: bool(state.inputs) and _is_running(state), inputs=()),
        _unanswered,
    ),
    "superseded_means_one_repair": (runs(superseded=True), runs(superseded=False)),
    "exposure_stays_within_the_ceiling": (_above_the_ceiling,),
    "counters_stay_within_their_limits": (_above_the_limit,),
    "reservations_are_well_formed": (
        twice("transmissions"),
        records(workflow_run_id="run-9"),
        records(fencing_token=9),
        records(created_version=99),
        records(actual_tokens=1),
        records(actual_tokens=None),
        records(reserved_tokens=0),
    ),
    "invocations_are_uniform": (
        records(invocation_id="same", state=ReservationState.TRANSMITTED),
        last_record(workflow_run_id="run-2"),
    ),
    "accounting_fields_go_together": (
        when(_is_running, settled_at=1),
        when(_has_ended, settled_discrepancies=None),
    ),
    "evidence_fits_its_transmission": (
        twice("discrepancies"),
        evidence(transmission_id="unknown"),
        evidence(kind=DiscrepancyKind.LATE_USAGE),
        evidence(kind=DiscrepancyKind.USAGE_OVER_RESERVATION, reported_tokens=0),
        evidence(kind=DiscrepancyKind.CONFLICTING_USAGE),
        evidence(kind=DiscrepancyKind.USAGE_OF_UNSENT, reported_tokens=None),
        evidence(kind=DiscrepancyKind.MALFORMED_USAGE, reported_tokens=0),
    ),
    "operations_are_known_once": (twice("operations"), put(lease=None)),
    "totals_stay_in_range": (
        put(observed=-1),
        put(estimated=MAXIMUM_INTEGER + 1),
        put(totals=Totals(reconciled=MAXIMUM_INTEGER, conservative=1)),
    ),
    "running_totals_agree_with_the_records": (
        put(estimated=77),
        put(observed=77),
        put(totals=Totals(reserved=77)),
        put(counters=(7, 0, 0, 0, 0, 0)),
        put(accounting=AccountingStatus.SETTLEMENT_FAILED),
    ),
}


def test_no_invariant_lacks_a_planted_fault() -> None:
    assert set(FAULTS) == set(INVARIANTS)


@pytest.mark.parametrize(
    ("name", "place"),
    [(name, place) for name in sorted(FAULTS) for place in range(len(FAULTS[name]))],
)
def test_the_fault_is_found(name: str, place: int) -> None:
    """Some state that is reached, made wrong, breaks the invariant."""
    holds, plant = INVARIANTS[name].holds, FAULTS[name][place]
    planted = ((known, plant(known, state)) for known, state in reached())
    assert any(bad is not None and not holds(known, bad) for known, bad in planted)


def test_a_broken_state_is_explained() -> None:
    known, state = reached()[-1]
    explained = list(explain(known, state._replace(estimated=MAXIMUM_INTEGER + 1)))
    assert "totals_stay_in_range: Every public number is an integer from 0 to 2**53-1." in explained
    assert "the oracle finds another value of estimated" in explained


# The oracle against rules that are wrong


def played(*asked: Request) -> Iterator[Known]:
    """The states of one story, under whatever rules are in force."""
    known, state = terms(deadline=10_000, tokens=30), State()
    for request in (*BEGUN, *asked):
        state = serve(known, state, request, 0).after
        yield known, state


GROUP = (
    reserve("m1", 6, of="group", grouped=True),
    reserve("m2", 8, of="group", grouped=True),
    transmit("m1"),
    transmit("m2"),
    response("m1", None),
    response("m2", 5),
)
RETRIED = (
    reserve("a", 6, of="call"),
    transmit("a"),
    response("a", None),
    reserve("b", 4, of="call"),
    response("a", 2),
)


def found(*asked: Request) -> set[str]:
    """The totals that the oracle contradicts somewhere in a story."""
    return {total for known, state in played(*asked) for total in disagreements(known, state)}


def summed(group: Any) -> Totals:
    """A group's members, added up."""
    parts = [exposure_of_one([member]) for member in group]
    return Totals(
        reconciled=sum(part.reconciled for part in parts),
        conservative=sum(part.conservative for part in parts),
        reserved=sum(part.reserved for part in parts),
    )


exposure_of_one = totals.exposure_of


def test_the_oracle_agrees_with_the_rules() -> None:
    assert found(*GROUP) == set()
    assert found(*RETRIED) == set()


def test_the_oracle_finds_a_sum_in_place_of_a_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "exposure_of", summed)
    assert found(*RETRIED) == set()
    assert found(*GROUP) == {"reserved", "reconciled"}


def test_the_oracle_finds_totals_that_are_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "replace_group", lambda kept, _before, _after: kept)
    assert found(*RETRIED) >= {"reserved", "conservative", "reconciled"}


def test_the_oracle_finds_a_charge_that_is_not_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reconciling adds the usage, and keeps what was charged before."""

    def added(kept: Totals, before: Totals, after: Totals) -> Totals:
        return Totals(*(k + max(0, a - b) for k, b, a in zip(kept, before, after, strict=True)))

    monkeypatch.setattr(totals, "replace_group", added)
    assert found(*RETRIED) >= {"reserved", "conservative"}


def test_the_oracle_finds_a_successor_that_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reservations, "claimed", lambda state, _counters: state)
    assert found(*RETRIED) == {"counters"}


def test_the_oracle_finds_an_estimate_that_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    added = totals.with_reservation

    def forgotten(state: State, record: Transmission) -> State:
        return added(state, record)._replace(estimated=state.estimated)

    monkeypatch.setattr(reservations, "with_reservation", forgotten)
    assert found(*RETRIED) == {"estimated"}


def test_the_oracle_bounds_what_was_observed_of_a_group() -> None:
    *_, (_known, state) = played(*GROUP)
    assert [record.actual_tokens for record in state.transmissions] == [5, 5]
    assert observed_bounds(state) == (5, 10)
    assert disagreements(_known, state._replace(observed=4)) == ("observed",)
    assert disagreements(_known, state._replace(observed=11)) == ("observed",)


def test_the_oracle_finds_accounting_that_is_final_too_early_or_too_late() -> None:
    *_, (known, state) = played(*RETRIED[:3])
    assert disagreements(known, state) == ()
    assert "accounting" in disagreements(known, state._replace(accounting=AccountingStatus.SETTLED))
    ended = state._replace(
        lifecycle=LifecycleState.FAILED, terminal_reason="workflow_failed", finished_at=0
    )
    assert disagreements(known, ended) == ()
    early = ended._replace(accounting=AccountingStatus.SETTLEMENT_FAILED, settled_at=1)
    assert "accounting" in disagreements(known, early)
    unnoticed = ended._replace(transmissions=())
    assert "accounting" in disagreements(known, unnoticed)


def test_the_oracle_counts_the_discrepancies_of_the_settlement() -> None:
    *_, (known, state) = played(*RETRIED[:3])
    late = Discrepancy("a", DiscrepancyKind.LATE_USAGE, 3, 2000)
    final = state._replace(
        lifecycle=LifecycleState.FAILED,
        finished_at=0,
        accounting=AccountingStatus.SETTLEMENT_FAILED,
        settled_at=2000,
        discrepancies=(*state.discrepancies, late),
    )
    assert disagreements(known, final._replace(settled_discrepancies=1)) == ()
    for wrong in (0, 2):
        assert disagreements(known, final._replace(settled_discrepancies=wrong)) == (
            "settled_discrepancies",
        )
