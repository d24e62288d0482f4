"""A slow oracle: every running total of a journey, recomputed from its records alone.

The model keeps totals, counters and the accounting status as it goes; here each is derived anew
from reservations, runs, recorded operations and discrepancies. Two of them the records leave
open within bounds, and the step contracts decide them exactly: what was observed of a group (the
records do not say which member's report settled which), and how many discrepancies there were
when accounting became final (within one millisecond).
"""

from collections import Counter as Tally
from collections.abc import Iterator

from wayproof.model.journey.properties.exposure import estimate_of, exposure_of, groups
from wayproof.model.journey.state import State, Terms
from wayproof.spec.journey.requests import ClaimAttemptRequest
from wayproof.spec.journey.vocabulary import (
    TERMINAL_STATES,
    AccountingStatus,
    Counter,
    DiscrepancyKind,
    ReservationState,
    WorkflowRunPurpose,
)

FINAL = (ReservationState.RECONCILED, ReservationState.RELEASED_UNTRANSMITTED)


def disagreements(terms: Terms, state: State) -> tuple[str, ...]:
    """The names of the running totals that the records contradict."""
    return tuple(_disagreements(terms, state))


def _disagreements(terms: Terms, state: State) -> Iterator[str]:
    exposure = exposure_of(state.transmissions)
    totals = state.totals
    if totals.reconciled != exposure.reconciled:
        yield "reconciled"
    if totals.conservative != exposure.conservative:
        yield "conservative"
    if totals.reserved != exposure.outstanding:
        yield "reserved"
    if state.estimated != estimate_of(state.transmissions):
        yield "estimated"
    least, most = observed_bounds(state)
    if not least <= state.observed <= most:
        yield "observed"
    if state.counters != counters(state):
        yield "counters"
    if state.accounting not in accounting(terms, state):
        yield "accounting"
    if state.settled_discrepancies is not None:
        least, most = settled_discrepancy_bounds(state)
        if not least <= state.settled_discrepancies <= most:
            yield "settled_discrepancies"


def observed_bounds(state: State) -> tuple[int, int]:
    """The least and the most that reports can have stated: each reconciled transmission's usage,
    where equal positive usage inside one group may be one report or several."""
    least = most = 0
    for group in groups(state.transmissions):
        usages = [t.actual_tokens for t in group if t.actual_tokens is not None]
        least += sum(set(usages))
        most += sum(usages)
    return least, most


def counters(state: State) -> tuple[int, ...]:
    """What was claimed of each counter, in policy order."""
    purposes = Tally(run.purpose for run in state.runs)
    attempts = Tally(
        Counter(counter)
        for operation in state.operations
        if isinstance(operation.request, ClaimAttemptRequest)
        for counter in operation.request.counters
    )
    invocations = {transmission.invocation_id for transmission in state.transmissions}
    claimed = {
        Counter.WORKFLOW_RUN_STARTS: sum(run.workflow_id is not None for run in state.runs),
        Counter.TASK_ATTEMPT_STARTS: attempts[Counter.TASK_ATTEMPT_STARTS],
        Counter.PROVIDER_RETRY_ATTEMPTS: len(state.transmissions) - len(invocations),
        Counter.STRUCTURED_OUTPUT_CORRECTION_ATTEMPTS: attempts[
            Counter.STRUCTURED_OUTPUT_CORRECTION_ATTEMPTS
        ],
        Counter.WORKFLOW_REPAIR_STARTS: purposes[WorkflowRunPurpose.REPAIR],
        Counter.APP_REFINEMENT_STARTS: purposes[WorkflowRunPurpose.REFINEMENT],
    }
    return tuple(claimed[counter] for counter in Counter)


def accounting(terms: Terms, state: State) -> frozenset[AccountingStatus]:
    """Every status that the records allow: one, except for a terminal journey with something
    charged conservatively, which is pending until its deadline has been processed."""
    if state.lifecycle not in TERMINAL_STATES:
        return frozenset({AccountingStatus.PENDING})
    states = {transmission.state for transmission in state.transmissions}
    if states <= set(FINAL):
        return frozenset({AccountingStatus.SETTLED})
    if states - {*FINAL, ReservationState.EXPIRED_CONSERVATIVELY}:
        return frozenset({AccountingStatus.PENDING})
    deadline = (state.finished_at or 0) + terms.settlement_grace
    if state.settled_at is not None and state.settled_at < deadline:
        return frozenset()
    return frozenset({AccountingStatus.PENDING, AccountingStatus.SETTLEMENT_FAILED})


def settled_discrepancy_bounds(state: State) -> tuple[int, int]:
    """The least and the most discrepancies that can have been recorded when accounting became
    final."""
    settled_at = state.settled_at or 0
    least = sum(d.recorded_at < settled_at for d in state.discrepancies)
    most = sum(
        d.recorded_at <= settled_at and d.kind is not DiscrepancyKind.LATE_USAGE
        for d in state.discrepancies
    )
    return least, most
