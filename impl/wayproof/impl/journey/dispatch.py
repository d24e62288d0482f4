"""The outbox as dispatchers and workers see it: read, acknowledged, taken over."""

from typing import Any, Final

from wayproof.impl.journey.ending import require_going
from wayproof.impl.journey.identities import require_live
from wayproof.impl.journey.rows import INTENT_COLUMNS, IntentRow, JourneyRow, RunRow
from wayproof.impl.journey.runs import known_run
from wayproof.impl.journey.transaction import Transaction
from wayproof.spec.journey.constraints import from_milliseconds
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.records import (
    DispatchClaimed,
    DispatchIntentListing,
    DispatchIntentRecord,
    DispatchReading,
)
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import (
    AcknowledgeDispatchRequest,
    ClaimDispatchedRunRequest,
    ListDispatchIntentsRequest,
)
from wayproof.spec.journey.vocabulary import DispatchCause, DispatchState, WorkflowRunState

_INTENTS: Final = (
    f"SELECT {INTENT_COLUMNS} FROM dispatch_intents"
    " WHERE journey = ? AND ordinal > ? ORDER BY ordinal LIMIT ?"
)
_OPEN_INTENTS: Final = (
    f"SELECT {INTENT_COLUMNS} FROM dispatch_intents INDEXED BY open_intents"
    " WHERE journey = ? AND ordinal > ? AND state IN ('recorded', 'acknowledged')"
    " ORDER BY ordinal LIMIT ?"
)


def list_dispatch_intents(tx: Transaction, request: ListDispatchIntentsRequest) -> Any:
    """A page of the outbox, in the order in which intents were recorded."""
    query = _OPEN_INTENTS if request.open_only else _INTENTS
    found = tx.connection.execute(query, (tx.row.journey, request.after, request.limit))
    return encode(
        DispatchIntentListing(
            dispatch_intents=tuple(_record(tx.row, IntentRow._make(each)) for each in found)
        )
    )


def acknowledge_dispatch(tx: Transaction, request: AcknowledgeDispatchRequest) -> Any:
    """Note that a dispatcher received the run's latest intent, which stays open."""
    run, state = _latest_intent(tx, request)
    if state == "recorded":
        state = "acknowledged"
        _set_state(tx, run, state, guard="state = 'recorded'")
        tx.change("dispatch_intents = dispatch_intents", guard=" AND lifecycle_state = 'running'")
    return encode(
        DispatchReading(
            workflow_run_id=run.workflow_run_id,
            ordinal=run.dispatch_ordinal or 0,
            state=DispatchState(state),
        )
    )


def claim_dispatched_run(tx: Transaction, request: ClaimDispatchedRunRequest) -> Any:
    """Take a queued run over, once for each intent."""
    run, state = _latest_intent(tx, request)
    is_open = state in ("recorded", "acknowledged")
    if is_open:
        _set_state(tx, run, "claimed", guard="state IN ('recorded', 'acknowledged')")
        tx.set_once(
            "UPDATE workflow_runs SET state = 'active', started_at = coalesce(started_at, ?)"
            " WHERE journey = ? AND workflow_run_id = ? AND state = 'queued'",
            (tx.now, tx.row.journey, run.workflow_run_id),
        )
        tx.change("active_runs = active_runs + 1", guard=" AND lifecycle_state = 'running'")
    return encode(
        DispatchClaimed(
            workflow_run_id=run.workflow_run_id,
            state=WorkflowRunState.ACTIVE if is_open else WorkflowRunState(run.state),
            newly_claimed=is_open,
        )
    )


def _latest_intent(
    tx: Transaction, request: AcknowledgeDispatchRequest | ClaimDispatchedRunRequest
) -> tuple[RunRow, str]:
    """The run that an owner names, with the state of the latest intent that names it too."""
    run = known_run(tx, request.workflow_run_id)
    found = tx.one(
        "SELECT state FROM dispatch_intents WHERE journey = ? AND ordinal = ?",
        (tx.row.journey, run.dispatch_ordinal),
    )
    if found is None:
        raise Refusal(RefusalCode.UNKNOWN_DISPATCH_INTENT)
    require_live(tx, request.fencing_token)
    require_going(tx)
    return run, found[0]


def _set_state(tx: Transaction, run: RunRow, state: str, *, guard: str) -> None:
    tx.set_once(
        f"UPDATE dispatch_intents SET state = ? WHERE journey = ? AND ordinal = ? AND {guard}",
        (state, tx.row.journey, run.dispatch_ordinal),
    )


def _record(row: JourneyRow, intent: IntentRow) -> DispatchIntentRecord:
    return DispatchIntentRecord(
        schema_version="wayproof.journey.dispatch_intent.v1",
        journey_id=row.journey_id,
        ordinal=intent.ordinal,
        workflow_run_id=intent.workflow_run_id,
        cause=DispatchCause(intent.cause),
        input_request_id=intent.input_request_id,
        state=DispatchState(intent.state),
        created_at=from_milliseconds(intent.created_at),
        created_version=intent.created_version,
    )
