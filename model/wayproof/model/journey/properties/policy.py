"""Contracts of policies: each field's bounds, both sides, and that a policy never changes."""

from collections.abc import Collection
from typing import Any, Final

from wayproof.model.journey.properties.contract import (
    JourneyStep,
    WorldStep,
    journey_contract,
    world_contract,
)
from wayproof.model.journey.properties.due import claims, exhaustion_code, meets_limits
from wayproof.model.journey.properties.forms import faults
from wayproof.model.journey.properties.starting import (
    MALFORMED,
    created,
    is_due_to_start,
    is_well_formed_start,
    only_fault,
    policy_of,
    refused_as_malformed,
)
from wayproof.spec.journey.constraints import parse_moment, to_milliseconds
from wayproof.spec.journey.vocabulary import MAXIMUM_INTEGER, Counter

_STARTS: Final = ("max_workflow_run_starts", "max_task_attempt_starts")
_RETRIES: Final = (
    "max_provider_retry_attempts",
    "max_structured_output_correction_attempts",
    "max_workflow_repair_starts",
    "max_app_refinement_starts",
)
_GRACES: Final = ("cancellation_grace_seconds", "accounting_settlement_grace_seconds")


def _refused(step: WorldStep, *names: str) -> bool | None:
    """Whether a start was refused whose only faults are in these fields of its policy."""
    if policy_of(step) is None:
        return None
    pointers = {f"/policy/{name}" for name in names}
    if not only_fault(step, lambda fault: fault.pointer in pointers and fault.kind != "unknown"):
        return None
    return refused_as_malformed(step)


def _accepted_at(step: WorldStep, bound: int, names: Collection[str]) -> bool | None:
    """Whether a start without a fault was decoded, one of whose fields is at its bound."""
    policy = policy_of(step)
    if policy is None or not any(policy.get(name) == bound for name in names):
        return None
    return step.request is not None if is_well_formed_start(step) else None


def _either(refused: bool | None, accepted: bool | None) -> bool | None:
    return accepted if refused is None else refused


@world_contract("policy-01")
def other_policy_version_is_refused(step: WorldStep) -> bool | None:
    """Only the one schema version of a policy is read."""
    return _refused(step, "schema_version")


@world_contract("policy-02")
def unclear_deadline_is_refused(step: WorldStep) -> bool | None:
    """A deadline is given, in UTC, and no finer than a millisecond."""
    return _refused(step, "deadline_utc")


@world_contract("policy-03")
def policy_is_valid_whatever_the_clock_says(step: WorldStep) -> bool | None:
    """A deadline already past, and a retention that ends before it, are accepted."""
    policy = policy_of(step)
    if policy is None or is_due_to_start(step) is None:
        return None
    deadline = parse_moment(policy["deadline_utc"])
    retained = policy["partial_artifact_policy"].get("retain_until_utc")
    if to_milliseconds(deadline) > step.now and (
        retained is None or parse_moment(retained) >= deadline
    ):
        return None
    return created(step) is not None


@world_contract("policy-04")
def ceiling_is_positive(step: WorldStep) -> bool | None:
    """A ceiling of 1 is accepted, anything below or absent is refused."""
    name = "max_total_tokens"
    return _either(_refused(step, name), _accepted_at(step, 1, (name,)))


def _accepted_in_part(step: WorldStep, names: tuple[str, ...]) -> bool | None:
    """Whether a start was decoded that gives some of these maxima and leaves others out."""
    policy = policy_of(step)
    if policy is None or not 0 < sum(policy.get(name) is not None for name in names) < len(names):
        return None
    return step.request is not None if is_well_formed_start(step) else None


@world_contract("policy-05")
def maxima_of_starts_are_positive(step: WorldStep) -> bool | None:
    """Each may be absent, 1 is accepted, zero and below are refused."""
    accepted = _either(_accepted_at(step, 1, _STARTS), _accepted_in_part(step, _STARTS))
    return _either(_refused(step, *_STARTS), accepted)


@world_contract("policy-06")
def maxima_of_retries_may_be_zero(step: WorldStep) -> bool | None:
    """Each may be absent, 0 is accepted, anything below is refused."""
    accepted = _either(_accepted_at(step, 0, _RETRIES), _accepted_in_part(step, _RETRIES))
    return _either(_refused(step, *_RETRIES), accepted)


@world_contract("policy-07")
def cancellation_is_cooperative(step: WorldStep) -> bool | None:
    """Another mode of cancellation, or none, is refused."""
    return _refused(step, "cancellation_mode")


@world_contract("policy-08")
def graces_are_positive(step: WorldStep) -> bool | None:
    """A grace of 1 second is accepted, anything below or absent is refused."""
    return _either(_refused(step, *_GRACES), _accepted_at(step, 1, _GRACES))


@world_contract("policy-09")
def disposition_and_moment_go_together(step: WorldStep) -> bool | None:
    """``delete`` has no moment, ``retain_until`` has one."""
    policy = policy_of(step)
    if policy is None:
        return None
    if only_fault(step, lambda fault: fault.pointer.startswith("/policy/partial_artifact_policy")):
        return refused_as_malformed(step)
    artifacts = policy.get("partial_artifact_policy")
    if not isinstance(artifacts, dict) or artifacts.get("on_non_success") != "retain_until":
        return None
    return step.request is not None if is_well_formed_start(step) else None


def _value_at(arguments: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        arguments = arguments[int(part)] if isinstance(arguments, list) else arguments[part]
    return arguments


@world_contract("policy-10")
def numbers_are_exact_integers(step: WorldStep) -> bool | None:
    """A boolean, text, fraction or integer beyond 2**53-1 is no number of a request."""
    found = faults(step.operation, step.arguments)
    if not found or any(fault.kind != "number" for fault in found):
        return None
    for fault in found:
        value = _value_at(step.arguments, fault.pointer)
        if type(value) is int and value <= MAXIMUM_INTEGER:
            return None
    return refused_as_malformed(step)


@world_contract("policy-11")
def unknown_field_of_a_policy_is_refused(step: WorldStep) -> bool | None:
    """No combined maximum, no monetary ceiling, nothing that the schema does not name."""
    if policy_of(step) is None or not only_fault(
        step, lambda fault: fault.kind == "unknown" and fault.pointer.startswith("/policy/")
    ):
        return None
    return refused_as_malformed(step)


@world_contract("policy-12")
def policy_never_changes(step: WorldStep) -> bool | None:
    """A request that brings a policy along, and a restart, leave every journey's as it was."""
    brings_one = isinstance(step.arguments, dict) and "policy" in step.arguments
    if not step.before.journeys or not (brings_one or step.operation == "restart"):
        return None
    if step.operation != "start" and brings_one and step.code not in MALFORMED:
        return False
    kept = step.after.journeys[: len(step.before.journeys)]
    return [(j.terms.policy, j.terms.limits, j.terms.deadline) for j in kept] == [
        (j.terms.policy, j.terms.limits, j.terms.deadline) for j in step.before.journeys
    ]


@journey_contract("policy-13")
def absent_maximum_limits_nothing(step: JourneyStep) -> bool | None:
    """A counter without a maximum goes on being claimed."""
    claimed = claims(step)
    unlimited = [
        counter
        for counter, count, limit in zip(
            Counter, step.before.counters, step.terms.limits, strict=True
        )
        if limit is None and count > 0 and counter in claimed
    ]
    if not unlimited or not meets_limits(step):
        return None
    return step.code not in [exhaustion_code(counter) for counter in unlimited]
