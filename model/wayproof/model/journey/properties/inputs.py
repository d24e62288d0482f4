"""Contracts of what waits: choices that come later, pauses, and how they go on."""

from wayproof.model.journey.properties.contract import (
    JourneyStep,
    WorldStep,
    journey_contract,
    world_contract,
)
from wayproof.model.journey.properties.counter import claims, without_room
from wayproof.model.journey.properties.entering import wanted
from wayproof.model.journey.properties.situation import (
    fits_what_waits,
    identity_is_known,
    input_request,
    is_live,
    is_terminal,
    nothing_changed,
    proceeds,
    reaches_checkpoint,
    workflow_run,
)
from wayproof.model.journey.transition import Refused
from wayproof.spec.journey import requests
from wayproof.spec.journey.records import InputAccepted, InputRequested, WorkflowRunListing
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import (
    DispatchCause,
    LifecycleState,
    WorkflowRunState,
)


@journey_contract("route-06")
def transition_waits_or_was_chosen(step: JourneyStep) -> bool | None:
    """A choice that is entered waits with a request of its own, unless start made it: then it is
    passed with that option, in the same commit."""
    planned = wanted(step)
    if not planned or all(run.workflow_id is not None for run in planned):
        return None
    if without_room(step, claims(step)):
        return None
    created = step.after.runs[len(step.before.runs) :]
    asked = {a.workflow_run_id: a for a in step.after.inputs[len(step.before.inputs) :]}
    for run, of in zip(created, planned, strict=False):
        if of.waits:
            if run.state is not WorkflowRunState.WAITING or run.workflow_run_id not in asked:
                return False
        elif of.passed and (run.state, run.chosen_option, run.finished_at) != (
            WorkflowRunState.COMPLETED,
            of.passed_with,
            step.now,
        ):
            return False
    return len(created) == len(planned)


def _accepted(step: JourneyStep) -> requests.SubmitInputRequest | None:
    """The input that has to be accepted now: it fits, and nothing stops the journey."""
    request = step.request
    if not isinstance(request, requests.SubmitInputRequest) or not proceeds(step):
        return None
    return None if without_room(step, claims(step)) else request


@journey_contract("route-06")
def choice_is_recorded_and_passes(step: JourneyStep) -> bool | None:
    """An accepted choice completes the run of its transition with the chosen option."""
    request = _accepted(step)
    run = None if request is None else workflow_run(step.before, request.workflow_run_id)
    if request is None or run is None or run.workflow_id is not None:
        return None
    after = workflow_run(step.after, run.workflow_run_id)
    return after is not None and (after.state, after.chosen_option, after.finished_at) == (
        WorkflowRunState.COMPLETED,
        request.option_id,
        step.now,
    )


@journey_contract("route-07")
def unknown_input_request_is_refused(step: JourneyStep) -> bool | None:
    """An input that names no request of a known run."""
    request = step.request
    if not isinstance(request, requests.SubmitInputRequest):
        return None
    if workflow_run(step.before, request.workflow_run_id) is None or (
        input_request(step.before, request) is not None
    ):
        return None
    return step.code is RefusalCode.UNKNOWN_INPUT_REQUEST and nothing_changed(step)


@journey_contract("route-07")
def accepted_input_answers_its_request(step: JourneyStep) -> bool | None:
    """An accepted input answers the request that it names, and no other."""
    request = _accepted(step)
    if request is None:
        return None
    answered = [a for a in step.after.inputs if a not in step.before.inputs and a.answered]
    return (
        [(a.workflow_run_id, a.input_request_id, a.option) for a in answered]
        == [(request.workflow_run_id, request.input_request_id, request.option_id)]
        and isinstance(step.answer, InputAccepted)
        and (step.answer.workflow_run_id, step.answer.input_request_id)
        == (request.workflow_run_id, request.input_request_id)
    )


@world_contract("route-07")
def pending_requests_survive_a_restart(step: WorldStep) -> bool | None:
    """What waits, waits for the same request after the process has died."""
    if step.operation != "restart" or not any(
        not asked.answered for journey in step.before.journeys for asked in journey.state.inputs
    ):
        return None
    return [journey.state.inputs for journey in step.after.journeys] == [
        journey.state.inputs for journey in step.before.journeys
    ]


@journey_contract("route-08")
def option_must_be_offered(step: JourneyStep) -> bool | None:
    """An option that the pinned transition does not offer, or none, or one where none is due."""
    request = step.request
    if not isinstance(request, requests.SubmitInputRequest) or identity_is_known(step):
        return None
    if input_request(step.before, request) is None or fits_what_waits(step):
        return None
    return step.code is RefusalCode.INVALID_ROUTE_CHOICE and nothing_changed(step)


@journey_contract("route-09")
def accepted_choice_is_answered_again(step: JourneyStep) -> bool | None:
    """An answered choice answers the same again with the same option, whatever has happened."""
    request = step.request
    if not isinstance(request, requests.SubmitInputRequest) or request.option_id is None:
        return None
    asked = input_request(step.before, request)
    if asked is None or not asked.answered or asked.option != request.option_id:
        return None
    return _answers(step, request) and nothing_changed(step)


def _answers(step: JourneyStep, request: requests.SubmitInputRequest) -> bool:
    answer = step.answer
    return isinstance(answer, InputAccepted) and (
        answer.workflow_run_id,
        answer.input_request_id,
        answer.option_id,
    ) == (request.workflow_run_id, request.input_request_id, request.option_id)


@journey_contract("route-10")
def other_option_conflicts(step: JourneyStep) -> bool | None:
    """An answered request with another option, or with none."""
    request = step.request
    if not isinstance(request, requests.SubmitInputRequest) or not identity_is_known(step):
        return None
    asked = input_request(step.before, request)
    if asked is None or asked.option == request.option_id:
        return None
    return step.code is RefusalCode.INPUT_CONFLICT and nothing_changed(step)


@journey_contract("route-11")
def input_after_the_end_meets_the_outcome(step: JourneyStep) -> bool | None:
    """A choice or resume that was not accepted before the end."""
    if not isinstance(step.request, requests.SubmitInputRequest) or not is_terminal(step.before):
        return None
    if not reaches_checkpoint(step):
        return None
    return (
        step.code is RefusalCode.JOURNEY_TERMINAL
        and isinstance(step.reply, Refused)
        and step.reply.outcome is not None
        and step.reply.outcome.terminal_reason == step.before.terminal_reason
    )


@journey_contract("idempotency-11")
def resume_is_answered_again(step: JourneyStep) -> bool | None:
    """An answered pause answers the same again, and queues nothing a second time."""
    request = step.request
    if not isinstance(request, requests.SubmitInputRequest) or request.option_id is not None:
        return None
    asked = input_request(step.before, request)
    if asked is None or not asked.answered or asked.option is not None:
        return None
    return _answers(step, request) and nothing_changed(step)


@journey_contract("idempotency-11")
def resume_queues_the_same_run(step: JourneyStep) -> bool | None:
    """The input of a paused workflow run queues that run, with one intent and no claim."""
    request = _accepted(step)
    run = None if request is None else workflow_run(step.before, request.workflow_run_id)
    if request is None or run is None or run.workflow_id is None:
        return None
    after = workflow_run(step.after, run.workflow_run_id)
    added = step.after.intents[len(step.before.intents) :]
    return (
        after == run._replace(state=WorkflowRunState.QUEUED)
        and [(i.workflow_run_id, i.cause, i.input_request_id) for i in added]
        == [(run.workflow_run_id, DispatchCause.RESUME, request.input_request_id)]
        and len(step.after.runs) == len(step.before.runs)
        and step.after.counters == step.before.counters
    )


@journey_contract("observe-15")
def pause_leaves_the_journey_running(step: JourneyStep) -> bool | None:
    """A run that is paused waits, the journey is running as before."""
    if not isinstance(step.answer, InputRequested) or step.after is step.before:
        return None
    run = workflow_run(step.after, step.answer.workflow_run_id)
    return (
        step.after.lifecycle is LifecycleState.RUNNING
        and run is not None
        and run.state is WorkflowRunState.WAITING
    )


@journey_contract("observe-15")
def waiting_run_is_shown(step: JourneyStep) -> bool | None:
    """The snapshot of the run shows that it waits, and for which request; no other run does."""
    if not isinstance(step.answer, WorkflowRunListing) or not step.before.inputs:
        return None
    pending = {a.workflow_run_id: a.input_request_id for a in step.before.inputs if not a.answered}
    return all(
        shown.pending_input_request_id
        == (pending.get(shown.workflow_run_id) if shown.state is WorkflowRunState.WAITING else None)
        and (shown.state is WorkflowRunState.WAITING)
        == (shown.workflow_run_id in pending and step.before.lifecycle is LifecycleState.RUNNING)
        for shown in step.answer.workflow_runs
    )


@journey_contract("lease-12")
def input_needs_no_lease(step: JourneyStep) -> bool | None:
    """An input is accepted while nobody holds a live lease."""
    request = _accepted(step)
    lease = step.before.lease
    if request is None or (
        lease is not None and is_live(step.before, lease.fencing_token, step.now)
    ):
        return None
    return step.code is None


@journey_contract("lease-12")
def waiting_journey_is_taken_over(step: JourneyStep) -> bool | None:
    """While every unfinished run waits or is queued, an expired lease is no obstacle: a fresh one
    is granted."""
    request, before = step.request, step.before
    idle = (WorkflowRunState.WAITING, WorkflowRunState.QUEUED)
    if (
        not isinstance(request, requests.ClaimLeaseRequest)
        or not proceeds(step)
        or before.lease is None
        or step.now < before.lease.expires_at
        or not any(run.state in idle for run in before.runs)
        or any(run.state is WorkflowRunState.ACTIVE for run in before.runs)
        or step.code is RefusalCode.PROVIDER_TRANSMISSION_AMBIGUOUS
    ):
        return None
    return step.code is None and step.after.runs == before.runs
