"""Contracts of terminal reasons: closed words, each with the state that it belongs to."""

from collections.abc import Iterator
from typing import Any

from wayproof.model.journey.properties.contract import (
    JourneyStep,
    WorldStep,
    journey_contract,
    world_contract,
)
from wayproof.model.journey.properties.due import became, ends
from wayproof.model.journey.properties.forms import Fault, faults
from wayproof.model.journey.properties.situation import LIVE, proceeds
from wayproof.model.journey.state import State, Terms
from wayproof.spec.journey import requests
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import (
    COUNTER_EXHAUSTION_REASONS,
    CancellationReason,
    FailureReason,
    LifecycleState,
    TerminalReason,
)

_OVER_BUDGET = {
    TerminalReason.TOKEN_BUDGET_EXHAUSTED.value,
    *(reason.value for reason in COUNTER_EXHAUSTION_REASONS.values()),
}
_FAILED = {
    TerminalReason.WORKFLOW_FAILED.value,
    TerminalReason.TOKEN_RESERVATION_UNAVAILABLE.value,
    TerminalReason.PROVIDER_TRANSMISSION_AMBIGUOUS.value,
    TerminalReason.LIFECYCLE_PERSISTENCE_UNAVAILABLE.value,
    TerminalReason.ORPHAN_RECOVERY_UNSAFE.value,
}
_REGISTERED = {reason.value for reason in CancellationReason}
_EVERY = {
    TerminalReason.JOURNEY_COMPLETED.value,
    TerminalReason.DEADLINE_EXPIRED.value,
    *_OVER_BUDGET,
    *_FAILED,
    *_REGISTERED,
}


@journey_contract("reason-01")
def reason_is_registered(step: JourneyStep) -> bool | None:
    """A journey that ends has a reason of the closed list."""
    if not ends(step):
        return None
    return step.after.terminal_reason in _EVERY


@journey_contract("reason-02")
def completed_and_timed_out_have_their_own_reason(step: JourneyStep) -> bool | None:
    """journey_completed and deadline_expired."""
    if became(step, LifecycleState.COMPLETED):
        return step.after.terminal_reason == "journey_completed"
    if became(step, LifecycleState.TIMED_OUT):
        return step.after.terminal_reason == "deadline_expired"
    return None


@journey_contract("reason-03")
def cancelled_has_the_reason_of_its_cancellation(step: JourneyStep) -> bool | None:
    """The registered code of the cancellation that was accepted."""
    if not became(step, LifecycleState.CANCELLED):
        return None
    cancellation = step.before.cancellation
    return (
        cancellation is not None
        and step.after.terminal_reason == cancellation.reason
        and cancellation.reason in _REGISTERED
    )


@journey_contract("reason-04")
def budget_exceeded_has_a_budgets_reason(step: JourneyStep) -> bool | None:
    """token_budget_exhausted, or one of the six counter codes."""
    if not became(step, LifecycleState.BUDGET_EXCEEDED):
        return None
    return step.after.terminal_reason in _OVER_BUDGET


@journey_contract("reason-05")
def failed_has_a_failures_reason(step: JourneyStep) -> bool | None:
    """One of the five reasons of a failure."""
    if not became(step, LifecycleState.FAILED):
        return None
    return step.after.terminal_reason in _FAILED


def _fails_for(step: JourneyStep, reason: FailureReason) -> bool | None:
    request = step.request
    if (
        not isinstance(request, requests.FailJourneyRequest)
        or request.reason_code is not reason
        or not proceeds(step)
    ):
        return None
    return (step.after.lifecycle, step.after.terminal_reason) == (
        LifecycleState.FAILED,
        reason.value,
    )


@journey_contract("reason-06")
def workflow_failure_has_its_reason(step: JourneyStep) -> bool | None:
    """A worker whose workflow failed fails the journey with workflow_failed."""
    return _fails_for(step, FailureReason.WORKFLOW_FAILED)


@journey_contract("reason-07")
def lost_work_has_its_reason(step: JourneyStep) -> bool | None:
    """Work that an unavailable store lost fails the journey with its own reason."""
    return _fails_for(step, FailureReason.LIFECYCLE_PERSISTENCE_UNAVAILABLE)


def _cancelled_journey(step: WorldStep) -> tuple[Terms, State, State] | None:
    """The terms, and the states before and after, of a journey that a cancellation names."""
    if not isinstance(step.request, requests.CancelRequest):
        return None
    before = step.before.find(step.request.journey_id)
    after = step.after.find(step.request.journey_id)
    if before is None or after is None or step.code is not None:
        return None
    return before.terms, before.state, after.state


@world_contract("reason-08")
def absent_reason_is_caller_requested(step: WorldStep) -> bool | None:
    """A cancellation without a reason code is recorded as caller_requested."""
    journey = _cancelled_journey(step)
    if journey is None or "reason_code" in step.arguments:
        return None
    terms, before, after = journey
    if before.lifecycle not in LIVE or step.now >= terms.deadline:
        return None
    return after.cancellation is not None and after.cancellation.reason == "caller_requested"


@world_contract("reason-09")
def unregistered_reason_is_refused(step: WorldStep) -> bool | None:
    """A reason code that is not registered is refused, and nothing changes."""
    if step.operation != "cancel" or faults("cancel", step.arguments) != (
        Fault("/reason_code", "choice"),
    ):
        return None
    return step.after == step.before and step.code in (
        RefusalCode.UNSUPPORTED_CANCELLATION_REASON,
        RefusalCode.INVALID_REQUEST,
    )


@world_contract("reason-10")
def explanation_is_bounded(step: WorldStep) -> bool | None:
    """An explanation beyond its bound is refused."""
    if step.operation != "cancel" or faults("cancel", step.arguments) != (
        Fault("/explanation", "text"),
    ):
        return None
    return step.after == step.before and step.code is RefusalCode.INVALID_REQUEST


@world_contract("reason-10")
def explanation_is_not_published(step: WorldStep) -> bool | None:
    """An explanation becomes no reason, and stands nowhere in the answer."""
    journey = _cancelled_journey(step)
    explanation = step.arguments.get("explanation") if journey is not None else None
    if journey is None or not explanation or explanation in _EVERY:
        return None
    cancellation = journey[2].cancellation
    return (cancellation is None or cancellation.reason in _REGISTERED) and not any(
        explanation in text for text in _texts(encode(step.answer)) if len(explanation) > 8
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry)
