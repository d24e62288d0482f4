"""Contracts of advancement and of the outbox (clauses ``dispatch-``)."""

from wayproof.model.journey.properties.contract import (
    JourneyStep,
    WorldStep,
    journey_contract,
    world_contract,
)
from wayproof.model.journey.properties.counter import claims, risen, without_room
from wayproof.model.journey.properties.due import became, ends, is_stopping, meets_deadline
from wayproof.model.journey.properties.entering import ending_run, wanted
from wayproof.model.journey.properties.sequence import Wanted, wanted_at
from wayproof.model.journey.properties.situation import (
    identity_is_known,
    intent_of,
    is_terminal,
    nothing_changed,
    proceeds,
    reaches_checkpoint,
    workflow_run,
)
from wayproof.model.journey.state import Intent, Run
from wayproof.model.journey.transition import Refused
from wayproof.spec.journey import requests
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import (
    UNFINISHED_RUN_STATES,
    DispatchCause,
    DispatchState,
    LifecycleState,
    WorkflowRunPurpose,
    WorkflowRunState,
)

OPEN = (DispatchState.RECORDED, DispatchState.ACKNOWLEDGED)


def new_runs(step: JourneyStep) -> tuple[Run, ...]:
    """The runs that the step added."""
    return step.after.runs[len(step.before.runs) :]


def new_intents(step: JourneyStep) -> tuple[Intent, ...]:
    """The dispatch intents that the step added."""
    return step.after.intents[len(step.before.intents) :]


def advances(step: JourneyStep) -> tuple[Wanted, ...]:
    """What the end of a run must create by entering the next stage; empty if it enters none."""
    return () if ending_run(step) is None else wanted(step) or ()


@journey_contract("dispatch-01")
def advancement_is_one_commit(step: JourneyStep) -> bool | None:
    """The completed parent, the runs of the next stage, their counters and their intents."""
    planned, parent = advances(step), ending_run(step)
    if not planned or parent is None or without_room(step, claims(step)):
        return None
    ended = workflow_run(step.after, parent.workflow_run_id)
    queued = [run for run in new_runs(step) if run.state is WorkflowRunState.QUEUED]
    return (
        ended is not None
        and (ended.state, ended.finished_at) == (WorkflowRunState.COMPLETED, step.now)
        and len(new_runs(step)) == len(planned)
        and risen(step) == claims(step)
        and [(i.workflow_run_id, i.cause, i.state) for i in new_intents(step)]
        == [(run.workflow_run_id, DispatchCause.START, DispatchState.RECORDED) for run in queued]
        and all(i.created_version == step.after.record_version for i in new_intents(step))
    )


@journey_contract("dispatch-01")
def advancement_without_room_leaves_nothing(step: JourneyStep) -> bool | None:
    """Without room in a counter nothing of the commit remains but the end of the journey."""
    parent = ending_run(step)
    if not advances(step) or parent is None or not without_room(step, claims(step)):
        return None
    ended = workflow_run(step.after, parent.workflow_run_id)
    return (
        step.after.lifecycle is LifecycleState.BUDGET_EXCEEDED
        and ended is not None
        and ended.state is WorkflowRunState.QUARANTINED
        and not new_runs(step)
        and not new_intents(step)
        and step.after.counters == step.before.counters
        and [asked.answered for asked in step.after.inputs]
        == [asked.answered for asked in step.before.inputs]
    )


@world_contract("dispatch-02")
def crash_leaves_open_intents(step: WorldStep) -> bool | None:
    """An intent that was recorded is there after a crash, to be delivered then."""
    if step.operation != "restart" or not any(
        intent.state in OPEN for journey in step.before.journeys for intent in journey.state.intents
    ):
        return None
    return [journey.state.intents for journey in step.after.journeys] == [
        journey.state.intents for journey in step.before.journeys
    ]


@journey_contract("dispatch-02")
def queued_run_does_nothing(step: JourneyStep) -> bool | None:
    """Nothing of a run begins before its intent was delivered and the run taken over."""
    request = step.request
    if not isinstance(
        request,
        requests.ReserveRequest
        | requests.ClaimAttemptRequest
        | requests.RequestInputRequest
        | requests.FinishWorkflowRunRequest,
    ) or not proceeds(step):
        return None
    run = workflow_run(step.before, request.workflow_run_id)
    if run is None or run.state is not WorkflowRunState.QUEUED:
        return None
    return step.code is RefusalCode.WORKFLOW_RUN_NOT_ACTIVE and nothing_changed(step)


def _claimed(step: JourneyStep) -> Intent | None:
    """The intent of the run that a take-over names, if the request gets that far."""
    request = step.request
    if not isinstance(request, requests.ClaimDispatchedRunRequest) or not proceeds(step):
        return None
    return intent_of(step.before, request.workflow_run_id)


@journey_contract("dispatch-02")
def open_intent_is_delivered(step: JourneyStep) -> bool | None:
    """Taking over the run of an open intent makes it active, whoever asks with a live token."""
    request, intent = step.request, _claimed(step)
    if intent is None or intent.state not in OPEN:
        return None
    assert isinstance(request, requests.ClaimDispatchedRunRequest)
    run = workflow_run(step.after, request.workflow_run_id)
    after = intent_of(step.after, request.workflow_run_id)
    return (
        run is not None
        and (run.state, run.started_at is not None) == (WorkflowRunState.ACTIVE, True)
        and after == intent._replace(state=DispatchState.CLAIMED)
        and getattr(step.answer, "newly_claimed", None) is True
    )


@journey_contract("dispatch-03")
def repeated_delivery_starts_nothing(step: JourneyStep) -> bool | None:
    """A run that was taken over is answered as it stands, and nothing begins again."""
    request, intent = step.request, _claimed(step)
    if intent is None or intent.state in OPEN:
        return None
    assert isinstance(request, requests.ClaimDispatchedRunRequest)
    run = workflow_run(step.before, request.workflow_run_id)
    return (
        run is not None
        and getattr(step.answer, "newly_claimed", None) is False
        and getattr(step.answer, "state", None) is run.state
        and nothing_changed(step)
    )


@journey_contract("dispatch-04")
def acknowledgement_keeps_the_intent(step: JourneyStep) -> bool | None:
    """An acknowledged intent is still there and open, and its run is still queued."""
    request = step.request
    if not isinstance(request, requests.AcknowledgeDispatchRequest) or not proceeds(step):
        return None
    before = intent_of(step.before, request.workflow_run_id)
    if before is None or before.state not in OPEN:
        return None
    run = workflow_run(step.after, request.workflow_run_id)
    return (
        intent_of(step.after, request.workflow_run_id)
        == before._replace(state=DispatchState.ACKNOWLEDGED)
        and len(step.after.intents) == len(step.before.intents)
        and run is not None
        and run.state is WorkflowRunState.QUEUED
    )


@journey_contract("dispatch-05")
def delivery_claims_no_counter(step: JourneyStep) -> bool | None:
    """Delivering consumes nothing that the advancement had not consumed."""
    if _claimed(step) is None:
        return None
    return step.code is None and step.after.counters == step.before.counters


@journey_contract("dispatch-05")
def delivery_checks_the_journey_again(step: JourneyStep) -> bool | None:
    """An intent is not delivered at or past the deadline, nor while cancelling or terminal."""
    request = step.request
    if not isinstance(request, requests.ClaimDispatchedRunRequest) or not reaches_checkpoint(step):
        return None
    if meets_deadline(step):
        code = RefusalCode.DEADLINE_EXPIRED
    elif is_terminal(step.before):
        code = RefusalCode.JOURNEY_TERMINAL
    elif is_stopping(step):
        code = RefusalCode.JOURNEY_CANCELLING
    else:
        return None
    run = workflow_run(step.after, request.workflow_run_id)
    return (
        step.code is code
        and run is not None
        and run.state not in UNFINISHED_RUN_STATES - {WorkflowRunState.ACTIVE}
    )


@journey_contract("dispatch-06")
def stopped_journey_suppresses_its_intents(step: JourneyStep) -> bool | None:
    """Whatever stops a journey suppresses what was still to be delivered."""
    stops = ends(step) or became(step, LifecycleState.CANCELLING)
    if not stops or not any(intent.state in OPEN for intent in step.before.intents):
        return None
    return all(
        after.state is DispatchState.SUPPRESSED
        if before.state in OPEN
        else after.state is before.state
        for before, after in zip(step.before.intents, step.after.intents, strict=False)
    )


@journey_contract("dispatch-07")
def repeated_completion_answers_the_same_children(step: JourneyStep) -> bool | None:
    """The end of a run that entered a stage answers the runs of it again, and creates none."""
    request = step.request
    if not isinstance(
        request, requests.FinishWorkflowRunRequest | requests.SubmitInputRequest
    ) or not identity_is_known(step):
        return None
    children = tuple(
        run.workflow_run_id
        for run in step.before.runs
        if run.advanced_by == request.workflow_run_id
    )
    resumed = isinstance(request, requests.SubmitInputRequest) and request.option_id is None
    if not children or resumed or isinstance(step.reply, Refused):
        return None
    return step.answer.next_workflow_run_ids == children and nothing_changed(step)


@journey_contract("dispatch-07")
def stage_is_claimed_once(step: JourneyStep) -> bool | None:
    """A run that ends when others of its stage have not, or when the stage lies behind, enters
    nothing."""
    ended = ending_run(step)
    if ended is None or wanted(step) is not None:
        return None
    return not new_runs(step) and not new_intents(step)


@journey_contract("dispatch-08")
def next_stage_follows_the_declared_order(step: JourneyStep) -> bool | None:
    """The stage that is entered lies behind the one that was completed, and is the next one
    unless the option chosen leads further."""
    planned = advances(step)
    if not planned or without_room(step, claims(step)):
        return None
    return (
        [(run.sequence_position, run.workflow_id) for run in new_runs(step)]
        == [(run.position, run.workflow_id) for run in planned]
        and all(run.purpose is WorkflowRunPurpose.ADVANCEMENT for run in new_runs(step))
        and step.after.position == planned[-1].position
    )


@journey_contract("dispatch-08")
def last_stage_enters_nothing(step: JourneyStep) -> bool | None:
    """Behind the last stage there is nothing to enter, and completion is asked for by the
    owner."""
    ended = ending_run(step)
    if ended is None or wanted(step) != () or wanted_at(step.terms, ended.sequence_position + 1):
        return None
    return not new_runs(step) and step.after.lifecycle is LifecycleState.RUNNING
