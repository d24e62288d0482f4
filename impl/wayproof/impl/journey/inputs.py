"""Later inputs: a run is paused until one, a caller answers, and the journey goes on."""

from typing import Any

from wayproof.impl.journey.ending import require_going
from wayproof.impl.journey.entering import (
    NOTHING_ENTERED,
    Entered,
    advancement,
    ask,
    entered_by,
)
from wayproof.impl.journey.identities import (
    new_input_request_id,
    record_answer,
    recorded_answer,
    require_live,
)
from wayproof.impl.journey.outbox import record_intent
from wayproof.impl.journey.rows import RunRow
from wayproof.impl.journey.runs import known_run, require_active
from wayproof.impl.journey.stages import pinned_stages
from wayproof.impl.journey.transaction import Transaction
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.records import InputAccepted, InputRequested
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import RequestInputRequest, SubmitInputRequest
from wayproof.spec.journey.vocabulary import DispatchCause


def request_input(tx: Transaction, request: RequestInputRequest) -> Any:
    """Pause an active run until an input or a review; the journey and its deadline go on."""
    answer = recorded_answer(tx, request)
    if answer is not None:
        return answer
    run = known_run(tx, request.workflow_run_id)
    require_live(tx, request.fencing_token)
    require_going(tx)
    require_active(run)
    input_request_id = new_input_request_id()
    ask(tx, run.workflow_run_id, input_request_id)
    tx.set_once(
        "UPDATE workflow_runs SET state = 'waiting', pending_input_request_id = ?"
        " WHERE journey = ? AND workflow_run_id = ? AND state = 'active'",
        (input_request_id, tx.row.journey, run.workflow_run_id),
    )
    tx.change("active_runs = active_runs - 1", guard=" AND lifecycle_state = 'running'")
    requested = InputRequested(
        workflow_run_id=run.workflow_run_id, input_request_id=input_request_id
    )
    return record_answer(tx, request, requested)


def submit_input(tx: Transaction, request: SubmitInputRequest) -> Any:
    """Answer the input request for which a run waits; the caller needs no lease."""
    run = known_run(tx, request.workflow_run_id)
    asked = tx.one(
        "SELECT option_id, answered_at FROM input_requests"
        " WHERE journey = ? AND workflow_run_id = ? AND input_request_id = ?",
        (tx.row.journey, request.workflow_run_id, request.input_request_id),
    )
    if asked is None:
        raise Refusal(RefusalCode.UNKNOWN_INPUT_REQUEST)
    chosen, answered_at = asked
    if answered_at is not None:
        if chosen != request.option_id:
            raise Refusal(RefusalCode.INPUT_CONFLICT)
        return _accepted(
            request,
            entered_by(tx, run.workflow_run_id) if run.workflow_id is None else NOTHING_ENTERED,
        )
    # Which options there are is known of a request only, so that an unknown one comes first.
    _require_option(tx, run, request.option_id)
    require_going(tx)
    if run.workflow_id is None:
        return _accepted(request, _choose(tx, run, request))
    _resume(tx, run, request)
    return _accepted(request, NOTHING_ENTERED)


def _require_option(tx: Transaction, run: RunRow, option_id: str | None) -> None:
    """A transition's run needs an option that is offered there, a workflow's run takes none."""
    if run.workflow_id is None:
        valid = option_id in pinned_stages(tx)[run.sequence_position].leads_to
    else:
        valid = option_id is None
    if not valid:
        raise Refusal(RefusalCode.INVALID_ROUTE_CHOICE)


def _choose(tx: Transaction, run: RunRow, request: SubmitInputRequest) -> Entered:
    """A transition is passed with an option, and the journey advances."""
    next_stage = advancement(tx, run, request.option_id)
    _answer(tx, request)
    tx.set_once(
        "UPDATE workflow_runs SET state = 'completed', chosen_option_id = ?, finished_at = ?,"
        " pending_input_request_id = NULL WHERE journey = ? AND workflow_run_id = ?"
        " AND pending_input_request_id = ?",
        (
            *(request.option_id, tx.now, tx.row.journey, run.workflow_run_id),
            request.input_request_id,
        ),
    )
    tx.change(
        "unfinished_runs = unfinished_runs - 1, stage_option = ?,"
        " stage_unfinished_runs = stage_unfinished_runs - 1",
        (request.option_id,),
        guard=" AND lifecycle_state = 'running'",
    )
    return NOTHING_ENTERED if next_stage is None else next_stage.write(tx)


def _resume(tx: Transaction, run: RunRow, request: SubmitInputRequest) -> None:
    """A paused run is queued again: the same run, with an intent of its own."""
    ordinal = tx.row.dispatch_intents + 1
    _answer(tx, request)
    tx.set_once(
        "UPDATE workflow_runs SET state = 'queued', dispatch_ordinal = ?,"
        " pending_input_request_id = NULL WHERE journey = ? AND workflow_run_id = ?"
        " AND pending_input_request_id = ?",
        (ordinal, tx.row.journey, run.workflow_run_id, request.input_request_id),
    )
    record_intent(tx, ordinal, run.workflow_run_id, DispatchCause.RESUME, request.input_request_id)
    tx.change("dispatch_intents = dispatch_intents + 1", guard=" AND lifecycle_state = 'running'")


def _answer(tx: Transaction, request: SubmitInputRequest) -> None:
    tx.set_once(
        "UPDATE input_requests SET option_id = ?, answered_at = ? WHERE journey = ?"
        " AND workflow_run_id = ? AND input_request_id = ? AND answered_at IS NULL",
        (
            *(request.option_id, tx.now, tx.row.journey, request.workflow_run_id),
            request.input_request_id,
        ),
    )


def _accepted(request: SubmitInputRequest, entered: Entered) -> Any:
    return encode(
        InputAccepted(
            workflow_run_id=request.workflow_run_id,
            input_request_id=request.input_request_id,
            option_id=request.option_id,
            next_workflow_run_ids=entered.workflow_run_ids,
            next_input_request_id=entered.input_request_id,
        )
    )
