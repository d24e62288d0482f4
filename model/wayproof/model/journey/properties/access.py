"""Contracts of access: who may ask, and that nobody else learns or changes anything."""

from typing import Final

from wayproof.model.journey.properties.contract import WorldStep, world_contract
from wayproof.model.journey.properties.situation import OF_TRANSMISSION, READS
from wayproof.model.journey.properties.starting import (
    created,
    is_due_to_start,
    only_fault,
    refused_as_malformed,
    scope_of,
)
from wayproof.model.journey.world import Journey
from wayproof.spec.journey import requests
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.vocabulary import LifecycleState

_MISSING: Final = frozenset({"/access", "/access/tenant_id", "/access/owner_id"})
_OF_A_WORKER: Final = (
    requests.ClaimLeaseRequest,
    requests.OwnerRequest,
    *OF_TRANSMISSION,
)


def _asked(step: WorldStep) -> Journey | None:
    """The journey that a request names, whoever asks."""
    request = step.request
    if not isinstance(request, requests.JourneyRequest):
        return None
    return step.before.find(request.journey_id)


def _foreign(step: WorldStep) -> Journey | None:
    """The journey that a request names, if the access is not that of its creation."""
    journey = _asked(step)
    if journey is None or journey.terms.creation_scope == scope_of(step.arguments["access"]):
        return None
    return journey


def _of_another_owner(step: WorldStep) -> bool:
    journey = _foreign(step)
    return (
        journey is not None
        and journey.terms.creation_scope[:2] != scope_of(step.arguments["access"])[:2]
    )


def _is_not_found(step: WorldStep) -> bool:
    return step.code is RefusalCode.JOURNEY_NOT_FOUND and step.after == step.before


@world_contract("access-01")
def access_is_needed(step: WorldStep) -> bool | None:
    """Every operation names tenant and owner."""
    if not only_fault(
        step,
        lambda fault: (
            fault.pointer in _MISSING and (fault.kind == "missing" or fault.pointer == "/access")
        ),
    ):
        return None
    return refused_as_malformed(step)


@world_contract("access-02")
def start_persists_its_scope(step: WorldStep) -> bool | None:
    """The creation scope is that of the access, workspace and build scope included."""
    if is_due_to_start(step) is None:
        return None
    scope = scope_of(step.arguments["access"])
    if scope[2:] == (None, None):
        return None
    journey = created(step)
    return journey is not None and journey.terms.creation_scope == scope


@world_contract("access-02")
def creation_scope_stays(step: WorldStep) -> bool | None:
    """The access of a start with workspace or build scope goes on finding its journey."""
    journey = _asked(step)
    if journey is None or journey.terms.creation_scope[2:] == (None, None):
        return None
    if _foreign(step) is not None:
        return None
    after = step.after.find(journey.terms.journey_id)
    return (
        step.code is not RefusalCode.JOURNEY_NOT_FOUND
        and after is not None
        and after.terms.creation_scope == journey.terms.creation_scope
    )


@world_contract("access-03")
def tenant_and_owner_are_enough(step: WorldStep) -> bool | None:
    """A start needs no application, workspace or build scope."""
    if is_due_to_start(step) is None or scope_of(step.arguments["access"])[2:] != (None, None):
        return None
    return created(step) is not None


@world_contract("access-04")
def another_owner_observes_nothing(step: WorldStep) -> bool | None:
    """Snapshot, runs and outcome are refused to another owner."""
    if not isinstance(
        step.request,
        requests.SnapshotRequest
        | requests.ListWorkflowRunsRequest
        | requests.TerminalOutcomeRequest,
    ) or not _of_another_owner(step):
        return None
    return _is_not_found(step)


@world_contract("access-05")
def another_owner_sees_no_settled_result(step: WorldStep) -> bool | None:
    """The settled result is refused to another owner."""
    if not isinstance(step.request, requests.SettledResultRequest) or not _of_another_owner(step):
        return None
    return _is_not_found(step)


@world_contract("access-06")
def another_owner_cancels_nothing(step: WorldStep) -> bool | None:
    """A cancellation is refused to another owner."""
    if not isinstance(step.request, requests.CancelRequest) or not _of_another_owner(step):
        return None
    return _is_not_found(step)


@world_contract("access-08")
def another_owner_does_no_work(step: WorldStep) -> bool | None:
    """Workers' and adapters' operations are refused to another owner."""
    if not isinstance(step.request, _OF_A_WORKER) or not _of_another_owner(step):
        return None
    return _is_not_found(step)


@world_contract("access-09")
def another_workspace_is_foreign(step: WorldStep) -> bool | None:
    """The same owner with another workspace or build scope, or without it, is refused."""
    if _foreign(step) is None or _of_another_owner(step):
        return None
    return _is_not_found(step)


@world_contract("access-10")
def foreign_and_unknown_are_refused_alike(step: WorldStep) -> bool | None:
    """The refusal says nothing but its code."""
    if not isinstance(step.request, requests.JourneyRequest):
        return None
    if _asked(step) is not None and _foreign(step) is None:
        return None
    return (
        step.code is RefusalCode.JOURNEY_NOT_FOUND
        and isinstance(step.reply, Refusal)
        and not step.reply.detail
    )


@world_contract("access-11")
def access_comes_before_the_store(step: WorldStep) -> bool | None:
    """A foreign request that names operations, runs or transmissions, or meets a journey that
    has ended, is stopping or is overdue, is refused for its access."""
    journey = _foreign(step)
    if journey is None or isinstance(step.request, READS):
        return None
    goes_on = (
        journey.state.lifecycle in (LifecycleState.PENDING, LifecycleState.RUNNING)
        and step.now < journey.terms.deadline
    )
    if goes_on and not isinstance(step.request, _OF_A_WORKER):
        return None
    return step.code is RefusalCode.JOURNEY_NOT_FOUND


@world_contract("access-12")
def refused_access_changes_nothing(step: WorldStep) -> bool | None:
    """A foreign request that would change something changes nothing."""
    if _foreign(step) is None or isinstance(step.request, READS):
        return None
    return step.after == step.before
