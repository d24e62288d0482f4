"""Contracts on owner leases and takeovers (clauses ``lease-``)."""

from wayproof.model.journey.properties.contract import (
    JourneyStep,
    WorldStep,
    journey_contract,
    world_contract,
)
from wayproof.model.journey.properties.situation import (
    identity_is_known,
    is_live,
    is_terminal,
    nothing_changed,
    proceeds,
    reaches_token_check,
)
from wayproof.model.journey.state import Lease, State
from wayproof.spec.journey.constraints import LATEST_MILLISECONDS, from_milliseconds
from wayproof.spec.journey.records import LeaseExtended, LeaseGranted
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.requests import (
    ClaimLeaseRequest,
    HeartbeatRequest,
    OwnerRequest,
    ReportUnsentRequest,
)
from wayproof.spec.journey.vocabulary import (
    Idempotency,
    LifecycleState,
    ReservationState,
    WorkflowRunState,
)


def takes_over(step: JourneyStep) -> bool:
    """Whether a new claim finds an earlier lease expired."""
    lease = step.before.lease
    return (
        isinstance(step.request, ClaimLeaseRequest)
        and not identity_is_known(step)
        and lease is not None
        and step.now >= lease.expires_at
    )


def has_open_ordinary_transmission(state: State) -> bool:
    """Whether something is transmitted outside a group, and nobody knows what became of it."""
    return any(
        record.state is ReservationState.TRANSMITTED and record.idempotency is Idempotency.NONE
        for record in state.transmissions
    )


def has_active_run(state: State) -> bool:
    """Whether some run is active."""
    return any(run.state is WorkflowRunState.ACTIVE for run in state.runs)


@journey_contract("lease-01")
def one_owner_at_a_time(step: JourneyStep) -> bool | None:
    """At stake when a new claim finds the lease unexpired, and when the first is granted."""
    lease = step.before.lease
    if not isinstance(step.request, ClaimLeaseRequest):
        return None
    if lease is None:
        granted, after = isinstance(step.answer, LeaseGranted), step.after.lease
        return after is not None and _grants(step, after) if granted else None
    if step.now >= lease.expires_at or not proceeds(step):
        return None
    return step.code is RefusalCode.LEASE_HELD and nothing_changed(step)


@journey_contract("lease-02")
def holder_extends_before_the_expiry_only(step: JourneyStep) -> bool | None:
    """At stake when the latest token asks for an extension of a journey that is not stopped,
    and when it asks too late."""
    request, lease = step.request, step.before.lease
    if not isinstance(request, HeartbeatRequest) or lease is None:
        return None
    if request.fencing_token != lease.fencing_token:
        return None
    if step.now >= lease.expires_at:
        return step.code is RefusalCode.FENCED and nothing_changed(step)
    if not proceeds(step) and not _is_being_cancelled(step):
        return None
    expires_at = max(
        lease.expires_at, min(step.now + request.lease_milliseconds, LATEST_MILLISECONDS)
    )
    return step.after == step.before._replace(
        lease=lease._replace(expires_at=expires_at)
    ) and step.answer == LeaseExtended(lease_expires_at=from_milliseconds(expires_at))


def _is_being_cancelled(step: JourneyStep) -> bool:
    cancellation = step.before.cancellation
    return (
        step.before.lifecycle is LifecycleState.CANCELLING
        and cancellation is not None
        and step.now < min(cancellation.deadline, step.terms.deadline)
    )


@journey_contract("lease-03")
def expired_lease_is_granted_anew(step: JourneyStep) -> bool | None:
    """At stake when a takeover is safe."""
    if not takes_over(step) or not _is_safe(step):
        return None
    before, after = step.before.lease, step.after.lease
    return (
        before is not None
        and after is not None
        and after.fencing_token > before.fencing_token
        and _grants(step, after)
    )


def _is_safe(step: JourneyStep) -> bool:
    return (
        proceeds(step)
        and not has_open_ordinary_transmission(step.before)
        and not has_active_run(step.before)
    )


def _grants(step: JourneyStep, lease: Lease) -> bool:
    request = step.request
    assert isinstance(request, ClaimLeaseRequest)
    return lease.expires_at == min(
        step.now + request.lease_milliseconds, LATEST_MILLISECONDS
    ) and step.answer == LeaseGranted(
        fencing_token=lease.fencing_token, lease_expires_at=from_milliseconds(lease.expires_at)
    )


@journey_contract("lease-04")
def only_the_live_token_commands(step: JourneyStep) -> bool | None:
    """At stake when a worker's command, other than a release, shows a token that is not the
    live one."""
    request = step.request
    if not isinstance(request, OwnerRequest) or isinstance(request, ReportUnsentRequest):
        return None
    if is_live(step.before, request.fencing_token, step.now) or not reaches_token_check(step):
        return None
    return step.code is RefusalCode.FENCED and nothing_changed(step)


@journey_contract("lease-05")
def terminal_journey_grants_no_lease(step: JourneyStep) -> bool | None:
    """At stake when a takeover finds the journey terminal."""
    before, after = step.before, step.after
    if not takes_over(step) or not is_terminal(before):
        return None
    return (
        step.code is RefusalCode.JOURNEY_TERMINAL
        and after.lease == before.lease
        and (after.lifecycle, after.terminal_reason, after.finished_at, after.runs)
        == (before.lifecycle, before.terminal_reason, before.finished_at, before.runs)
    )


@journey_contract("lease-06")
def cancelling_journey_grants_no_lease(step: JourneyStep) -> bool | None:
    """At stake when a takeover finds the journey cancelling."""
    if not takes_over(step) or step.before.lifecycle is not LifecycleState.CANCELLING:
        return None
    if step.after.lease != step.before.lease:
        return False
    if _is_being_cancelled(step):
        return step.code is RefusalCode.JOURNEY_CANCELLING and nothing_changed(step)
    return (
        step.code is RefusalCode.JOURNEY_TERMINAL
        and step.after.lifecycle is LifecycleState.CANCELLED
    )


@journey_contract("lease-08")
def ambiguous_takeover_fails_the_journey(step: JourneyStep) -> bool | None:
    """At stake when a takeover finds a transmitted reservation outside a group."""
    if not takes_over(step) or not proceeds(step):
        return None
    if not has_open_ordinary_transmission(step.before):
        return None
    return _failed_for(step, RefusalCode.PROVIDER_TRANSMISSION_AMBIGUOUS)


@journey_contract("lease-09")
def unproven_takeover_fails_the_journey(step: JourneyStep) -> bool | None:
    """At stake when a takeover finds an active run, and nothing ambiguous."""
    if not takes_over(step) or not proceeds(step) or has_open_ordinary_transmission(step.before):
        return None
    if not has_active_run(step.before):
        return None
    return _failed_for(step, RefusalCode.ORPHAN_RECOVERY_UNSAFE)


def _failed_for(step: JourneyStep, code: RefusalCode) -> bool:
    return (
        step.code is code
        and step.after.lifecycle is LifecycleState.FAILED
        and step.after.terminal_reason == code.value
        and step.after.lease == step.before.lease
        and step.after.transmissions == step.before.transmissions
    )


@journey_contract("lease-10")
def safe_takeover_goes_on(step: JourneyStep) -> bool | None:
    """At stake when a takeover is safe after work was begun."""
    if not takes_over(step) or not step.before.runs or not _is_safe(step):
        return None
    before, after = step.before, step.after
    return (
        isinstance(step.answer, LeaseGranted)
        and after._replace(lease=before.lease, operations=before.operations) == before
    )


@world_contract("lease-11")
def leases_outlive_a_restart(step: WorldStep) -> bool | None:
    """At stake when a process restarts while a journey has an owner lease."""
    if step.operation != "restart":
        return None
    before = [journey.state.lease for journey in step.before.journeys]
    if not any(before):
        return None
    return before == [journey.state.lease for journey in step.after.journeys]
