"""Contracts of cancellation: one request wins, nothing new begins, the end is finite."""

from wayproof.model.journey.properties.contract import (
    JourneyStep,
    WorldStep,
    journey_contract,
    world_contract,
)
from wayproof.model.journey.properties.due import (
    became,
    effective_cutoff,
    end_of,
    ends,
    is_stopping,
    overdue,
    time_takes_effect,
)
from wayproof.model.journey.properties.situation import (
    LIVE,
    READS,
    REPORTS,
    earlier_of_invocation,
    goes_on,
    is_terminal,
    nothing_changed,
    reaches_checkpoint,
    workflow_run,
)
from wayproof.model.journey.transition import Answered
from wayproof.spec.journey import requests
from wayproof.spec.journey.constraints import LATEST_MILLISECONDS
from wayproof.spec.journey.records import JourneySnapshot
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import (
    LifecycleState,
    ReservationState,
    WorkflowRunState,
)


def is_accepted(step: JourneyStep) -> bool:
    """Whether the step is a cancellation in time, of a journey that goes on."""
    return isinstance(step.request, requests.CancelRequest) and goes_on(step)


@journey_contract("cancel-01", "cancel-03")
def cancellation_is_persisted_whole(step: JourneyStep) -> bool | None:
    """State, time of request and deadline come together; the deadline is the time of the commit
    plus the policy's grace."""
    if not is_accepted(step):
        return None
    cancellation = step.after.cancellation
    grace = 1000 * step.terms.policy.cancellation_grace_seconds
    return (
        step.after.lifecycle is LifecycleState.CANCELLING
        and cancellation is not None
        and cancellation.requested_at == step.now
        and cancellation.deadline == min(step.now + grace, LATEST_MILLISECONDS)
    )


@journey_contract("cancel-04")
def accepted_cancellation_answers_cancelling(step: JourneyStep) -> bool | None:
    """The answer shows cancelling; cancelled is a later commit."""
    if not is_accepted(step):
        return None
    answer = step.answer
    return (
        isinstance(answer, JourneySnapshot)
        and answer.lifecycle_state is LifecycleState.CANCELLING
        and answer.cancellation is not None
        and step.after.lifecycle is LifecycleState.CANCELLING
    )


@journey_contract("cancel-05")
def repeated_cancellation_changes_nothing(step: JourneyStep) -> bool | None:
    """A stopped journey answers its snapshot unchanged."""
    before = step.before
    if (
        not isinstance(step.request, requests.CancelRequest)
        or before.lifecycle in LIVE
        or overdue(step) is not None
    ):
        return None
    answer = step.answer
    if not isinstance(answer, JourneySnapshot):
        return False
    shown = None if answer.cancellation is None else answer.cancellation.reason_code
    known = None if before.cancellation is None else before.cancellation.reason
    return nothing_changed(step) and (answer.lifecycle_state, answer.record_version, shown) == (
        before.lifecycle,
        before.record_version,
        known,
    )


@journey_contract("cancel-06")
def nothing_new_is_claimed_while_cancelling(step: JourneyStep) -> bool | None:
    """No new run, and no claim of an attempt, correction, repair, refinement or retry."""
    request = step.request
    claims = isinstance(
        request,
        requests.BeginJourneyRequest
        | requests.StartWorkflowRunRequest
        | requests.ClaimAttemptRequest,
    ) or bool(earlier_of_invocation(step))
    if not claims or not is_stopping(step) or not reaches_checkpoint(step):
        return None
    return step.code is RefusalCode.JOURNEY_CANCELLING and nothing_changed(step)


@journey_contract("cancel-07")
def nothing_new_is_sent_while_cancelling(step: JourneyStep) -> bool | None:
    """No new reservation, and none made earlier becomes transmitted."""
    if (
        not isinstance(step.request, requests.ReserveRequest | requests.TransmitRequest)
        or not is_stopping(step)
        or not reaches_checkpoint(step)
    ):
        return None
    return step.code is RefusalCode.JOURNEY_CANCELLING and nothing_changed(step)


_GOING_ON = (
    requests.SubmitInputRequest,
    requests.RequestInputRequest,
    requests.AcknowledgeDispatchRequest,
    requests.ClaimDispatchedRunRequest,
)


@journey_contract("cancel-08")
def nothing_goes_on_while_cancelling(step: JourneyStep) -> bool | None:
    """No input, resume or dispatch is accepted."""
    if (
        not isinstance(step.request, _GOING_ON)
        or not is_stopping(step)
        or not reaches_checkpoint(step)
    ):
        return None
    return step.code is RefusalCode.JOURNEY_CANCELLING and nothing_changed(step)


@journey_contract("cancel-08")
def queued_work_stops_with_the_cancellation(step: JourneyStep) -> bool | None:
    """What is queued or waits is stopped in the commit of the cancellation."""
    idle = {
        run.workflow_run_id
        for run in step.before.runs
        if run.state in (WorkflowRunState.QUEUED, WorkflowRunState.WAITING)
    }
    if not idle or not became(step, LifecycleState.CANCELLING):
        return None
    return all(
        (run.state, run.finished_at) == (WorkflowRunState.STOPPED, step.now)
        for run in step.after.runs
        if run.workflow_run_id in idle
    )


@journey_contract("cancel-09")
def what_ends_work_is_accepted_while_cancelling(step: JourneyStep) -> bool | None:
    """Stop reports, evidence, heartbeats and reads are carried out."""
    request = step.request
    if not is_stopping(step) or not isinstance(
        request,
        (*READS, *REPORTS, requests.FinishWorkflowRunRequest, requests.HeartbeatRequest),
    ):
        return None
    if not isinstance(request, READS) and not reaches_checkpoint(step):
        return None
    return isinstance(step.reply, Answered)


@journey_contract("cancel-10")
def run_that_ends_while_cancelling_is_stopped(step: JourneyStep) -> bool | None:
    """Whatever outcome is reported, the run is recorded as stopped."""
    request = step.request
    if (
        not isinstance(request, requests.FinishWorkflowRunRequest)
        or not is_stopping(step)
        or not reaches_checkpoint(step)
    ):
        return None
    run = workflow_run(step.after, request.workflow_run_id)
    return (
        run is not None
        and run.state is WorkflowRunState.STOPPED
        and run.finished_at == step.now
        and getattr(step.answer, "state", None) is WorkflowRunState.STOPPED
    )


@journey_contract("cancel-11")
def sweep_cancels_once_quiet(step: JourneyStep) -> bool | None:
    """A sweep ends a cancelling journey when no run is active, or at the cutoff, and not before."""
    if step.request is not None or step.before.lifecycle is not LifecycleState.CANCELLING:
        return None
    active = any(run.state is WorkflowRunState.ACTIVE for run in step.before.runs)
    due = not active or overdue(step) == "cutoff"
    return (step.after.lifecycle is LifecycleState.CANCELLED) == due


@journey_contract("cancel-12")
def cancellation_deadline_ends_the_journey(step: JourneyStep) -> bool | None:
    """At its own deadline a cancellation ends the journey, whatever is missing."""
    cancellation = step.before.cancellation
    if (
        step.before.lifecycle is not LifecycleState.CANCELLING
        or cancellation is None
        or step.now < cancellation.deadline
        or not time_takes_effect(step)
    ):
        return None
    return step.after.lifecycle is LifecycleState.CANCELLED


@journey_contract("cancel-13")
def earlier_deadline_cuts_cancellation_off(step: JourneyStep) -> bool | None:
    """A journey deadline before the cancellation's own ends the journey as cancelled."""
    cancellation = step.before.cancellation
    if (
        step.before.lifecycle is not LifecycleState.CANCELLING
        or cancellation is None
        or not step.terms.deadline <= step.now < cancellation.deadline
        or not time_takes_effect(step)
    ):
        return None
    return step.after.lifecycle is LifecycleState.CANCELLED


@journey_contract("cancel-14")
def calls_in_flight_do_not_delay_cancelled(step: JourneyStep) -> bool | None:
    """A transmitted reservation does not keep a journey cancelling."""
    before = step.before
    if before.lifecycle is not LifecycleState.CANCELLING or not any(
        record.state is ReservationState.TRANSMITTED for record in before.transmissions
    ):
        return None
    cutoff = effective_cutoff(step.terms, before)
    quiet = step.request is None and not any(
        run.state is WorkflowRunState.ACTIVE for run in before.runs
    )
    if not quiet and (cutoff is None or step.now < cutoff or not time_takes_effect(step)):
        return None
    return step.after.lifecycle is LifecycleState.CANCELLED


@journey_contract("cancel-15", "outcome-03")
def unfinished_runs_are_quarantined(step: JourneyStep) -> bool | None:
    """Every terminal transition quarantines the runs that are still active."""
    if not ends(step):
        return None
    active = [run for run in step.before.runs if run.state is WorkflowRunState.ACTIVE]
    if not active:
        return None
    after = {run.workflow_run_id: run for run in step.after.runs}
    return all(
        after[run.workflow_run_id].state is WorkflowRunState.QUARANTINED
        and after[run.workflow_run_id].finished_at == step.now
        for run in active
    )


@journey_contract("cancel-15")
def quarantined_run_stays_so(step: JourneyStep) -> bool | None:
    """What a quarantined run reports later changes neither its outcome nor the journey."""
    request = step.request
    if (
        not isinstance(request, requests.FinishWorkflowRunRequest)
        or not is_terminal(step.before)
        or not reaches_checkpoint(step)
    ):
        return None
    return (
        step.code is RefusalCode.JOURNEY_TERMINAL
        and end_of(step.after) == end_of(step.before)
        and step.after.runs == step.before.runs
    )


@journey_contract("cancel-16")
def finishing_a_cancellation_twice_changes_nothing(step: JourneyStep) -> bool | None:
    """A sweep finds a cancelled journey, and leaves its end alone."""
    if step.request is not None or step.before.lifecycle is not LifecycleState.CANCELLED:
        return None
    return (
        end_of(step.after) == end_of(step.before)
        and step.after.cancellation == step.before.cancellation
    )


@world_contract("cancel-16")
def restart_keeps_cancellations(step: WorldStep) -> bool | None:
    """A cancellation under way survives a restart with its cutoff."""
    if step.operation != "restart" or not any(
        journey.state.lifecycle is LifecycleState.CANCELLING for journey in step.before.journeys
    ):
        return None
    return [(j.state.lifecycle, j.state.cancellation) for j in step.after.journeys] == [
        (j.state.lifecycle, j.state.cancellation) for j in step.before.journeys
    ]
