"""Invariants: what holds of every state of a journey, whatever led to it.

An invariant looks at one state, and sees less than a step contract; but it is checked on every
state that any step, sweep or eager step leads to. The oracle's recomputation is one of them.
"""

from collections import Counter as Tally
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from wayproof.model.journey.properties.oracle import disagreements
from wayproof.model.journey.properties.sequence import stages_of
from wayproof.model.journey.state import Discrepancy, Run, State, Terms, Transmission
from wayproof.spec.journey.constraints import LATEST_MILLISECONDS
from wayproof.spec.journey.vocabulary import (
    MAXIMUM_INTEGER,
    TERMINAL_STATES,
    UNFINISHED_RUN_STATES,
    AccountingStatus,
    CancellationReason,
    DiscrepancyKind,
    DispatchState,
    Idempotency,
    LifecycleState,
    ReservationState,
    WorkflowRunPurpose,
    WorkflowRunState,
)

Holds = Callable[[Terms, State], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """One invariant and the clauses that it follows from."""

    name: str
    clauses: tuple[str, ...]
    holds: Holds


INVARIANTS: Final[dict[str, Invariant]] = {}
"""Every invariant by name."""


def invariant(*clauses: str) -> Callable[[Holds], Holds]:
    """Register an invariant that follows from some clauses."""

    def register(holds: Holds) -> Holds:
        name = holds.__name__
        INVARIANTS[name] = Invariant(name=name, clauses=clauses, holds=holds)
        return holds

    return register


def broken_invariants(terms: Terms, state: State) -> tuple[str, ...]:
    """The names of the invariants that a state breaks."""
    return tuple(name for name, entry in INVARIANTS.items() if not entry.holds(terms, state))


def _is_terminal(state: State) -> bool:
    return state.lifecycle in TERMINAL_STATES


def _increasing(*moments: int | None) -> bool:
    """Whether the moments that are there come in this order."""
    there = [moment for moment in moments if moment is not None]
    return all(earlier <= later for earlier, later in pairwise(there))


@invariant("lifecycle-02", "run-03")
def work_begins_with_the_entry_stage(terms: Terms, state: State) -> bool:
    """A journey without a start has nothing of work; a running one has a start."""
    if state.started_at is not None:
        return state.lifecycle is not LifecycleState.PENDING and bool(state.runs)
    return state.lifecycle not in (LifecycleState.RUNNING, LifecycleState.COMPLETED) and not (
        state.runs or state.transmissions or any(state.counters)
    )


@invariant("outcome-01", "outcome-02", "settle-02")
def terminal_fields_go_together(terms: Terms, state: State) -> bool:
    """Reason, end and accounting deadline are there exactly from the terminal commit on."""
    if not _is_terminal(state):
        return (state.terminal_reason, state.finished_at, state.accounting_deadline) == (None,) * 3
    return (
        state.terminal_reason is not None
        and state.finished_at is not None
        and state.accounting_deadline
        == min(state.finished_at + terms.settlement_grace, LATEST_MILLISECONDS)
    )


REASONS_BY_STATE: Final[dict[LifecycleState, frozenset[str]]] = {
    LifecycleState.COMPLETED: frozenset({"journey_completed"}),
    LifecycleState.TIMED_OUT: frozenset({"deadline_expired"}),
    LifecycleState.FAILED: frozenset(
        {
            "workflow_failed",
            "token_reservation_unavailable",
            "lifecycle_persistence_unavailable",
            "provider_transmission_ambiguous",
            "orphan_recovery_unsafe",
        }
    ),
    LifecycleState.BUDGET_EXCEEDED: frozenset(
        {
            "token_budget_exhausted",
            "workflow_run_start_limit_exhausted",
            "task_attempt_start_limit_exhausted",
            "provider_retry_limit_exhausted",
            "structured_output_correction_limit_exhausted",
            "workflow_repair_limit_exhausted",
            "app_refinement_limit_exhausted",
        }
    ),
    LifecycleState.CANCELLED: frozenset(reason.value for reason in CancellationReason),
}
"""The reasons that each terminal state can have."""


@invariant("outcome-02", "lifecycle-05", "lifecycle-06", "lifecycle-07", "lifecycle-08")
def reason_fits_the_terminal_state(terms: Terms, state: State) -> bool:
    """Each terminal state has its own reasons, and none of another's."""
    if not _is_terminal(state):
        return True
    return state.terminal_reason in REASONS_BY_STATE[state.lifecycle]


@invariant("lifecycle-04", "lifecycle-09", "cancel-01")
def cancellation_belongs_to_a_cancelled_journey(terms: Terms, state: State) -> bool:
    """A cancellation is there exactly while cancelling and once cancelled, and is the reason."""
    cancelled = state.lifecycle in (LifecycleState.CANCELLING, LifecycleState.CANCELLED)
    if state.cancellation is None or not cancelled:
        return state.cancellation is None and not cancelled
    return (
        state.lifecycle is LifecycleState.CANCELLING
        or state.terminal_reason == state.cancellation.reason
    ) and state.cancellation.deadline == min(
        state.cancellation.requested_at + terms.cancellation_grace, LATEST_MILLISECONDS
    )


@invariant("deadline-01", "deadline-04", "deadline-05", "deadline-07")
def deadline_parts_the_ends(terms: Terms, state: State) -> bool:
    """Only timed_out, and cancelled of an earlier cancellation, come at or past the deadline."""
    if state.cancellation is not None and state.cancellation.requested_at >= terms.deadline:
        return False
    if state.finished_at is None or state.lifecycle is LifecycleState.CANCELLED:
        return True
    return (state.finished_at >= terms.deadline) == (state.lifecycle is LifecycleState.TIMED_OUT)


@invariant("lifecycle-02", "outcome-02")
def moments_come_in_order(terms: Terms, state: State) -> bool:
    """Created, started, cancellation requested, finished, settled."""
    requested = None if state.cancellation is None else state.cancellation.requested_at
    return _increasing(
        terms.created_at, state.started_at, requested, state.finished_at, state.settled_at
    ) and all(
        _increasing(
            state.started_at, run.created_at, run.started_at, run.finished_at, state.finished_at
        )
        for run in state.runs
    )


@invariant("outcome-03", "cancel-01")
def runs_end_with_their_journey(terms: Terms, state: State) -> bool:
    """No terminal journey has an unfinished run; quarantine is of terminal journeys only, a stop
    of cancelled ones, and only an active run is left while cancelling."""
    allowed = {WorkflowRunState.COMPLETED, WorkflowRunState.FAILED}
    if _is_terminal(state):
        allowed.add(WorkflowRunState.QUARANTINED)
    else:
        allowed.add(WorkflowRunState.ACTIVE)
        if state.cancellation is None:
            allowed |= UNFINISHED_RUN_STATES
    if state.cancellation is not None:
        allowed.add(WorkflowRunState.STOPPED)
    return all(
        run.state in allowed and (run.finished_at is None) == (run.state in UNFINISHED_RUN_STATES)
        for run in state.runs
    )


@invariant("dispatch-01", "dispatch-04", "dispatch-06")
def queued_runs_and_open_intents_go_together(terms: Terms, state: State) -> bool:
    """Exactly the queued runs have an open intent, each one, and none is open in a journey that
    stops or has ended."""
    open_ones = [
        intent.workflow_run_id
        for intent in state.intents
        if intent.state in (DispatchState.RECORDED, DispatchState.ACKNOWLEDGED)
    ]
    queued = {run.workflow_run_id for run in state.runs if run.state is WorkflowRunState.QUEUED}
    return (
        len(set(open_ones)) == len(open_ones)
        and set(open_ones) == queued
        and (state.lifecycle is LifecycleState.RUNNING or not open_ones)
    )


@invariant("route-06", "route-07", "observe-15")
def waiting_runs_have_their_request(terms: Terms, state: State) -> bool:
    """Every waiting run has exactly one unanswered input request, and no other unfinished run
    has one."""
    unanswered = Tally(asked.workflow_run_id for asked in state.inputs if not asked.answered)
    return all(
        unanswered[run.workflow_run_id] == int(run.state is WorkflowRunState.WAITING)
        for run in state.runs
        if run.state in UNFINISHED_RUN_STATES or run.state is WorkflowRunState.COMPLETED
    )


@invariant("lifecycle-08")
def completed_means_every_run_ended_well(terms: Terms, state: State) -> bool:
    """Every run of a completed journey completed, or failed and is superseded."""
    return state.lifecycle is not LifecycleState.COMPLETED or all(
        run.state is WorkflowRunState.COMPLETED
        or (run.state is WorkflowRunState.FAILED and run.superseded)
        for run in state.runs
    )


@invariant("run-01", "run-04", "run-05", "run-06", "dispatch-07", "dispatch-08")
def every_stage_is_entered_once(terms: Terms, state: State) -> bool:
    """The runs of each stage that was entered are its members, each once and in order, and none
    lies beyond the stage that was entered last; every other run stands where an earlier run, its
    parent, does."""
    stages, known = stages_of(terms), dict[str, Run]()
    entered = dict[int, list[str | None]]()
    for run in state.runs:
        parent = known.get(run.parent_workflow_run_id or "")
        known[run.workflow_run_id] = run
        if (state.position or 0) < run.sequence_position:
            return False
        if run.purpose in (WorkflowRunPurpose.ENTRY, WorkflowRunPurpose.ADVANCEMENT):
            members = entered.setdefault(run.sequence_position, [])
            if (run.stage_id, run.member_ordinal) != (
                stages[run.sequence_position][0],
                len(members),
            ) or (parent is None) != (run.sequence_position == terms.entry_position):
                return False
            members.append(run.workflow_id)
        elif parent is None or (
            (run.stage_id, run.sequence_position, run.member_ordinal)
            != (parent.stage_id, parent.sequence_position, parent.member_ordinal)
        ):
            return False
    return len(known) == len(state.runs) and all(
        members == list(stages[at][1] or (None,)) for at, members in entered.items()
    )


@invariant("run-07")
def superseded_means_one_repair(terms: Terms, state: State) -> bool:
    """A run is superseded exactly if one repair answers for it, and only a failed one is."""
    repairs = Tally(
        run.parent_workflow_run_id for run in state.runs if run.purpose is WorkflowRunPurpose.REPAIR
    )
    return all(
        repairs[run.workflow_run_id] == int(run.superseded)
        and (not run.superseded or run.state is WorkflowRunState.FAILED)
        for run in state.runs
    )


@invariant("ceiling-01", "ceiling-05", "ceiling-12")
def exposure_stays_within_the_ceiling(terms: Terms, state: State) -> bool:
    """Only an overshoot, recorded as one, takes the exposure past the ceiling."""
    return state.totals.exposure <= terms.max_total_tokens or any(
        evidence.kind is DiscrepancyKind.USAGE_OVER_RESERVATION for evidence in state.discrepancies
    )


@invariant("counter-08")
def counters_stay_within_their_limits(terms: Terms, state: State) -> bool:
    """No counter exceeds its limit."""
    return all(
        limit is None or claimed <= limit
        for claimed, limit in zip(state.counters, terms.limits, strict=True)
    )


@invariant("reservation-01", "reservation-02", "identity-05")
def reservations_are_well_formed(terms: Terms, state: State) -> bool:
    """Ids are unique, runs known, versions and tokens were there before, and actual usage goes
    with reconciliation."""
    runs = {run.workflow_run_id for run in state.runs}
    ids = {transmission.transmission_id for transmission in state.transmissions}
    versions = [transmission.created_version for transmission in state.transmissions]
    return (
        len(ids) == len(state.transmissions)
        and versions == sorted(set(versions))
        and all(
            transmission.workflow_run_id in runs
            and transmission.created_version <= state.record_version
            and state.lease is not None
            and 1 <= transmission.fencing_token <= state.lease.fencing_token
            and transmission.estimated_prompt_tokens < transmission.reserved_tokens
            and (transmission.actual_tokens is not None)
            == (transmission.state is ReservationState.RECONCILED)
            for transmission in state.transmissions
        )
    )


@invariant("ambiguity-06", "group-08")
def invocations_are_uniform(terms: Terms, state: State) -> bool:
    """All transmissions of one invocation have one run and one idempotency, and without an
    idempotency contract at most one of them is open."""
    kinds = {(t.invocation_id, t.workflow_run_id, t.idempotency) for t in state.transmissions}
    open_ones = [
        transmission.invocation_id
        for transmission in state.transmissions
        if transmission.idempotency is Idempotency.NONE
        and transmission.state in (ReservationState.RESERVED, ReservationState.TRANSMITTED)
    ]
    return len({invocation for invocation, _run, _kind in kinds}) == len(kinds) and len(
        set(open_ones)
    ) == len(open_ones)


@invariant("settle-01", "settle-03", "settle-07")
def accounting_fields_go_together(terms: Terms, state: State) -> bool:
    """Final accounting has its moment and its number of discrepancies, pending has neither."""
    pending = state.accounting is AccountingStatus.PENDING
    return (state.settled_at is None) == (state.settled_discrepancies is None) == pending


@invariant("usage-07", "usage-08", "usage-10", "ceiling-12", "reservation-11")
def evidence_fits_its_transmission(terms: Terms, state: State) -> bool:
    """Each piece of evidence is the first of its kind for its transmission, and says something
    that the transmission's record allows."""
    records = {transmission.transmission_id: transmission for transmission in state.transmissions}
    keys = {(evidence.transmission_id, evidence.kind) for evidence in state.discrepancies}
    return len(keys) == len(state.discrepancies) and all(
        evidence.transmission_id in records
        and _fits(state, evidence, records[evidence.transmission_id])
        for evidence in state.discrepancies
    )


def _fits(state: State, evidence: Discrepancy, record: Transmission) -> bool:
    reported = evidence.reported_tokens
    match evidence.kind:
        case DiscrepancyKind.MALFORMED_USAGE:
            return reported is None
        case DiscrepancyKind.USAGE_OVER_RESERVATION:
            over = reported is not None and reported > record.reserved_tokens
            return over and record.actual_tokens == reported
        case DiscrepancyKind.CONFLICTING_USAGE:
            return record.actual_tokens is not None and reported != record.actual_tokens
        case DiscrepancyKind.LATE_USAGE:
            expired = record.state is ReservationState.EXPIRED_CONSERVATIVELY
            return expired and state.accounting is AccountingStatus.SETTLEMENT_FAILED
        case DiscrepancyKind.USAGE_OF_UNSENT:
            return reported is not None


@invariant("idempotency-09", "lease-03")
def operations_are_known_once(terms: Terms, state: State) -> bool:
    """Each operation id is recorded once, and a lease is there from the first grant on."""
    ids = {operation.operation_id for operation in state.operations}
    return len(ids) == len(state.operations) and (
        state.lease is not None or not (state.operations or state.runs)
    )


@invariant("usage-06", "ceiling-08")
def totals_stay_in_range(terms: Terms, state: State) -> bool:
    """Every public number is an integer from 0 to 2**53-1."""
    return all(
        0 <= number <= MAXIMUM_INTEGER
        for number in (*state.totals, state.totals.exposure, state.observed, state.estimated)
    )


@invariant("reservation-19", "usage-01", "usage-02", "usage-03", "usage-04", "settle-04")
def running_totals_agree_with_the_records(terms: Terms, state: State) -> bool:
    """The oracle finds every running total to be what the records add up to."""
    return not disagreements(terms, state)


def explain(terms: Terms, state: State) -> Iterator[str]:
    """What is wrong with a state, one line each; nothing if nothing is."""
    for name in broken_invariants(terms, state):
        yield f"{name}: {(INVARIANTS[name].holds.__doc__ or '').splitlines()[0]}"
    for total in disagreements(terms, state):
        yield f"the oracle finds another value of {total}"
