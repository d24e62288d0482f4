"""The outbox: who takes over a queued run, and how a paused one comes back to it."""

from typing import Any, Final

from wayproof.impl.journey.ending import require_going
from wayproof.impl.journey.identities import record_answer, recorded_answer, require_live
from wayproof.impl.journey.rows import IntentRow, RunRow
from wayproof.impl.journey.runs import known_run, require_active
from wayproof.impl.journey.stages import (
    completes_stage,
    enter_stage,
    entered_by,
    next_stage,
    pinned_stages,
    record_intent,
    record_request,
)
from wayproof.impl.journey.transaction import Transaction
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.records import (
    DispatchClaimed,
    DispatchReading,
    InputAccepted,
    InputRequested,
)
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import (
    AcknowledgeDispatchRequest,
    ClaimDispatchedRunRequest,
    RequestInputRequest,
    SubmitInputRequest,
)
from wayproof.spec.journey.vocabulary import DispatchState, WorkflowRunState

_LATEST_INTENT: Final = (
    "SELECT ordinal, state FROM dispatch_intents INDEXED BY intents_of_runs"
    " WHERE journey = ? AND workflow_run_id = ? ORDER BY ordinal DESC LIMIT 1"
)
_REQUEST: Final = (
    "SELECT answered, option_id FROM input_requests"
    " WHERE journey = ? AND input_request_id = ? AND workflow_run_id = ?"
)


def acknowledge_dispatch(tx: Transaction, request: AcknowledgeDispatchRequest) -> Any:
    """Note that a dispatcher received the intent of a run; it stays open."""
    intent = _latest_intent(tx, known_run(tx, request.workflow_run_id))
    require_live(tx, request.fencing_token)
    require_going(tx)
    state = intent.state
    if state == "recorded":
        state = "acknowledged"
        _mark(tx, intent, state, " AND state = 'recorded'")
        tx.change("dispatch_intents = dispatch_intents")
    return encode(
        DispatchReading(
            workflow_run_id=request.workflow_run_id,
            ordinal=intent.ordinal,
            state=DispatchState(state),
        )
    )


def claim_dispatched_run(tx: Transaction, request: ClaimDispatchedRunRequest) -> Any:
    """Take over a queued run, once for each of its intents."""
    run = known_run(tx, request.workflow_run_id)
    intent = _latest_intent(tx, run)
    require_live(tx, request.fencing_token)
    require_going(tx)
    is_open = intent.state in ("recorded", "acknowledged")
    if is_open:
        _mark(tx, intent, "claimed", " AND state IN ('recorded', 'acknowledged')")
        tx.set_once(
            "UPDATE workflow_runs SET state = 'active', started_at = coalesce(started_at, ?)"
            " WHERE journey = ? AND workflow_run_id = ? AND state = 'queued'",
            (tx.now, tx.row.journey, run.workflow_run_id),
        )
        tx.change(
            "active_runs = active_runs + 1, idle_runs = idle_runs - 1",
            guard=" AND lifecycle_state = 'running'",
        )
    return encode(
        DispatchClaimed(
            workflow_run_id=run.workflow_run_id,
            state=WorkflowRunState.ACTIVE if is_open else WorkflowRunState(run.state),
            newly_claimed=is_open,
        )
    )


def request_input(tx: Transaction, request: RequestInputRequest) -> Any:
    """Pause an active run until an input."""
    answer = recorded_answer(tx, request)
    if answer is not None:
        return answer
    run = known_run(tx, request.workflow_run_id)
    require_live(tx, request.fencing_token)
    require_going(tx)
    require_active(run)
    input_request_id = record_request(tx, run.workflow_run_id)
    tx.set_once(
        "UPDATE workflow_runs SET state = 'waiting', pending_input_request_id = ?"
        " WHERE journey = ? AND workflow_run_id = ? AND state = 'active'",
        (input_request_id, tx.row.journey, run.workflow_run_id),
    )
    tx.change(
        "active_runs = active_runs - 1, idle_runs = idle_runs + 1",
        guard=" AND lifecycle_state = 'running'",
    )
    asked = InputRequested(workflow_run_id=run.workflow_run_id, input_request_id=input_request_id)
    return record_answer(tx, request, asked)


def submit_input(tx: Transaction, request: SubmitInputRequest) -> Any:
    """Answer what a run waits for: pass a transition, or queue a paused run again."""
    values = (tx.row.journey, request.input_request_id, request.workflow_run_id)
    asked = tx.one(_REQUEST, values)
    if asked is not None and asked[0]:
        if asked[1] != request.option_id:
            raise Refusal(RefusalCode.INPUT_CONFLICT)
        return _accepted(tx, request, known_run(tx, request.workflow_run_id))
    run = known_run(tx, request.workflow_run_id)
    if asked is None:
        raise Refusal(RefusalCode.UNKNOWN_INPUT_REQUEST)
    _require_offered(tx, run, request.option_id)
    require_going(tx)
    passes = run.workflow_id is None
    advances = passes and completes_stage(tx, run.sequence_position)
    planned = next_stage(tx, request.option_id) if advances else []
    tx.set_once(
        "UPDATE input_requests SET answered = 1, option_id = ?"
        " WHERE journey = ? AND input_request_id = ? AND workflow_run_id = ? AND answered = 0",
        (request.option_id, *values),
    )
    tx.set_once(
        "UPDATE workflow_runs SET state = ?, pending_input_request_id = NULL,"
        " chosen_option_id = ?, finished_at = ?"
        " WHERE journey = ? AND workflow_run_id = ? AND state = 'waiting'",
        (
            *("completed" if passes else "queued", request.option_id),
            *(tx.now if passes else None, tx.row.journey, run.workflow_run_id),
        ),
    )
    ended = int(passes)
    tx.change(
        "idle_runs = idle_runs - ?, stage_unfinished = stage_unfinished - ?",
        (ended, ended),
        guard=" AND lifecycle_state = 'running'",
    )
    tx.reload()
    if not passes:
        record_intent(tx, run.workflow_run_id, "resume", request.input_request_id)
    elif planned:
        enter_stage(tx, planned, by=run.workflow_run_id)
    return _accepted(tx, request, run)


def _require_offered(tx: Transaction, run: RunRow, option_id: str | None) -> None:
    if run.workflow_id is not None:
        is_offered = option_id is None
    else:
        options = pinned_stages(tx).options(run.stage_id)
        is_offered = option_id in options
    if not is_offered:
        raise Refusal(RefusalCode.INVALID_ROUTE_CHOICE)


def _accepted(tx: Transaction, request: SubmitInputRequest, run: RunRow) -> Any:
    passes = run.workflow_id is None
    runs, waits_for = entered_by(tx, run.workflow_run_id) if passes else ((), None)
    return encode(
        InputAccepted(
            workflow_run_id=run.workflow_run_id,
            input_request_id=request.input_request_id,
            option_id=request.option_id,
            next_workflow_run_ids=runs,
            next_input_request_id=waits_for,
        )
    )


def _latest_intent(tx: Transaction, run: RunRow) -> IntentRow:
    found = tx.one(_LATEST_INTENT, (tx.row.journey, run.workflow_run_id))
    if found is None:
        raise Refusal(RefusalCode.UNKNOWN_DISPATCH_INTENT)
    return IntentRow._make(found)


def _mark(tx: Transaction, intent: IntentRow, state: str, guard: str) -> None:
    tx.set_once(
        f"UPDATE dispatch_intents SET state = ? WHERE journey = ? AND ordinal = ?{guard}",
        (state, tx.row.journey, intent.ordinal),
    )
