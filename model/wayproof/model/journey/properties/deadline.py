"""Contracts of the deadline: at it, or past it, whatever is asked makes the journey timed_out."""

from wayproof.model.journey.properties.contract import (
    JourneyStep,
    WorldStep,
    journey_contract,
    world_contract,
)
from wayproof.model.journey.properties.due import is_expired, meets_deadline, time_takes_effect
from wayproof.model.journey.properties.situation import LIVE, named, named_after, settles
from wayproof.spec.journey import requests
from wayproof.spec.journey.records import JourneySnapshot
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import (
    DiscrepancyKind,
    LifecycleState,
    ReservationState,
    TerminalReason,
    WorkflowRunState,
)


def timed_out(step: JourneyStep) -> bool:
    """Whether the step made the journey timed_out, at its own moment."""
    after = step.after
    return (
        after.lifecycle is LifecycleState.TIMED_OUT
        and after.terminal_reason == TerminalReason.DEADLINE_EXPIRED
        and after.finished_at == step.now
    )


def refused_timed_out(step: JourneyStep) -> bool:
    """Whether the request was refused because it made the journey timed_out."""
    return timed_out(step) and step.code is RefusalCode.DEADLINE_EXPIRED


@journey_contract("deadline-01")
def deadline_is_the_first_expired_millisecond(step: JourneyStep) -> bool | None:
    """At the deadline the journey is expired, one millisecond earlier it is not."""
    if step.before.lifecycle not in LIVE or not 0 <= step.terms.deadline - step.now <= 1:
        return None
    if not time_takes_effect(step):
        return None
    return (step.after.lifecycle is LifecycleState.TIMED_OUT) == (step.now == step.terms.deadline)


@journey_contract("deadline-02")
def sweep_times_out(step: JourneyStep) -> bool | None:
    """A sweep makes an expired journey timed_out."""
    if step.request is not None or not is_expired(step):
        return None
    return timed_out(step)


@journey_contract("deadline-03")
def snapshot_shows_the_deadline_of_the_start(step: JourneyStep) -> bool | None:
    """Whatever has happened, the deadline is the one that the start asked for."""
    if step.before.lifecycle is LifecycleState.PENDING:
        return None
    answer = step.answer
    if not isinstance(answer, JourneySnapshot):
        return None
    return answer.deadline_utc == step.terms.policy.deadline_utc


@world_contract("deadline-03")
def restart_keeps_deadlines(step: WorldStep) -> bool | None:
    """A restarted store has the same deadlines."""
    if step.operation != "restart" or not step.before.journeys:
        return None
    return [j.terms.deadline for j in step.after.journeys] == [
        j.terms.deadline for j in step.before.journeys
    ]


@journey_contract("deadline-04")
def late_cancellation_times_out(step: JourneyStep) -> bool | None:
    """A late cancellation answers a timed_out snapshot and never becomes cancelling."""
    if not isinstance(step.request, requests.CancelRequest) or not is_expired(step):
        return None
    answer = step.answer
    return (
        timed_out(step)
        and step.after.cancellation is None
        and isinstance(answer, JourneySnapshot)
        and answer.lifecycle_state is LifecycleState.TIMED_OUT
    )


@journey_contract("deadline-05")
def late_end_times_out(step: JourneyStep) -> bool | None:
    """A late failure or completion neither fails nor completes the journey."""
    if not isinstance(
        step.request, requests.FailJourneyRequest | requests.CompleteJourneyRequest
    ) or not meets_deadline(step):
        return None
    return refused_timed_out(step)


@journey_contract("deadline-06")
def late_claim_times_out(step: JourneyStep) -> bool | None:
    """A late run start or counter claim starts and claims nothing."""
    if not isinstance(
        step.request,
        requests.BeginJourneyRequest
        | requests.StartWorkflowRunRequest
        | requests.ClaimAttemptRequest,
    ) or not meets_deadline(step):
        return None
    return (
        refused_timed_out(step)
        and step.after.counters == step.before.counters
        and len(step.after.runs) == len(step.before.runs)
    )


@journey_contract("deadline-11")
def late_input_or_advancement_times_out(step: JourneyStep) -> bool | None:
    """A late input, resume, dispatch or end of a run enters no stage and takes over no run."""
    if not isinstance(
        step.request,
        requests.SubmitInputRequest
        | requests.ClaimDispatchedRunRequest
        | requests.FinishWorkflowRunRequest,
    ) or not meets_deadline(step):
        return None
    return refused_timed_out(step) and len(step.after.runs) == len(step.before.runs)


@journey_contract("deadline-14")
def waiting_does_not_stop_the_clock(step: JourneyStep) -> bool | None:
    """A journey that waits for input is timed out at its deadline like any other."""
    if (
        not any(run.state is WorkflowRunState.WAITING for run in step.before.runs)
        or not is_expired(step)
        or not time_takes_effect(step)
    ):
        return None
    return step.after.lifecycle is LifecycleState.TIMED_OUT


@journey_contract("deadline-14")
def resuming_moves_no_deadline(step: JourneyStep) -> bool | None:
    """Behind an answered input a snapshot shows the deadline of the policy."""
    if not isinstance(step.request, requests.SnapshotRequest) or not any(
        asked.answered for asked in step.before.inputs
    ):
        return None
    return step.answer is not None and step.answer.deadline_utc == step.terms.policy.deadline_utc


@journey_contract("deadline-07")
def late_reservation_times_out(step: JourneyStep) -> bool | None:
    """A late reservation leaves none."""
    if not isinstance(step.request, requests.ReserveRequest) or not meets_deadline(step):
        return None
    return refused_timed_out(step) and len(step.after.transmissions) == len(
        step.before.transmissions
    )


@journey_contract("deadline-08")
def late_transmission_times_out(step: JourneyStep) -> bool | None:
    """A late transmit makes nothing transmitted."""
    if not isinstance(step.request, requests.TransmitRequest) or not meets_deadline(step):
        return None
    return refused_timed_out(step) and named_after(step) == named(step)


@journey_contract("deadline-09")
def late_run_end_times_out(step: JourneyStep) -> bool | None:
    """A run whose end is reported late is quarantined."""
    request = step.request
    if not isinstance(request, requests.FinishWorkflowRunRequest) or not meets_deadline(step):
        return None
    return refused_timed_out(step) and any(
        run.workflow_run_id == request.workflow_run_id and run.state is WorkflowRunState.QUARANTINED
        for run in step.after.runs
    )


@journey_contract("deadline-10")
def late_ambiguity_times_out(step: JourneyStep) -> bool | None:
    """A late ambiguity is still charged."""
    record = named(step)
    if (
        not isinstance(step.request, requests.ReportAmbiguityRequest)
        or record is None
        or record.state is not ReservationState.TRANSMITTED
        or not is_expired(step)
    ):
        return None
    charged = named_after(step)
    return (
        timed_out(step)
        and charged is not None
        and charged.state is ReservationState.EXPIRED_CONSERVATIVELY
    )


@journey_contract("deadline-10")
def late_overshoot_times_out(step: JourneyStep) -> bool | None:
    """A late overshoot is still reconciled and recorded."""
    record = named(step)
    if not isinstance(step.request, requests.ReportResponseRequest) or not is_expired(step):
        return None
    usage = settles(step)
    if record is None or usage is None or usage <= record.reserved_tokens:
        return None
    reconciled = named_after(step)
    return (
        timed_out(step)
        and reconciled is not None
        and reconciled.state is ReservationState.RECONCILED
        and reconciled.actual_tokens == usage
        and any(
            evidence.kind is DiscrepancyKind.USAGE_OVER_RESERVATION
            and evidence.transmission_id == record.transmission_id
            for evidence in step.after.discrepancies
        )
    )


@journey_contract("deadline-12")
def late_worker_gets_no_lease(step: JourneyStep) -> bool | None:
    """A worker that comes late makes the journey timed_out and receives no lease."""
    if not isinstance(step.request, requests.ClaimLeaseRequest) or not meets_deadline(step):
        return None
    return refused_timed_out(step) and step.after.lease == step.before.lease
