"""Workflow runs: the entry stage, children, ends, and the counters that attempts claim."""

from typing import Any, Final

from wayproof.impl.journey.ending import require_going, schedule
from wayproof.impl.journey.entering import (
    BY_BEGINNING,
    NOTHING_ENTERED,
    Entered,
    advancement,
    create_run,
    entered_by,
    entrance,
)
from wayproof.impl.journey.identities import (
    new_workflow_run_id,
    record_answer,
    recorded_answer,
    require_live,
)
from wayproof.impl.journey.limits import claims, require_room
from wayproof.impl.journey.rows import RunRow
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
        return _started(entered_by(tx, BY_BEGINNING))
    require_live(tx, request.fencing_token)
    require_going(tx)
    first = entrance(tx)
    tx.change(
        "lifecycle_state = 'running', started_at = ?",
        (tx.now,),
        guard=" AND lifecycle_state = 'pending'",
    )
    return _started(first.write(tx))


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
    run = RunRow(
        workflow_run_id=new_workflow_run_id(),
        workflow_id=request.workflow_id,
        purpose=request.purpose,
        stage_id=parent.stage_id,
        sequence_position=parent.sequence_position,
        member_ordinal=parent.member_ordinal,
        state="active",
        created_at=tx.now,
        started_at=tx.now,
        parent_workflow_run_id=parent.workflow_run_id,
    )
    create_run(tx, run)
    if is_repair:
        tx.set_once(
            "UPDATE workflow_runs SET superseded = 1 WHERE journey = ? AND workflow_run_id = ?"
            " AND state = 'failed' AND superseded = 0",
            (tx.row.journey, parent.workflow_run_id),
        )
    in_stage = run.sequence_position == tx.row.stage_position
    tx.change(
        "active_runs = active_runs + 1, unfinished_runs = unfinished_runs + 1,"
        " stage_unfinished_runs = stage_unfinished_runs + ?,"
        " unrepaired_failures = unrepaired_failures - ?,"
        f" stage_unrepaired_failures = stage_unrepaired_failures - ?, {claims(wanted)}",
        (in_stage, is_repair, in_stage and is_repair),
        guard=" AND lifecycle_state = 'running'",
    )
    started = WorkflowRunsStarted(workflow_run_ids=(run.workflow_run_id,), input_request_id=None)
    return record_answer(tx, request, started)


def finish_workflow_run(tx: Transaction, request: FinishWorkflowRunRequest) -> Any:
    """Record how a run ended; of a cancelling journey, that it stopped. The end of its stage
    enters the next one."""
    run = known_run(tx, request.workflow_run_id)
    if run.state in ("completed", "failed", "stopped"):
        if run.state not in ("stopped", request.outcome):
            raise Refusal(RefusalCode.OPERATION_CONFLICT)
        return _reading(run.workflow_run_id, run.state, entered_by(tx, run.workflow_run_id))
    require_live(tx, request.fencing_token)
    require_going(tx, or_cancelling=True)
    require_active(run)
    state = "stopped" if tx.row.lifecycle_state == "cancelling" else request.outcome
    next_stage = advancement(tx, run) if state == "completed" else None
    tx.set_once(
        "UPDATE workflow_runs SET state = ?, finished_at = ?"
        " WHERE journey = ? AND workflow_run_id = ? AND state = 'active'",
        (state, tx.now, tx.row.journey, run.workflow_run_id),
    )
    in_stage = run.sequence_position == tx.row.stage_position
    failed = state == "failed"
    tx.change(
        "active_runs = active_runs - 1, unfinished_runs = unfinished_runs - 1,"
        " stage_unfinished_runs = stage_unfinished_runs - ?,"
        " unrepaired_failures = unrepaired_failures + ?,"
        " stage_unrepaired_failures = stage_unrepaired_failures + ?",
        (in_stage, failed, in_stage and failed),
    )
    if state == "stopped":
        tx.reload()
        schedule(tx)
    entered = NOTHING_ENTERED if next_stage is None else next_stage.write(tx)
    return _reading(run.workflow_run_id, state, entered)


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
    """The run that a request names.

    Raises:
        Refusal: ``unknown_workflow_run``.
    """
    run = tx.run(workflow_run_id)
    if run is None:
        raise Refusal(RefusalCode.UNKNOWN_WORKFLOW_RUN)
    return run


def require_active(run: RunRow) -> None:
    """Refuse work of a run that nobody executes.

    Raises:
        Refusal: ``workflow_run_finished`` or, while it is queued or waits,
            ``workflow_run_not_active``.
    """
    if run.finished_at is not None:
        raise Refusal(RefusalCode.WORKFLOW_RUN_FINISHED)
    if run.state != "active":
        raise Refusal(RefusalCode.WORKFLOW_RUN_NOT_ACTIVE)


def _started(entered: Entered) -> Any:
    return encode(
        WorkflowRunsStarted(
            workflow_run_ids=entered.workflow_run_ids, input_request_id=entered.input_request_id
        )
    )


def _reading(workflow_run_id: str, state: str, entered: Entered) -> Any:
    return encode(
        WorkflowRunReading(
            workflow_run_id=workflow_run_id,
            state=WorkflowRunState(state),
            next_workflow_run_ids=entered.workflow_run_ids,
            next_input_request_id=entered.input_request_id,
        )
    )
