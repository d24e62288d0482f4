"""Contracts on the token ceiling (clauses ``ceiling-`` and the active ``transmission-``)."""

from wayproof.model.journey.properties.contract import (
    JourneyStep,
    WorldStep,
    journey_contract,
    world_contract,
)
from wayproof.model.journey.properties.exposure import estimate_of, exposure_of
from wayproof.model.journey.properties.situation import (
    LIVE,
    OPEN,
    ceiling_admits,
    changed_transmissions,
    conservative_amount,
    earlier_of_invocation,
    goes_on,
    increase,
    is_newly_granted,
    is_terminal,
    is_to_be_granted,
    meets_budget,
    named,
    named_after,
    proceeds,
    retries_admit,
    settles,
    usage_of,
)
from wayproof.model.journey.properties.standing import (
    EXPIRED,
    RECONCILED,
    RELEASED,
    left_evidence,
)
from wayproof.spec.journey.records import OutcomeSummary, ReservationGranted
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.requests import FailJourneyRequest, ReserveRequest
from wayproof.spec.journey.vocabulary import (
    DiscrepancyKind,
    FailureReason,
    Idempotency,
    LifecycleState,
)


def is_granted(step: JourneyStep) -> bool:
    """Whether a reserve request was granted with its own amount and its own record."""
    request = step.request
    if not isinstance(request, ReserveRequest):
        return False
    amount = conservative_amount(request)
    record = named_after(step)
    return (
        amount is not None
        and record is not None
        and record.reserved_tokens == amount
        and step.answer
        == ReservationGranted(transmission_id=request.transmission_id, reserved_tokens=amount)
    )


def is_over_the_ceiling(step: JourneyStep) -> bool:
    """Whether a reserve request ended the journey for want of tokens, and left nothing."""
    return (
        step.code is RefusalCode.TOKEN_BUDGET_EXHAUSTED
        and step.after.lifecycle is LifecycleState.BUDGET_EXCEEDED
        and step.after.terminal_reason == "token_budget_exhausted"
        and step.after.transmissions == step.before.transmissions
        and step.after.counters == step.before.counters
    )


def kept_by_the_ceiling(step: JourneyStep) -> bool | None:
    """Whether a reserve request that gets as far as the ceiling was granted exactly if there is
    room; None if it does not get there, or another limit refuses it."""
    admits = ceiling_admits(step)
    if admits is None or (admits and not retries_admit(step)):
        return None
    return is_granted(step) if admits else is_over_the_ceiling(step)


@journey_contract("ceiling-01")
def granted_exactly_within_the_ceiling(step: JourneyStep) -> bool | None:
    """At stake when a reserve request gets as far as the ceiling."""
    return kept_by_the_ceiling(step)


@journey_contract("ceiling-02")
def ordinary_successor_asks_for_its_full_amount(step: JourneyStep) -> bool | None:
    """At stake when an ordinary successor of a conservatively expired transmission gets as far
    as the ceiling."""
    if not isinstance(step.request, ReserveRequest):
        return None
    if step.request.idempotency is not Idempotency.NONE:
        return None
    if all(record.state is not EXPIRED for record in earlier_of_invocation(step)):
        return None
    return kept_by_the_ceiling(step)


@journey_contract("ceiling-03")
def charge_is_replaced_in_one_commit(step: JourneyStep) -> bool | None:
    """At stake when usage reconciles a conservatively expired transmission."""
    record = named(step)
    if record is None or record.state is not EXPIRED or settles(step) is None:
        return None
    after = named_after(step)
    return (
        after is not None
        and after.state is RECONCILED
        and step.after.record_version == step.before.record_version + 1
        and exposure_of(step.after.transmissions) == tuple(step.after.totals)
    )


@journey_contract("ceiling-04")
def unused_part_is_free_again(step: JourneyStep) -> bool | None:
    """At stake when an ordinary call is reconciled below its reservation, and when a
    reservation fits only because one was."""
    record = named(step)
    if record is not None:
        usage = settles(step)
        if usage is None or usage >= record.reserved_tokens:
            return None
        if record.idempotency is not Idempotency.NONE:
            return None
        freed = step.before.totals.exposure - step.after.totals.exposure
        return freed == record.reserved_tokens - usage
    if not isinstance(step.request, ReserveRequest) or not is_to_be_granted(step):
        return None
    more = increase(step) or 0
    as_reserved = [
        record._replace(actual_tokens=max(record.actual_tokens, record.reserved_tokens))
        if record.actual_tokens is not None
        else record
        for record in step.before.transmissions
    ]
    if exposure_of(as_reserved).total + more <= step.terms.max_total_tokens:
        return None
    return is_granted(step)


@journey_contract("ceiling-05")
def all_runs_and_workers_share_the_ceiling(step: JourneyStep) -> bool | None:
    """At stake when a reservation gets as far as the ceiling while another run's, or another
    worker's, still counts against it."""
    request = step.request
    if not isinstance(request, ReserveRequest):
        return None
    mine = (request.workflow_run_id, request.fencing_token)
    if all(
        (record.workflow_run_id, record.fencing_token) == mine or record.state is RELEASED
        for record in step.before.transmissions
    ):
        return None
    return kept_by_the_ceiling(step)


@journey_contract("ceiling-06")
def refused_reservation_ends_the_journey(step: JourneyStep) -> bool | None:
    """At stake when a reservation is over the ceiling that would fit if what is outstanding
    came free."""
    if not isinstance(step.request, ReserveRequest) or ceiling_admits(step) is not False:
        return None
    known = exposure_of(r for r in step.before.transmissions if r.state not in OPEN)
    if known.total + (increase(step) or 0) > step.terms.max_total_tokens:
        return None
    return is_over_the_ceiling(step)


@journey_contract("ceiling-07")
def lapsed_reservation_still_counts(step: JourneyStep) -> bool | None:
    """At stake when a reservation gets as far as the ceiling while an open one is past its
    lease."""
    if not isinstance(step.request, ReserveRequest):
        return None
    lapsed = [
        record
        for record in step.before.transmissions
        if record.state in OPEN and step.now >= record.lease_expires_at
    ]
    kept = kept_by_the_ceiling(step) if lapsed else None
    if kept is None:
        return None
    return kept and all(record in step.after.transmissions for record in lapsed)


@journey_contract("ceiling-08")
def amount_is_prompt_plus_output(step: JourneyStep) -> bool | None:
    """At stake when a transmission is granted its reservation."""
    if not is_newly_granted(step):
        return None
    return is_granted(step)


@journey_contract("ceiling-09")
def no_estimate_no_reservation(step: JourneyStep) -> bool | None:
    """At stake when a reserve request without an estimate or a maximum output gets as far as
    the amounts."""
    request = step.request
    if not isinstance(request, ReserveRequest) or conservative_amount(request) is not None:
        return None
    if not meets_budget(step):
        return None
    return (
        step.code is RefusalCode.TOKEN_RESERVATION_UNAVAILABLE
        and step.after.lifecycle is LifecycleState.FAILED
        and step.after.terminal_reason == "token_reservation_unavailable"
        and step.after.transmissions == step.before.transmissions
    )


def _overshoot(step: JourneyStep) -> int | None:
    """The usage, if it reconciles its transmission and is at least what that had reserved."""
    record, usage = named(step), usage_of(step)
    if record is None or usage is None or usage < record.reserved_tokens:
        return None
    return settles(step)


@journey_contract("ceiling-11")
def overshoot_ends_a_running_journey(step: JourneyStep) -> bool | None:
    """At stake when usage of exactly or more than its reservation reaches a running journey."""
    record, usage = named(step), _overshoot(step)
    if record is None or usage is None or not goes_on(step):
        return None
    if usage == record.reserved_tokens:
        return step.after.lifecycle is step.before.lifecycle
    return (
        step.after.lifecycle is LifecycleState.BUDGET_EXCEEDED
        and step.after.terminal_reason == "token_budget_exhausted"
        and step.after.finished_at == step.now
    )


@journey_contract("ceiling-12")
def overshoot_counts_in_full(step: JourneyStep) -> bool | None:
    """At stake when usage above its reservation reconciles a transmission."""
    record, usage = named(step), _overshoot(step)
    if record is None or usage is None or usage == record.reserved_tokens:
        return None
    after = named_after(step)
    return (
        after is not None
        and after.actual_tokens == usage
        and step.after.totals.reconciled == exposure_of(step.after.transmissions).reconciled
        and left_evidence(step, record, DiscrepancyKind.USAGE_OVER_RESERVATION, usage)
    )


@journey_contract("ceiling-13")
def overshoot_after_the_stop_changes_no_outcome(step: JourneyStep) -> bool | None:
    """At stake when usage above its reservation reaches a cancelling or terminal journey."""
    record, usage = named(step), _overshoot(step)
    if record is None or usage is None or usage == record.reserved_tokens:
        return None
    before, after = step.before, step.after
    if before.lifecycle in LIVE:
        return None
    if is_terminal(before):
        return (after.lifecycle, after.terminal_reason, after.finished_at, after.runs) == (
            before.lifecycle,
            before.terminal_reason,
            before.finished_at,
            before.runs,
        )
    return after.lifecycle in (LifecycleState.CANCELLING, LifecycleState.CANCELLED)


@journey_contract("transmission-03")
def unmountable_boundary_fails_the_journey(step: JourneyStep) -> bool | None:
    """At stake when the owner reports that the reservation boundary is unavailable."""
    request = step.request
    if not isinstance(request, FailJourneyRequest) or not proceeds(step):
        return None
    if request.reason_code is not FailureReason.TOKEN_RESERVATION_UNAVAILABLE:
        return None
    return (
        isinstance(step.answer, OutcomeSummary)
        and step.after.lifecycle is LifecycleState.FAILED
        and step.after.terminal_reason == "token_reservation_unavailable"
    )


@journey_contract("transmission-04")
def every_transmission_counts(step: JourneyStep) -> bool | None:
    """At stake when a reservation changes whose ordinary invocation has several."""
    if not changed_transmissions(step):
        return None
    ordinary = [r for r in step.after.transmissions if r.idempotency is Idempotency.NONE]
    if len({record.invocation_id for record in ordinary}) == len(ordinary):
        return None
    return step.after.totals.exposure == exposure_of(
        step.after.transmissions
    ).total and step.after.estimated == estimate_of(step.after.transmissions)


@journey_contract("transmission-05")
def successor_needs_its_own_reservation(step: JourneyStep) -> bool | None:
    """At stake when a successor transmission gets as far as the ceiling."""
    if not earlier_of_invocation(step):
        return None
    return kept_by_the_ceiling(step)


@world_contract("transmission-06")
def restart_retransmits_nothing(step: WorldStep) -> bool | None:
    """At stake when a process restarts after something was reserved."""
    if step.operation != "restart":
        return None
    before = [journey.state.transmissions for journey in step.before.journeys]
    if not any(before):
        return None
    return before == [journey.state.transmissions for journey in step.after.journeys]
