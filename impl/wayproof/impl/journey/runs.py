"""Workflow runs: the entry stage, children, ends, and the counters that attempts claim."""

import json
from typing import Any, Final

from wayproof.impl.journey.ending import require_going, schedule
from wayproof.impl.journey.identities import (
    new_workflow_run_id,
    record_answer,
    recorded_answer,
    require_live,
)
from wayproof.impl.journey.limits import claims, require_room
from wayproof.impl.journey.rows import RunRow
from wayproof.impl.journey.transaction import LostUpdateError, Transaction
from wayproof.spec.journey.definitions import ResolvedDefinition, StepDeclaration
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.records import (
    AttemptClaimed,
    WorkflowRunReading,
    WorkflowRunsStarted,
)
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import (
    BeginJourneyRequest,
    ClaimAttemptRequest,
    FinishWorkflowRunRequest,
    StartWorkflowRunRequest,
)
from wayproof.spec.journey.validation import decode_record
from wayproof.spec.journey.vocabulary import Counter, WorkflowRunState

_CREATE: Final = (
    "INSERT INTO workflow_runs (journey, workflow_run_id, parent_workflow_run_id, workflow_id,"
    " purpose, stage_id, sequence_position, member_ordinal, state, started_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'active', ?)"
)
_ENTRY_RUNS: Final = (
    "SELECT workflow_run_id FROM workflow_runs INDEXED BY entry_runs"
    " WHERE journey = ? AND purpose = 'entry'"
    " ORDER BY member_ordinal"
)
_CHILD_COUNTERS: Final[dict[str, dict[Counter, int]]] = {
    "decomposition": {Counter.WORKFLOW_RUN_STARTS: 1},
    "repair": {Counter.WORKFLOW_RUN_STARTS: 1, Counter.WORKFLOW_REPAIR_STARTS: 1},
    "refinement": {Counter.WORKFLOW_RUN_STARTS: 1, Counter.APP_REFINEMENT_STARTS: 1},
}
"""What each purpose of a child run claims."""


def begin_journey(tx: Transaction, request: BeginJourneyRequest) -> Any:
    """Start every member of the entry stage, and with them the journey."""
    row = tx.row
    if row.started_at is not None:
        found = tx.connection.execute(_ENTRY_RUNS, (row.journey,))
        return encode(WorkflowRunsStarted(workflow_run_ids=tuple(run for (run,) in found)))
    require_live(tx, request.fencing_token)
    require_going(tx)
    stage = _entry_stage(tx)
    wanted = {Counter.WORKFLOW_RUN_STARTS: len(stage.workflows)}
    require_room(tx, wanted)
    runs = tuple(new_workflow_run_id() for _ in stage.workflows)
    tx.connection.executemany(
        _CREATE,
        [
            (
                *(row.journey, run, None, workflow, "entry", stage.stage_id),
                *(row.entry_position, ordinal, tx.now),
            )
            for ordinal, (run, workflow) in enumerate(zip(runs, stage.workflows, strict=True))
        ],
    )
    tx.change(
        "lifecycle_state = 'running', started_at = ?, current_stage = ?,"
        f" active_runs = active_runs + ?, {claims(wanted)}",
        (tx.now, stage.stage_id, len(runs)),
        guard=" AND lifecycle_state = 'pending'",
    )
    return encode(WorkflowRunsStarted(workflow_run_ids=runs))


def start_workflow_run(tx: Transaction, request: StartWorkflowRunRequest) -> Any:
    """Start a child of an existing run."""
    answer = recorded_answer(tx, request)
    if answer is not None:
        return answer
    parent = _known_run(tx, request.parent_workflow_run_id)
    require_live(tx, request.fencing_token)
    require_going(tx)
    if request.purpose == "decomposition" and parent.state != "active":
        raise Refusal(RefusalCode.WORKFLOW_RUN_FINISHED)
    is_repair = request.purpose == "repair"
    if is_repair and (parent.state != "failed" or parent.superseded):
        raise Refusal(RefusalCode.PARENT_NOT_FAILED)
    wanted = _CHILD_COUNTERS[request.purpose]
    require_room(tx, wanted)
    run = new_workflow_run_id()
    tx.set_once(
        _CREATE,
        (
            *(tx.row.journey, run, parent.workflow_run_id, request.workflow_id, request.purpose),
            *(parent.stage_id, parent.sequence_position, parent.member_ordinal, tx.now),
        ),
    )
    if is_repair:
        tx.set_once(
            "UPDATE workflow_runs SET superseded = 1 WHERE journey = ? AND workflow_run_id = ?"
            " AND state = 'failed' AND superseded = 0",
            (tx.row.journey, parent.workflow_run_id),
        )
    tx.change(
        "active_runs = active_runs + 1, unrepaired_failures = unrepaired_failures - ?,"
        f" {claims(wanted)}",
        (1 if is_repair else 0,),
        guard=" AND lifecycle_state = 'running'",
    )
    return record_answer(tx, request, WorkflowRunsStarted(workflow_run_ids=(run,)))


def finish_workflow_run(tx: Transaction, request: FinishWorkflowRunRequest) -> Any:
    """Record how a run ended; of a cancelling journey, that it stopped."""
    run = tx.run(request.workflow_run_id)
    if run is not None and (run.state == "stopped" or run.state in ("completed", "failed")):
        if run.state not in ("stopped", request.outcome):
            raise Refusal(RefusalCode.OPERATION_CONFLICT)
        return _reading(run.workflow_run_id, run.state)
    run = _known_run(tx, request.workflow_run_id)
    require_live(tx, request.fencing_token)
    require_going(tx, or_cancelling=True)
    state = "stopped" if tx.row.lifecycle_state == "cancelling" else request.outcome
    tx.set_once(
        "UPDATE workflow_runs SET state = ?, finished_at = ?"
        " WHERE journey = ? AND workflow_run_id = ? AND state = 'active'",
        (state, tx.now, tx.row.journey, run.workflow_run_id),
    )
    tx.change(
        "active_runs = active_runs - 1, unrepaired_failures = unrepaired_failures + ?",
        (1 if state == "failed" else 0,),
    )
    if state == "stopped":
        tx.reload()
        schedule(tx)
    return _reading(run.workflow_run_id, state)


def claim_attempt(tx: Transaction, request: ClaimAttemptRequest) -> Any:
    """Claim one of each named counter, all or none."""
    answer = recorded_answer(tx, request)
    if answer is not None:
        return answer
    run = _known_run(tx, request.workflow_run_id)
    require_live(tx, request.fencing_token)
    require_going(tx)
    if run.state != "active":
        raise Refusal(RefusalCode.WORKFLOW_RUN_FINISHED)
    wanted = {Counter(counter.value): 1 for counter in request.counters}
    require_room(tx, wanted)
    tx.change(claims(wanted), guard=" AND lifecycle_state = 'running'")
    claimed = AttemptClaimed(operation_id=request.operation_id, counters=request.counters)
    return record_answer(tx, request, claimed)


def _known_run(tx: Transaction, workflow_run_id: str) -> RunRow:
    run = tx.run(workflow_run_id)
    if run is None:
        raise Refusal(RefusalCode.UNKNOWN_WORKFLOW_RUN)
    return run


def _entry_stage(tx: Transaction) -> StepDeclaration:
    """The step at which the pinned definition is entered, whatever the registry says by now."""
    found = tx.one(
        "SELECT definition FROM definitions WHERE definition_digest = ?",
        (tx.row.definition_digest,),
    )
    if found is None:
        raise LostUpdateError("a pinned definition is gone")
    definition = decode_record(ResolvedDefinition, json.loads(found[0]))
    return definition.sequence.steps[tx.row.entry_position]


def _reading(workflow_run_id: str, state: str) -> Any:
    return encode(
        WorkflowRunReading(workflow_run_id=workflow_run_id, state=WorkflowRunState(state))
    )
