"""Contracts of precedence: of several things that a step could mean, which one it means."""

from wayproof.model.journey.properties.contract import (
    JourneyStep,
    WorldStep,
    journey_contract,
    world_contract,
)
from wayproof.model.journey.properties.due import (
    ENDING_REQUESTS,
    end_of,
    exhausted_counter,
    is_expired,
    is_over_budget,
    is_over_the_ceiling,
    is_stopping,
    meets_deadline,
    meets_limits,
    out_of_turn,
    overdue,
    time_takes_effect,
)
from wayproof.model.journey.properties.forms import faults
from wayproof.model.journey.properties.situation import (
    LIVE,
    OPEN,
    READS,
    identity_is_known,
    is_terminal,
    nothing_changed,
    proceeds,
    reaches_checkpoint,
    references_are_known,
    token_is_right,
    transmission,
)
from wayproof.spec.journey import requests
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import (
    AccountingStatus,
    Idempotency,
    LifecycleState,
    ReservationState,
    TerminalReason,
)

_MALFORMED = (
    RefusalCode.UNSUPPORTED_SCHEMA_VERSION,
    RefusalCode.INVALID_REQUEST,
    RefusalCode.UNSUPPORTED_CANCELLATION_REASON,
)
_REFERENCES: tuple[RefusalCode, ...] = (
    RefusalCode.UNKNOWN_WORKFLOW_RUN,
    RefusalCode.UNKNOWN_INPUT_REQUEST,
    RefusalCode.UNKNOWN_DISPATCH_INTENT,
    RefusalCode.UNKNOWN_TRANSMISSION,
    RefusalCode.INVALID_ROUTE_CHOICE,
)
_CONSUMING = (
    requests.BeginJourneyRequest,
    requests.StartWorkflowRunRequest,
    requests.ClaimAttemptRequest,
    requests.ReserveRequest,
    requests.FinishWorkflowRunRequest,
    requests.SubmitInputRequest,
)


@journey_contract("precedence-01")
def deadline_of_a_cancelling_journey_cancels_it(step: JourneyStep) -> bool | None:
    """A deadline that expires while cancelling ends the journey as cancelled."""
    if (
        step.before.lifecycle is not LifecycleState.CANCELLING
        or step.now < step.terms.deadline
        or not time_takes_effect(step)
    ):
        return None
    return step.after.lifecycle is LifecycleState.CANCELLED


@journey_contract("precedence-02")
def budget_of_a_cancelling_journey_does_not_end_it(step: JourneyStep) -> bool | None:
    """Too much asked while cancelling is refused as cancelling."""
    if not is_stopping(step) or not is_over_budget(step) or not reaches_checkpoint(step):
        return None
    return step.code is RefusalCode.JOURNEY_CANCELLING and nothing_changed(step)


@journey_contract("precedence-03")
def end_reported_while_cancelling_is_refused(step: JourneyStep) -> bool | None:
    """A failure or completion does not win against a cancellation that was accepted."""
    if (
        step.before.lifecycle is not LifecycleState.CANCELLING
        or not isinstance(
            step.request, requests.FailJourneyRequest | requests.CompleteJourneyRequest
        )
        or not reaches_checkpoint(step)
    ):
        return None
    if overdue(step) == "cutoff":
        return (
            step.code is RefusalCode.JOURNEY_TERMINAL
            and step.after.lifecycle is LifecycleState.CANCELLED
        )
    return step.code is RefusalCode.JOURNEY_CANCELLING and nothing_changed(step)


@journey_contract("precedence-04")
def deadline_comes_before_budget(step: JourneyStep) -> bool | None:
    """Too much asked at or past the deadline makes the journey timed_out."""
    if not is_over_budget(step) or not meets_deadline(step):
        return None
    return (
        step.code is RefusalCode.DEADLINE_EXPIRED
        and step.after.lifecycle is LifecycleState.TIMED_OUT
    )


@journey_contract("precedence-05")
def ceiling_ends_the_journey_before_the_call(step: JourneyStep) -> bool | None:
    """A reservation over the ceiling ends the journey and leaves no reservation."""
    if not is_over_the_ceiling(step) or not meets_limits(step):
        return None
    return (
        step.code is RefusalCode.TOKEN_BUDGET_EXHAUSTED
        and step.after.lifecycle is LifecycleState.BUDGET_EXCEEDED
        and step.after.terminal_reason == TerminalReason.TOKEN_BUDGET_EXHAUSTED
        and len(step.after.transmissions) == len(step.before.transmissions)
    )


@journey_contract("precedence-06")
def tokens_come_before_counters(step: JourneyStep) -> bool | None:
    """A command over the ceiling and over a counter ends for the tokens."""
    if not is_over_the_ceiling(step) or exhausted_counter(step) is None or not meets_limits(step):
        return None
    return step.after.terminal_reason == TerminalReason.TOKEN_BUDGET_EXHAUSTED


@journey_contract("precedence-07")
def first_end_decides(step: JourneyStep) -> bool | None:
    """Before the deadline the first of cancellation, failure and completion stands."""
    before = step.before
    if (
        not isinstance(step.request, ENDING_REQUESTS)
        or before.lifecycle in LIVE
        or step.now >= step.terms.deadline
        or overdue(step) == "cutoff"
        or not reaches_checkpoint(step)
    ):
        return None
    return (
        end_of(step.after) == end_of(before)
        and step.after.cancellation == before.cancellation
        and (isinstance(step.request, requests.CancelRequest) or step.code is not None)
    )


@journey_contract("precedence-08")
def what_is_overdue_comes_first(step: JourneyStep) -> bool | None:
    """Every mutating command first lets take effect what is overdue for the journey."""
    if step.request is None or isinstance(step.request, READS):
        return None
    due = overdue(step)
    if due is None or not reaches_checkpoint(step):
        return None
    if due == "deadline":
        return step.after.lifecycle is LifecycleState.TIMED_OUT
    if due == "cutoff":
        return step.after.lifecycle is LifecycleState.CANCELLED
    return step.after.accounting is not AccountingStatus.PENDING


@journey_contract("precedence-09")
def refused_means_refused_whole(step: JourneyStep) -> bool | None:
    """A refused command has consumed no counter, left no reservation and started no run."""
    if not isinstance(step.request, _CONSUMING) or step.code is None:
        return None
    before, after = step.before, step.after
    return (
        after.counters == before.counters
        and len(after.transmissions) == len(before.transmissions)
        and len(after.runs) == len(before.runs)
    )


@journey_contract("precedence-10")
def mistaken_request_ends_nothing(step: JourneyStep) -> bool | None:
    """An unknown reference or a wrong token is refused as such, whatever is due or has ended."""
    if (
        step.request is None
        or isinstance(step.request, READS)
        or (step.before.lifecycle in LIVE and not is_expired(step))
        or identity_is_known(step)
    ):
        return None
    if not references_are_known(step):
        codes = _REFERENCES
    elif not token_is_right(step):
        codes = (RefusalCode.FENCED,)
    else:
        return None
    return step.code in codes and nothing_changed(step)


@world_contract("precedence-10")
def malformed_request_ends_nothing(step: WorldStep) -> bool | None:
    """A malformed request on a journey that has ended, is stopping or is overdue is refused as
    malformed, and time takes no effect by it."""
    if not isinstance(step.arguments, dict):
        return None
    named = step.arguments.get("journey_id")
    journey = step.before.find(named) if isinstance(named, str) else None
    if journey is None or (journey.state.lifecycle in LIVE and step.now < journey.terms.deadline):
        return None
    found = faults(step.operation, step.arguments)
    if not found or found[0].kind == "operation":
        return None
    return step.code in _MALFORMED and step.after == step.before


@journey_contract("precedence-11")
def step_out_of_turn_ends_nothing(step: JourneyStep) -> bool | None:
    """A step that is not due is refused before tokens and counters are looked at."""
    code = out_of_turn(step)
    if code is None or not proceeds(step):
        return None
    return step.code is code and nothing_changed(step)


@journey_contract("precedence-12")
def sweep_keeps_the_order_of_time(step: JourneyStep) -> bool | None:
    """Of several things that fell due at once, each takes effect in its turn: the deadline and
    the cancellation decide the end before an ambiguous lease could, and leases come before the
    accounting deadline."""
    before, after = step.before, step.after
    if step.request is not None:
        return None
    lapsed = [
        record
        for record in before.transmissions
        if record.state in OPEN and step.now >= record.lease_expires_at
    ]
    due = overdue(step)
    if len(lapsed) + (due is not None) < 2:
        return None
    if any(
        getattr(transmission(after, record.transmission_id), "state", None)
        is not _AFTER_LEASE[record.state]
        for record in lapsed
    ):
        return False
    if due == "deadline":
        return after.lifecycle is LifecycleState.TIMED_OUT
    if due == "cutoff":
        return after.lifecycle is LifecycleState.CANCELLED
    if due == "accounting":
        return after.accounting is not AccountingStatus.PENDING
    ambiguous = before.lifecycle is LifecycleState.RUNNING and any(
        record.state is ReservationState.TRANSMITTED and record.idempotency is Idempotency.NONE
        for record in lapsed
    )
    if ambiguous:
        return after.terminal_reason == TerminalReason.PROVIDER_TRANSMISSION_AMBIGUOUS
    return is_terminal(after) == is_terminal(before) or (
        before.lifecycle is LifecycleState.CANCELLING
        and after.lifecycle is LifecycleState.CANCELLED
    )


_AFTER_LEASE = {
    ReservationState.RESERVED: ReservationState.RELEASED_UNTRANSMITTED,
    ReservationState.TRANSMITTED: ReservationState.EXPIRED_CONSERVATIVELY,
}
