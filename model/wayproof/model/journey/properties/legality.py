"""Legality: which changes of a journey any step may make at all, by the vocabulary's tables."""

from collections.abc import Iterator

from wayproof.model.journey.state import InputRequest, Intent, Run, State, Transmission
from wayproof.spec.journey.vocabulary import (
    ACCOUNTING_TRANSITIONS,
    DISPATCH_TRANSITIONS,
    LIFECYCLE_TRANSITIONS,
    RESERVATION_TRANSITIONS,
    TERMINAL_STATES,
    UNFINISHED_RUN_STATES,
    WorkflowRunState,
)

_RUN_TRANSITIONS = {
    state: frozenset[WorkflowRunState]()
    for state in WorkflowRunState
    if state not in UNFINISHED_RUN_STATES
} | {
    WorkflowRunState.QUEUED: frozenset(
        {WorkflowRunState.ACTIVE, WorkflowRunState.STOPPED, WorkflowRunState.QUARANTINED}
    ),
    WorkflowRunState.ACTIVE: frozenset(WorkflowRunState) - {WorkflowRunState.QUEUED},
    WorkflowRunState.WAITING: frozenset(
        {
            WorkflowRunState.QUEUED,
            WorkflowRunState.COMPLETED,
            WorkflowRunState.STOPPED,
            WorkflowRunState.QUARANTINED,
        }
    ),
}


def illegal_changes(before: State, after: State) -> tuple[str, ...]:
    """Every change from one state to the next that no step may make, in words."""
    return tuple(_illegal_changes(before, after)) if after is not before else ()


def _illegal_changes(before: State, after: State) -> Iterator[str]:
    if (
        after.lifecycle is not before.lifecycle
        and after.lifecycle not in LIFECYCLE_TRANSITIONS[before.lifecycle]
    ):
        yield f"illegal lifecycle transition: {before.lifecycle} to {after.lifecycle}"
    if (
        after.accounting is not before.accounting
        and after.accounting not in ACCOUNTING_TRANSITIONS[before.accounting]
    ):
        yield f"illegal accounting transition: {before.accounting} to {after.accounting}"
    if before.lifecycle in TERMINAL_STATES and (
        (before.terminal_reason, before.finished_at, before.runs)
        != (after.terminal_reason, after.finished_at, after.runs)
    ):
        yield "an outcome changed"
    if after.transmissions is not before.transmissions:
        yield from _of_records(before.transmissions, after.transmissions)
    if after.runs is not before.runs:
        yield from _of_runs(before.runs, after.runs)
    if after.intents is not before.intents:
        yield from _of_intents(before.intents, after.intents)
    if after.inputs is not before.inputs:
        yield from _of_inputs(before.inputs, after.inputs)
    if after.position is not before.position and (
        after.position is None or (before.position or 0) > after.position
    ):
        yield "a stage was entered that lies behind"
    if after.discrepancies[: len(before.discrepancies)] != before.discrepancies:
        yield "a discrepancy was changed or removed"
    if any(new < old for old, new in zip(before.counters, after.counters, strict=True)):
        yield "a counter fell"
    if after.estimated < before.estimated or after.observed < before.observed:
        yield "a sum that never falls fell"
    if before.lease is not None and (
        after.lease is None or after.lease.fencing_token < before.lease.fencing_token
    ):
        yield "a fencing token fell"
    if not 0 <= after.record_version - before.record_version <= 1:
        yield "the record version rose by more than one, or fell"


def _of_records(before: tuple[Transmission, ...], after: tuple[Transmission, ...]) -> Iterator[str]:
    if len(after) < len(before):
        yield "a reservation was removed"
    for old, new in zip(before, after, strict=False):
        if new is old:
            continue
        if new.state is not old.state and new.state not in RESERVATION_TRANSITIONS[old.state]:
            yield f"illegal reservation transition: {old.state} to {new.state}"
        kept = old._replace(
            state=new.state,
            actual_tokens=new.actual_tokens,
            lease_expires_at=new.lease_expires_at,
        )
        if new != kept or new.lease_expires_at < old.lease_expires_at:
            yield "what a reservation was granted with changed"


def _of_runs(before: tuple[Run, ...], after: tuple[Run, ...]) -> Iterator[str]:
    if len(after) < len(before):
        yield "a run was removed"
    for old, new in zip(before, after, strict=False):
        if new is old:
            continue
        if new.state is not old.state and new.state not in _RUN_TRANSITIONS[old.state]:
            yield f"illegal change of a run: {old.state} to {new.state}"
        kept = old._replace(
            state=new.state,
            started_at=new.started_at if old.started_at is None else old.started_at,
            finished_at=new.finished_at,
            superseded=new.superseded,
            chosen_option=new.chosen_option if old.chosen_option is None else old.chosen_option,
        )
        if new != kept or (old.superseded and not new.superseded):
            yield "what a run was started with changed"


def _of_intents(before: tuple[Intent, ...], after: tuple[Intent, ...]) -> Iterator[str]:
    if len(after) < len(before):
        yield "a dispatch intent was removed"
    for old, new in zip(before, after, strict=False):
        if new.state is not old.state and new.state not in DISPATCH_TRANSITIONS[old.state]:
            yield f"illegal transition of a dispatch intent: {old.state} to {new.state}"
        if new != old._replace(state=new.state):
            yield "what a dispatch intent was recorded with changed"


def _of_inputs(before: tuple[InputRequest, ...], after: tuple[InputRequest, ...]) -> Iterator[str]:
    if len(after) < len(before):
        yield "an input request was removed"
    for old, new in zip(before, after, strict=False):
        if new != old and (old.answered or new[:2] != old[:2]):
            yield "an input request, or its answer, changed"
