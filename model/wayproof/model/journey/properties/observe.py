"""Contracts of observation: what reads show, when the version rises, and that reads are reads."""

from datetime import UTC, datetime
from typing import Final

from wayproof.model.journey.properties.contract import JourneyStep, journey_contract
from wayproof.model.journey.properties.due import overdue
from wayproof.model.journey.properties.exposure import estimate_of
from wayproof.model.journey.properties.outcome import contract_order
from wayproof.model.journey.properties.situation import (
    OPEN,
    READS,
    identity_is_known,
    is_terminal,
    nothing_changed,
)
from wayproof.model.journey.state import State
from wayproof.model.journey.transition import Answered
from wayproof.spec.journey import requests
from wayproof.spec.journey.constraints import EPOCH, from_milliseconds
from wayproof.spec.journey.records import JourneySnapshot, WorkflowRunListing
from wayproof.spec.journey.vocabulary import TERMINAL_STATES, Counter


def _snapshot(step: JourneyStep) -> JourneySnapshot | None:
    """The snapshot that a read was answered with."""
    if not isinstance(step.request, requests.SnapshotRequest):
        return None
    return step.answer if isinstance(step.answer, JourneySnapshot) else None


def _listing(step: JourneyStep) -> WorkflowRunListing | None:
    """A listing of at least one run."""
    if not isinstance(step.request, requests.ListWorkflowRunsRequest) or not step.before.runs:
        return None
    return step.answer if isinstance(step.answer, WorkflowRunListing) else None


def _moment(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else from_milliseconds(milliseconds)


@journey_contract("observe-01")
def snapshot_shows_identity_and_state(step: JourneyStep) -> bool | None:
    """Identity, pinned version, state and accounting; a reason exactly at the end."""
    shown = _snapshot(step)
    if shown is None:
        return None
    state, terms = step.before, step.terms
    return (
        (shown.journey_id, shown.workflow_sequence_id, shown.definition_digest)
        == (terms.journey_id, terms.definition.sequence.id, terms.definition_digest)
        and (shown.lifecycle_state, shown.accounting_status) == (state.lifecycle, state.accounting)
        and shown.terminal_reason == state.terminal_reason
        and (shown.terminal_reason is not None) == (shown.lifecycle_state in TERMINAL_STATES)
    )


@journey_contract("observe-02")
def snapshot_shows_the_stage(step: JourneyStep) -> bool | None:
    """The current stage of a journey that has begun is the furthest that was entered."""
    shown = _snapshot(step)
    if shown is None or step.before.started_at is None:
        return None
    entered = max((run.sequence_position for run in step.before.runs), default=0)
    return shown.current_stage == step.terms.definition.sequence.steps[entered].stage_id


@journey_contract("observe-02")
def listing_shows_every_run(step: JourneyStep) -> bool | None:
    """All runs, each with its parent and its outcome."""
    shown = _listing(step)
    if shown is None:
        return None
    return {
        (run.workflow_run_id, run.parent_workflow_run_id, run.state, run.superseded)
        for run in shown.workflow_runs
    } == {
        (run.workflow_run_id, run.parent_workflow_run_id, run.state, run.superseded)
        for run in step.before.runs
    }


@journey_contract("observe-03")
def snapshot_shows_its_moments(step: JourneyStep) -> bool | None:
    """When it was created, became running, ended and settled, and its deadline."""
    shown, state = _snapshot(step), step.before
    if shown is None or (state.started_at is None and state.finished_at is None):
        return None
    moments = (
        shown.created_at,
        shown.started_at,
        shown.finished_at,
        shown.settled_at,
        shown.deadline_utc,
    )
    recorded = (
        step.terms.created_at,
        state.started_at,
        state.finished_at,
        state.settled_at,
        step.terms.deadline,
    )
    return moments == tuple(map(_moment, recorded)) and all(
        moment is None
        or (moment.tzinfo is UTC and moment.microsecond % 1000 == 0 and moment >= EPOCH)
        for moment in moments
    )


@journey_contract("observe-04")
def snapshot_shows_its_tokens(step: JourneyStep) -> bool | None:
    """The ceiling and every total, each on its own."""
    shown, state = _snapshot(step), step.before
    if shown is None or not state.transmissions:
        return None
    tokens = shown.tokens
    return (
        shown.max_total_tokens,
        tokens.estimated_prompt_tokens,
        tokens.reserved_tokens,
        tokens.conservatively_committed_tokens,
        tokens.observed_actual_tokens,
        tokens.reconciled_tokens,
    ) == (
        step.terms.policy.max_total_tokens,
        estimate_of(state.transmissions),
        state.totals.reserved,
        state.totals.conservative,
        state.observed,
        state.totals.reconciled,
    )


@journey_contract("observe-05")
def snapshot_shows_its_counters(step: JourneyStep) -> bool | None:
    """How often each counter was claimed."""
    shown = _snapshot(step)
    if shown is None or not any(step.before.counters):
        return None
    return (
        tuple(getattr(shown.counters, counter.value).claimed for counter in Counter)
        == step.before.counters
    )


@journey_contract("observe-06")
def snapshot_shows_cancellation_and_settlement(step: JourneyStep) -> bool | None:
    """Reason, time and deadline of a cancellation once there is one, the accounting deadline
    once the journey is terminal, and none of them before; also in the answer of a cancel."""
    shown, state = step.answer, step.after
    if not isinstance(shown, JourneySnapshot):
        return None
    cancellation = state.cancellation
    if cancellation is None:
        expected = None
    else:
        expected = (
            cancellation.reason,
            from_milliseconds(cancellation.requested_at),
            from_milliseconds(cancellation.deadline),
        )
    read = shown.cancellation
    observed = read and (
        read.reason_code,
        read.cancellation_requested_at,
        read.cancellation_deadline_utc,
    )
    return (
        observed == expected
        and (shown.accounting_deadline_utc is not None) == is_terminal(state)
        and shown.accounting_deadline_utc == _moment(state.accounting_deadline)
    )


@journey_contract("observe-07")
def run_snapshot_shows_the_run(step: JourneyStep) -> bool | None:
    """Ids, position, workflow, outcome and times of every run."""
    shown = _listing(step)
    if shown is None:
        return None
    recorded = {run.workflow_run_id: run for run in step.before.runs}
    for run in shown.workflow_runs:
        known = recorded.get(run.workflow_run_id)
        if known is None or (
            run.parent_workflow_run_id,
            run.sequence_position,
            run.workflow_id,
            run.state,
            run.started_at,
            run.finished_at,
        ) != (
            known.parent_workflow_run_id,
            known.sequence_position,
            known.workflow_id,
            known.state,
            _moment(known.started_at),
            _moment(known.finished_at),
        ):
            return False
    return True


@journey_contract("observe-10")
def runs_are_listed_in_contract_order(step: JourneyStep) -> bool | None:
    """Sequence position, member ordinal, creation time, id."""
    shown = _listing(step)
    if shown is None or len(step.before.runs) < 2:
        return None
    return [run.workflow_run_id for run in shown.workflow_runs] == [
        run.workflow_run_id for run in sorted(step.before.runs, key=contract_order)
    ]


@journey_contract("observe-11")
def reads_belong_to_one_version(step: JourneyStep) -> bool | None:
    """Snapshot and listing carry the version that they show."""
    shown = _snapshot(step) or _listing(step)
    if shown is None:
        return None
    return shown.record_version == step.before.record_version


_HIDDEN: Final = {"record_version": 0, "lease": None, "operations": ()}
"""What no read shows, and the version itself."""


def _exposed(state: State) -> State:
    return state._replace(**_HIDDEN)  # type: ignore[arg-type]


@journey_contract("observe-12")
def every_exposed_change_raises_the_version(step: JourneyStep) -> bool | None:
    """A commit that changes anything a read shows raises the record version."""
    if step.after is step.before or _exposed(step.after) == _exposed(step.before):
        return None
    return step.after.record_version > step.before.record_version


@journey_contract("observe-13")
def reads_and_replays_leave_the_version(step: JourneyStep) -> bool | None:
    """A read, or an answer that was recorded, raises nothing."""
    if not isinstance(step.request, READS) and not (
        isinstance(step.reply, Answered) and step.request is not None and identity_is_known(step)
    ):
        return None
    return step.after.record_version == step.before.record_version


@journey_contract("observe-14")
def read_lets_no_time_take_effect(step: JourneyStep) -> bool | None:
    """A read of a journey for which something is overdue changes nothing."""
    if not isinstance(step.request, READS):
        return None
    if overdue(step) is None and not any(
        record.state in OPEN and step.now >= record.lease_expires_at
        for record in step.before.transmissions
    ):
        return None
    return nothing_changed(step)
