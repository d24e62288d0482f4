"""Contracts of the lifecycle: which transitions are made, and that no other is."""

from wayproof.model.journey.properties.contract import (
    JourneyStep,
    WorldStep,
    journey_contract,
    world_contract,
)
from wayproof.model.journey.properties.due import (
    end_of,
    exhausted_counter,
    is_expired,
    is_incomplete,
    is_over_budget,
    meets_limits,
    time_takes_effect,
)
from wayproof.model.journey.properties.entering import wanted
from wayproof.model.journey.properties.sequence import wanted_at
from wayproof.model.journey.properties.situation import (
    LIVE,
    OPEN,
    goes_on,
    is_terminal,
    named,
    nothing_changed,
    proceeds,
    reaches_checkpoint,
    settles,
)
from wayproof.model.journey.state import State
from wayproof.spec.journey import requests
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import (
    DispatchState,
    LifecycleState,
    ReservationState,
)

OPEN_INTENT = (DispatchState.RECORDED, DispatchState.ACKNOWLEDGED)
WORK = (
    requests.BeginJourneyRequest,
    requests.StartWorkflowRunRequest,
    requests.ClaimAttemptRequest,
    requests.ReserveRequest,
    requests.TransmitRequest,
    requests.FailJourneyRequest,
    requests.CompleteJourneyRequest,
    requests.AcknowledgeDispatchRequest,
    requests.ClaimDispatchedRunRequest,
    requests.RequestInputRequest,
    requests.SubmitInputRequest,
)
"""What a terminal journey never accepts."""


def may_complete(step: JourneyStep) -> bool:
    """Whether completion is requested of a journey that has nothing left to wait for."""
    return (
        isinstance(step.request, requests.CompleteJourneyRequest)
        and step.before.lifecycle is LifecycleState.RUNNING
        and proceeds(step)
        and not is_incomplete(step.before)
    )


@journey_contract("lifecycle-01")
def every_state_is_named(step: JourneyStep) -> bool | None:
    """A journey that moves is in one of the eight states."""
    if step.after.lifecycle is step.before.lifecycle:
        return None
    return type(step.after.lifecycle) is LifecycleState


@journey_contract("lifecycle-02")
def entry_stage_and_running_are_one_commit(step: JourneyStep) -> bool | None:
    """The commit that creates the runs of the entry stage makes the journey running."""
    if (
        not isinstance(step.request, requests.BeginJourneyRequest)
        or not proceeds(step)
        or exhausted_counter(step) is not None
    ):
        return None
    return (
        step.after.lifecycle is LifecycleState.RUNNING
        and step.after.started_at == step.now
        and [run.workflow_id for run in step.after.runs]
        == [run.workflow_id for run in wanted(step) or ()]
    )


@journey_contract("lifecycle-03")
def nothing_leaves_a_terminal_state(step: JourneyStep) -> bool | None:
    """A terminal journey stays in its state."""
    if not is_terminal(step.before) or not time_takes_effect(step):
        return None
    return step.after.lifecycle is step.before.lifecycle


@journey_contract("lifecycle-04")
def cancellation_makes_cancelling(step: JourneyStep) -> bool | None:
    """An accepted cancellation makes a pending or running journey cancelling."""
    if not isinstance(step.request, requests.CancelRequest) or not goes_on(step):
        return None
    return step.after.lifecycle is LifecycleState.CANCELLING


@journey_contract("lifecycle-05")
def failure_makes_failed(step: JourneyStep) -> bool | None:
    """An accepted failure makes a pending or running journey failed."""
    if not isinstance(step.request, requests.FailJourneyRequest) or not proceeds(step):
        return None
    return step.after.lifecycle is LifecycleState.FAILED


@journey_contract("lifecycle-06")
def expiry_makes_timed_out(step: JourneyStep) -> bool | None:
    """An expired deadline that takes effect makes a pending or running journey timed_out."""
    if not is_expired(step) or not time_takes_effect(step):
        return None
    return step.after.lifecycle is LifecycleState.TIMED_OUT


@journey_contract("lifecycle-07")
def refused_work_makes_budget_exceeded(step: JourneyStep) -> bool | None:
    """The ceiling, or a counter, that refuses work ends the journey."""
    if not is_over_budget(step) or not meets_limits(step):
        return None
    return step.after.lifecycle is LifecycleState.BUDGET_EXCEEDED


@journey_contract("lifecycle-07")
def overshoot_makes_budget_exceeded(step: JourneyStep) -> bool | None:
    """Usage above its own reservation ends a running journey."""
    record = named(step)
    if (
        record is None
        or step.before.lifecycle is not LifecycleState.RUNNING
        or is_expired(step)
        or (settles(step) or 0) <= record.reserved_tokens
    ):
        return None
    return step.after.lifecycle is LifecycleState.BUDGET_EXCEEDED


@journey_contract("lifecycle-08")
def completion_makes_completed(step: JourneyStep) -> bool | None:
    """A running journey without open work completes when it is asked to."""
    if not may_complete(step):
        return None
    return (
        step.after.lifecycle is LifecycleState.COMPLETED
        and getattr(step.answer, "execution_state", None) is LifecycleState.COMPLETED
    )


@journey_contract("lifecycle-09")
def cancelling_becomes_cancelled_or_stays(step: JourneyStep) -> bool | None:
    """Nothing but cancelled follows cancelling."""
    if step.before.lifecycle is not LifecycleState.CANCELLING or not time_takes_effect(step):
        return None
    return step.after.lifecycle in (LifecycleState.CANCELLING, LifecycleState.CANCELLED)


@journey_contract("lifecycle-10")
def no_shortcut_to_an_end(step: JourneyStep) -> bool | None:
    """A pending journey does not complete, and a live one is not cancelled at once."""
    before, request = step.before, step.request
    asked = (
        isinstance(request, requests.CompleteJourneyRequest)
        and before.lifecycle is LifecycleState.PENDING
    ) or (isinstance(request, requests.CancelRequest) and before.lifecycle in LIVE)
    if not asked or not reaches_checkpoint(step):
        return None
    return step.after.lifecycle not in (LifecycleState.COMPLETED, LifecycleState.CANCELLED)


@journey_contract("lifecycle-11")
def nothing_goes_back(step: JourneyStep) -> bool | None:
    """Beginning again does not begin again, and a cancelling journey never runs again."""
    before, request = step.before, step.request
    if before.lifecycle is LifecycleState.CANCELLING:
        if not isinstance(request, requests.OwnerRequest | requests.ClaimLeaseRequest):
            return None
        return step.after.lifecycle not in LIVE
    if not isinstance(request, requests.BeginJourneyRequest) or before.started_at is None:
        return None
    return (
        step.after.lifecycle is not LifecycleState.PENDING
        and step.after.started_at == before.started_at
    )


@journey_contract("lifecycle-12")
def open_work_refuses_completion(step: JourneyStep) -> bool | None:
    """Completion is refused, and changes nothing, while there is something to wait for."""
    if (
        not isinstance(step.request, requests.CompleteJourneyRequest)
        or not proceeds(step)
        or not is_incomplete(step.before)
    ):
        return None
    return step.code is RefusalCode.JOURNEY_INCOMPLETE and nothing_changed(step)


@journey_contract("lifecycle-13")
def stages_to_come_refuse_completion(step: JourneyStep) -> bool | None:
    """So it is while an intent is open, or a later stage waits to be entered."""
    if not isinstance(step.request, requests.CompleteJourneyRequest) or not proceeds(step):
        return None
    behind = None if step.before.position is None else step.before.position + 1
    if not any(intent.state in OPEN_INTENT for intent in step.before.intents) and (
        behind is None or not wanted_at(step.terms, behind)
    ):
        return None
    if not is_incomplete(step.before):
        return None
    return step.code is RefusalCode.JOURNEY_INCOMPLETE and nothing_changed(step)


@journey_contract("lifecycle-14")
def open_transmissions_do_not_prevent_completion(step: JourneyStep) -> bool | None:
    """A journey completes with transmissions outstanding, and its accounting stays open."""
    if not may_complete(step) or not any(
        record.state in OPEN for record in step.before.transmissions
    ):
        return None
    return (
        step.after.lifecycle is LifecycleState.COMPLETED
        and step.after.settled_at is None
        and step.after.transmissions == step.before.transmissions
    )


@journey_contract("lifecycle-16")
def terminal_journey_accepts_no_work(step: JourneyStep) -> bool | None:
    """Work asked of a terminal journey is refused, and changes neither its end nor a counter."""
    if (
        not isinstance(step.request, WORK)
        or not is_terminal(step.before)
        or not reaches_checkpoint(step)
    ):
        return None
    return (
        step.code is RefusalCode.JOURNEY_TERMINAL
        and end_of(step.after) == end_of(step.before)
        and step.after.counters == step.before.counters
        and len(step.after.transmissions) == len(step.before.transmissions)
        and _sent(step.after) <= _sent(step.before)
    )


def _sent(state: State) -> set[str]:
    return {
        record.transmission_id
        for record in state.transmissions
        if record.state is ReservationState.TRANSMITTED
    }


@world_contract("lifecycle-18")
def restart_keeps_every_change(step: WorldStep) -> bool | None:
    """What was acknowledged is still there after the process has died."""
    if step.operation != "restart" or not any(
        journey.state.record_version > 1 or journey.state.lease is not None
        for journey in step.before.journeys
    ):
        return None
    return step.after.journeys == step.before.journeys
