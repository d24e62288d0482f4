"""Legality: which changes of a journey any step may make at all, by the vocabulary's tables."""

from collections.abc import Iterator

from wayproof.model.journey.state import Run, State, Transmission
from wayproof.spec.journey.vocabulary import (
    ACCOUNTING_TRANSITIONS,
    LIFECYCLE_TRANSITIONS,
    RESERVATION_TRANSITIONS,
    TERMINAL_STATES,
    WorkflowRunState,
)


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
        if new.state is not old.state and old.state is not WorkflowRunState.ACTIVE:
            yield f"illegal change of a run: {old.state} to {new.state}"
        kept = old._replace(state=new.state, finished_at=new.finished_at, superseded=new.superseded)
        if new != kept or (old.superseded and not new.superseded):
            yield "what a run was started with changed"
