"""Workflow runs: the entry stage, children, ends, and the counters that attempts claim."""

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
from wayproof.impl.journey.stages import (
    CREATE_RUN,
    begin_stages,
    completes_stage,
    enter_stage,
    entered_by,
    next_stage,
)
from wayproof.impl.journey.transaction import Transaction
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
from wayproof.spec.journey.vocabulary import Counter, WorkflowRunState

_CHILD_COUNTERS: Final[dict[str, dict[Counter, int]]] = {
    "decomposition": {Counter.WORKFLOW_RUN_STARTS: 1},
    "repair": {Counter.WORKFLOW_RUN_STARTS: 1, Counter.WORKFLOW_REPAIR_STARTS: 1},
    "refinement": {Counter.WORKFLOW_RUN_STARTS: 1, Counter.APP_REFINEMENT_STARTS: 1},
}
"""What each purpose of a child run claims."""


def begin_journey(tx: Transaction, request: BeginJourneyRequest) -> Any:
    """Enter the entry stage, and with it start the journey."""
    if tx.row.started_at is not None:
        return _begun(tx)
    require_live(tx, request.fencing_token)
    require_going(tx)
    begin_stages(tx)
    return _begun(tx)


def _begun(tx: Transaction) -> Any:
    runs, waits_for = entered_by(tx, None)
    return encode(WorkflowRunsStarted(workflow_run_ids=runs, input_request_id=waits_for))


def start_workflow_run(tx: Transaction, request: StartWorkflowRunRequest) -> Any:
    """Start a child of an existing run."""
    answer = recorded_answer(tx, request)
    if answer is not None:
        return answer
    parent = known_run(tx, request.parent_workflow_run_id)
    require_live(tx, request.fencing_token)
    require_going(tx)
    if request.purpose == "decomposition":
        require_active(parent)
    is_repair = request.purpose == "repair"
    if is_repair and (parent.state != "failed" or parent.superseded):
        raise Refusal(RefusalCode.PARENT_NOT_FAILED)
    wanted = _CHILD_COUNTERS[request.purpose]
    require_room(tx, wanted)
    run = new_workflow_run_id()
    tx.set_once(
        CREATE_RUN,
        (
            *(tx.row.journey, run, parent.workflow_run_id, request.workflow_id, request.purpose),
            *(parent.stage_id, parent.sequence_position, parent.member_ordinal, "active"),
            *(None, None, None, tx.now, tx.now, None),
        ),
    )
    if is_repair:
        tx.set_once(
            "UPDATE workflow_runs SET superseded = 1 WHERE journey = ? AND workflow_run_id = ?"
            " AND state = 'failed' AND superseded = 0",
            (tx.row.journey, parent.workflow_run_id),
        )
    repaired = int(is_repair)
    is_of_stage = int(parent.sequence_position == tx.row.stage_position)
    tx.change(
        "active_runs = active_runs + 1, unrepaired_failures = unrepaired_failures - ?,"
        " stage_unfinished = stage_unfinished + ?, stage_failures = stage_failures - ?,"
        f" {claims(wanted)}",
        (repaired, is_of_stage, is_of_stage * repaired),
        guard=" AND lifecycle_state = 'running'",
    )
    started = WorkflowRunsStarted(workflow_run_ids=(run,), input_request_id=None)
    return record_answer(tx, request, started)


def finish_workflow_run(tx: Transaction, request: FinishWorkflowRunRequest) -> Any:
    """Record how a run ended, and enter the next stage if that completes the present one; of a
    cancelling journey, that it stopped."""
    run = tx.run(request.workflow_run_id)
    if run is not None and run.state in ("completed", "failed", "stopped"):
        if run.state not in ("stopped", request.outcome):
            raise Refusal(RefusalCode.OPERATION_CONFLICT)
        return _reading(tx, run.workflow_run_id, run.state)
    run = known_run(tx, request.workflow_run_id)
    require_live(tx, request.fencing_token)
    require_going(tx, or_cancelling=True)
    require_active(run)
    state = "stopped" if tx.row.lifecycle_state == "cancelling" else request.outcome
    advances = state == "completed" and completes_stage(tx, run.sequence_position)
    planned = next_stage(tx) if advances else []
    tx.set_once(
        "UPDATE workflow_runs SET state = ?, finished_at = ?"
        " WHERE journey = ? AND workflow_run_id = ? AND state = 'active'",
        (state, tx.now, tx.row.journey, run.workflow_run_id),
    )
    failed = int(state == "failed")
    is_of_stage = int(run.sequence_position == tx.row.stage_position)
    tx.change(
        "active_runs = active_runs - 1, unrepaired_failures = unrepaired_failures + ?,"
        " stage_unfinished = stage_unfinished - ?, stage_failures = stage_failures + ?",
        (failed, is_of_stage, is_of_stage * failed),
    )
    if planned:
        tx.reload()
        enter_stage(tx, planned, by=run.workflow_run_id)
    if state == "stopped":
        tx.reload()
        schedule(tx)
    return _reading(tx, run.workflow_run_id, state)


def claim_attempt(tx: Transaction, request: ClaimAttemptRequest) -> Any:
    """Claim one of each named counter, all or none."""
    answer = recorded_answer(tx, request)
    if answer is not None:
        return answer
    run = known_run(tx, request.workflow_run_id)
    require_live(tx, request.fencing_token)
    require_going(tx)
    require_active(run)
    wanted = {Counter(counter.value): 1 for counter in request.counters}
    require_room(tx, wanted)
    tx.change(claims(wanted), guard=" AND lifecycle_state = 'running'")
    claimed = AttemptClaimed(operation_id=request.operation_id, counters=request.counters)
    return record_answer(tx, request, claimed)


def known_run(tx: Transaction, workflow_run_id: str) -> RunRow:
    """A run of the journey.

    Raises:
        Refusal: ``unknown_workflow_run``.
    """
    run = tx.run(workflow_run_id)
    if run is None:
        raise Refusal(RefusalCode.UNKNOWN_WORKFLOW_RUN)
    return run


def require_active(run: RunRow) -> None:
    """Refuse what only an active run may do.

    Raises:
        Refusal: ``workflow_run_not_active`` for a queued or waiting run, else
            ``workflow_run_finished``.
    """
    if run.state in ("queued", "waiting"):
        raise Refusal(RefusalCode.WORKFLOW_RUN_NOT_ACTIVE)
    if run.state != "active":
        raise Refusal(RefusalCode.WORKFLOW_RUN_FINISHED)


def _reading(tx: Transaction, workflow_run_id: str, state: str) -> Any:
    runs, waits_for = entered_by(tx, workflow_run_id) if state == "completed" else ((), None)
    return encode(
        WorkflowRunReading(
            workflow_run_id=workflow_run_id,
            state=WorkflowRunState(state),
            next_workflow_run_ids=runs,
            next_input_request_id=waits_for,
        )
    )
