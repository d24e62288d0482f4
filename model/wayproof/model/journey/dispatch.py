"""The outbox and the inputs: how queued runs are taken over, and how waiting ones go on."""

from wayproof.model.journey.guards import (
    active_run,
    answer,
    fenced,
    find_run,
    recorded,
    refuse,
    replayed,
    stopped,
)
from wayproof.model.journey.lifecycle import is_open
from wayproof.model.journey.ownership import with_run
from wayproof.model.journey.stages import (
    advanced,
    entered_by,
    input_request_id,
    intended,
    offered,
    transition_at,
    unentered,
)
from wayproof.model.journey.state import InputRequest, Intent, Run, State, Terms
from wayproof.model.journey.transition import Transition, realises
from wayproof.spec.journey.records import (
    DispatchClaimed,
    DispatchReading,
    InputAccepted,
    InputRequested,
)
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.requests import (
    AcknowledgeDispatchRequest,
    ClaimDispatchedRunRequest,
    RequestInputRequest,
    SubmitInputRequest,
)
from wayproof.spec.journey.vocabulary import (
    DispatchCause,
    DispatchState,
    WorkflowRunState,
)


@realises({"refused.unknown_dispatch_intent": "dispatch-03 precedence-10"})
def latest_intent(state: State, run: Run) -> int | Transition:
    """The place of a run's latest intent, or the refusal."""
    for place in reversed(range(len(state.intents))):
        if state.intents[place].workflow_run_id == run.workflow_run_id:
            return place
    return refuse(state, RefusalCode.UNKNOWN_DISPATCH_INTENT, "refused.unknown_dispatch_intent")


def _delivered(
    terms: Terms,
    state: State,
    request: AcknowledgeDispatchRequest | ClaimDispatchedRunRequest,
    now: int,
) -> tuple[State, Run, int] | Transition:
    """The state, the run and the place of its intent, once everything that both deliveries check
    has been passed."""
    run = find_run(state, request.workflow_run_id)
    if isinstance(run, Transition):
        return run
    place = latest_intent(state, run)
    if isinstance(place, Transition):
        return place
    refused = fenced(state, request.fencing_token, now)
    if refused is not None:
        return refused
    passed = stopped(terms, state, now)
    if isinstance(passed, Transition):
        return passed
    return passed, run, place


def _with_intent(state: State, place: int, changed: Intent) -> State:
    return state._replace(
        intents=(*state.intents[:place], changed, *state.intents[place + 1 :]),
    )


@realises(
    {
        "acknowledge_dispatch.acknowledged": "dispatch-04",
        "acknowledge_dispatch.unchanged": "dispatch-03 dispatch-04",
    }
)
def acknowledge_dispatch(
    terms: Terms, state: State, request: AcknowledgeDispatchRequest, now: int
) -> Transition:
    """Note that a dispatcher received the intent; it stays open until its run is taken over."""
    delivered = _delivered(terms, state, request, now)
    if isinstance(delivered, Transition):
        return delivered
    state, run, place = delivered
    intent = state.intents[place]
    label = "acknowledge_dispatch.unchanged"
    if intent.state is DispatchState.RECORDED:
        intent = intent._replace(state=DispatchState.ACKNOWLEDGED)
        state = _with_intent(state, place, intent)
        label = "acknowledge_dispatch.acknowledged"
    reply = DispatchReading(
        workflow_run_id=run.workflow_run_id, ordinal=place + 1, state=intent.state
    )
    return answer(state, reply, label)


@realises(
    {
        "claim_dispatched_run.claimed": "dispatch-02 dispatch-04 dispatch-05 lease-12",
        "claim_dispatched_run.repeated": "dispatch-03 dispatch-05",
    }
)
def claim_dispatched_run(
    terms: Terms, state: State, request: ClaimDispatchedRunRequest, now: int
) -> Transition:
    """Take over a queued run, once for each intent. Its counters were claimed when its stage was
    entered, so none is claimed here; and a journey that goes on is not over its ceiling, so a
    recheck of the budget with a request of zero has nothing to refuse."""
    delivered = _delivered(terms, state, request, now)
    if isinstance(delivered, Transition):
        return delivered
    state, run, place = delivered
    intent = state.intents[place]
    if not is_open(intent):
        reply = DispatchClaimed(
            workflow_run_id=run.workflow_run_id, state=run.state, newly_claimed=False
        )
        return answer(state, reply, "claim_dispatched_run.repeated")
    started_at = now if run.started_at is None else run.started_at
    run = run._replace(state=WorkflowRunState.ACTIVE, started_at=started_at)
    state = with_run(state, run)
    state = _with_intent(state, place, intent._replace(state=DispatchState.CLAIMED))
    reply = DispatchClaimed(
        workflow_run_id=run.workflow_run_id, state=run.state, newly_claimed=True
    )
    return answer(state, reply, "claim_dispatched_run.claimed")


@realises({"request_input.waiting": "observe-15 deadline-14"})
def request_input(terms: Terms, state: State, request: RequestInputRequest, now: int) -> Transition:
    """Pause an active run until a caller's input or review; the journey stays running and its
    deadline where it is."""
    replay = replayed(state, request.operation_id, request)
    if replay is not None:
        return replay
    run = find_run(state, request.workflow_run_id)
    if isinstance(run, Transition):
        return run
    refused = fenced(state, request.fencing_token, now)
    if refused is not None:
        return refused
    passed = stopped(terms, state, now)
    if isinstance(passed, Transition):
        return passed
    idle = active_run(state, run)
    if idle is not None:
        return idle
    asked = InputRequest(input_request_id(run.workflow_run_id, state), run.workflow_run_id)
    state = with_run(state, run._replace(state=WorkflowRunState.WAITING))
    state = state._replace(inputs=(*state.inputs, asked))
    reply = InputRequested(
        workflow_run_id=run.workflow_run_id, input_request_id=asked.input_request_id
    )
    state = recorded(state, request.operation_id, request, reply)
    return answer(state, reply, "request_input.waiting")


@realises(
    {
        "submit_input.chosen": "route-06 route-07 route-08 dispatch-01 dispatch-08 lease-12",
        "submit_input.resumed": "idempotency-11 route-07 deadline-14 lease-12",
        "submit_input.replayed": "route-09 idempotency-11 dispatch-07 observe-13",
        "submit_input.conflict": "route-10",
        "submit_input.unknown_input_request": "route-07 precedence-10",
        "submit_input.invalid_route_choice": "route-08",
        "submit_input.stopped": "route-11 cancel-08 deadline-11 deadline-14",
    }
)
def submit_input(
    terms: Terms, state: State, request: SubmitInputRequest, now: int, run_ids: tuple[str, ...]
) -> Transition:
    """Answer what a run waits for: a transition is passed and the journey advances, or a paused
    workflow run is queued again. It needs no lease and no token."""
    known = [
        asked
        for asked in state.inputs
        if (asked.workflow_run_id, asked.input_request_id)
        == (request.workflow_run_id, request.input_request_id)
    ]
    if known and known[0].answered:
        if known[0].option != request.option_id:
            return refuse(state, RefusalCode.INPUT_CONFLICT, "submit_input.conflict")
        return answer(state, _accepted(state, known[0]), "submit_input.replayed")
    run = find_run(state, request.workflow_run_id)
    if isinstance(run, Transition):
        return run
    if not known:
        return refuse(
            state, RefusalCode.UNKNOWN_INPUT_REQUEST, "submit_input.unknown_input_request"
        )
    if not _is_offered(terms, run, request.option_id):
        return refuse(state, RefusalCode.INVALID_ROUTE_CHOICE, "submit_input.invalid_route_choice")
    passed = stopped(terms, state, now)
    if isinstance(passed, Transition):
        return passed._replace(labels=(*passed.labels, "submit_input.stopped"))
    answered = known[0]._replace(answered=True, option=request.option_id)
    after = state._replace(
        inputs=tuple(answered if asked == known[0] else asked for asked in state.inputs)
    )
    if run.workflow_id is not None:
        after = with_run(after, run._replace(state=WorkflowRunState.QUEUED))
        after = intended(
            after, run.workflow_run_id, DispatchCause.RESUME, answered.input_request_id, now
        )
        return answer(after, _accepted(after, answered), "submit_input.resumed")
    ended = run._replace(
        state=WorkflowRunState.COMPLETED, finished_at=now, chosen_option=request.option_id
    )
    entered = advanced(terms, with_run(after, ended), now, run_ids, ended)
    if isinstance(entered, Transition):
        return unentered(terms, state, entered, now)
    reply = _accepted(entered.state, answered)
    return answer(entered.state, reply, *entered.labels, "submit_input.chosen")


def _is_offered(terms: Terms, run: Run, option: str | None) -> bool:
    if run.workflow_id is not None:
        return option is None
    transition = transition_at(terms.definition, run.sequence_position)
    return transition is not None and option in offered(terms.definition, transition.id)


def _accepted(state: State, answered: InputRequest) -> InputAccepted:
    run = next(r for r in state.runs if r.workflow_run_id == answered.workflow_run_id)
    runs, waits_for = entered_by(state, run) if run.workflow_id is None else ((), None)
    return InputAccepted(
        workflow_run_id=run.workflow_run_id,
        input_request_id=answered.input_request_id,
        option_id=answered.option,
        next_workflow_run_ids=runs,
        next_input_request_id=waits_for,
    )
