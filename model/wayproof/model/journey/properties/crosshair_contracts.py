"""Contracts for CrossHair: the rules of tokens and counters, proven over all amounts.

The exploration tries a few amounts in every order of events. Here states and order are fixed, and
amounts, limits and counts are symbols: each function builds a small state from flat numbers, takes
one step, and answers whether its contract was kept. Nothing else in the model imports this module.

Run it with ``crosshair check --report_all wayproof.model.journey.properties.crosshair_contracts``.
"""

from typing import Final

from wayproof.model.journey.example import (
    CORRECTION,
    DAY,
    TASK,
    ambiguous,
    attempt,
    begin,
    claim,
    reserve,
    response,
    terms,
    transmit,
    unsent,
)
from wayproof.model.journey.relation import internal_steps
from wayproof.model.journey.state import State, Totals, Transmission
from wayproof.model.journey.step import step
from wayproof.model.journey.totals import with_reservation
from wayproof.spec.journey.vocabulary import (
    MAXIMUM_INTEGER,
    Counter,
    Idempotency,
    LifecycleState,
    ReservationState,
)

RESERVED = ReservationState.RESERVED
TRANSMITTED = ReservationState.TRANSMITTED
RECONCILED = ReservationState.RECONCILED
EXPIRED = ReservationState.EXPIRED_CONSERVATIVELY

TERMS: Final = terms(deadline=DAY, tokens=MAXIMUM_INTEGER)
OWNED: Final = step(TERMS, State(), claim("worker-1"), 0).state
RUNNING: Final = step(TERMS, OWNED, begin(), 0, ("run-1",)).state
"""A journey with a ceiling as high as can be, running, with one active run."""


def record(
    name: str,
    amount: int,
    state: ReservationState,
    usage: int | None = None,
    group: str | None = None,
) -> Transmission:
    """One transmission, ordinary unless it belongs to a group."""
    return Transmission(
        transmission_id=name,
        invocation_id=group or name,
        workflow_run_id="run-1",
        idempotency=Idempotency.NONE if group is None else Idempotency.AUTHORITATIVE,
        estimated_prompt_tokens=amount - 1,
        reserved_tokens=amount,
        lease_milliseconds=DAY,
        fencing_token=1,
        lease_expires_at=DAY,
        created_at=0,
        created_version=1,
        state=state,
        actual_tokens=usage,
    )


def holding(*records: Transmission) -> State:
    """The running journey with these reservations, and the totals that go with them."""
    state = RUNNING
    for entry in records:
        state = with_reservation(state, entry)
    return state


def granted_reservations_stay_within_the_ceiling(
    reconciled: int, expired: int, transmitted: int, asked: int, ceiling: int
) -> bool:
    """A reservation beside three others is granted exactly if all together fit.

    pre: 0 <= reconciled and 1 <= expired and 1 <= transmitted and 1 <= asked
    pre: reconciled + expired + transmitted <= ceiling <= 2**53 - 1
    post: _
    """
    before = holding(
        record("a", reconciled + 1, RECONCILED, usage=reconciled),
        record("b", expired, EXPIRED),
        record("c", transmitted, TRANSMITTED),
    )
    known = TERMS._replace(max_total_tokens=ceiling)
    after = step(known, before, reserve("d", asked), 0).state
    fits = reconciled + expired + transmitted + asked <= ceiling
    granted = len(after.transmissions) == 4
    return (
        granted == fits
        and after.totals.exposure <= ceiling
        and (after.lifecycle is LifecycleState.RUNNING) == fits
    )


def granted_members_stay_within_the_ceiling(
    first: int, second: int, asked: int, ceiling: int
) -> bool:
    """A group's new member asks for the increase that it causes, and for no more.

    pre: 1 <= first and 1 <= second and 1 <= asked
    pre: max(first, second) <= ceiling <= 2**53 - 1
    post: _
    """
    before = holding(
        record("a", first, EXPIRED, group="call"),
        record("b", second, TRANSMITTED, group="call"),
    )
    known = TERMS._replace(max_total_tokens=ceiling)
    after = step(known, before, reserve("c", asked, of="call", grouped=True), 0).state
    granted = len(after.transmissions) == 3
    return granted == (asked <= ceiling) and after.totals.exposure == (
        max(first, second, asked) if granted else max(first, second)
    )


def usage_replaces_a_charge_without_a_gap(charged: int, usage: int, beside: int) -> bool:
    """Nothing can happen between a conservative charge and its reconciliation, which replaces
    the one by the other in a single commit.

    pre: 1 <= charged and 0 <= usage and 1 <= beside
    pre: charged + beside <= 2**53 - 1 and usage + beside <= 2**53 - 1
    post: _
    """
    before = holding(record("a", charged, EXPIRED), record("b", beside, TRANSMITTED))
    after = step(TERMS, before, response("a", usage), 0).state
    return (
        before.totals.exposure == charged + beside
        and internal_steps(TERMS, before, 0) == ()
        and after.totals == Totals(reconciled=usage, reserved=beside)
        and after.record_version == before.record_version + 1
    )


def exposure_never_counts_too_little(amount: int, usage: int, beside: int, held: int) -> bool:
    """Whatever is reported of a transmission, what it and the others stand for is counted.

    pre: 1 <= amount and 0 <= usage and 1 <= beside and 1 <= held
    pre: amount + usage + beside + held <= 2**53 - 1
    post: _
    """
    before = holding(
        record("a", amount, TRANSMITTED),
        record("b", beside, EXPIRED),
        record("c", held, RESERVED),
    )
    expected = (
        (response("a", usage), usage),
        (response("a", None), amount),
        (ambiguous("a"), amount),
        (unsent("a"), 0),
        (transmit("c"), amount),
    )
    return all(
        step(TERMS, before, request, 0).state.totals.exposure == stands_for + beside + held
        for request, stands_for in expected
    )


def group_is_charged_at_its_maximum(
    expired: int, transmitted: int, reconciled: int, reserved: int
) -> bool:
    """A group counts once, at the greatest of what its members stand for, and its parts sum to
    that: first reconciled, then conservative, then outstanding.

    pre: 1 <= expired and 1 <= transmitted and 0 <= reconciled and 1 <= reserved
    post: _
    """
    totals = holding(
        record("a", expired, EXPIRED, group="call"),
        record("b", transmitted, TRANSMITTED, group="call"),
        record("c", 1, RECONCILED, usage=reconciled, group="call"),
        record("d", reserved, RESERVED, group="call"),
    ).totals
    return (
        totals.exposure == max(expired, transmitted, reconciled, reserved)
        and totals.reconciled == reconciled
        and totals.reconciled + totals.conservative == max(expired, reconciled)
    )


def positive_usage_settles_the_group(first: int, second: int, usage: int) -> bool:
    """One positive response settles every sent member with its number, and counts once.

    pre: 1 <= first and 1 <= second and 1 <= usage <= 2**53 - 1
    post: _
    """
    before = holding(
        record("a", first, TRANSMITTED, group="call"),
        record("b", second, EXPIRED, group="call"),
    )
    after = step(TERMS, before, response("a", usage), 0).state
    return after.totals.exposure == after.totals.reconciled == after.observed == usage and [
        entry.actual_tokens for entry in after.transmissions
    ] == [usage, usage]


def overshoot_is_above_its_own_reservation(amount: int, usage: int, beside: int) -> bool:
    """Usage ends the journey exactly if it is above the reservation that it belongs to.

    pre: 1 <= amount and 0 <= usage and 1 <= beside and usage + beside <= 2**53 - 1
    post: _
    """
    before = holding(record("a", amount, TRANSMITTED), record("b", beside, RESERVED))
    after = step(TERMS, before, response("a", usage), 0).state
    ended = after.lifecycle is LifecycleState.BUDGET_EXCEEDED
    return ended == (usage > amount) == (len(after.discrepancies) == 1)


def no_total_passes_the_greatest_integer(
    amount: int, usage: int, beside: int, observed: int
) -> bool:
    """Usage that some total could not hold is charged like malformed usage.

    pre: 1 <= amount and 0 <= usage and 1 <= beside and 0 <= observed <= 2**53 - 1
    pre: amount + beside <= 2**53 - 1
    post: _
    """
    before = holding(record("a", amount, TRANSMITTED), record("b", beside, RESERVED))
    before = before._replace(observed=observed)
    after = step(TERMS, before, response("a", usage), 0).state
    fits = usage + beside <= MAXIMUM_INTEGER and usage + observed <= MAXIMUM_INTEGER
    charged = usage if fits else amount
    return (
        after.totals.exposure == charged + beside <= MAXIMUM_INTEGER
        and after.observed == observed + (usage if fits else 0)
    )


def attempts_stay_within_their_limits(
    tasks: int, corrections: int, task_limit: int, correction_limit: int
) -> bool:
    """Two counters are claimed together or not at all, and never past a limit; the first in
    policy order that has no room is the reason.

    pre: 0 <= tasks <= task_limit and 0 <= corrections <= correction_limit
    post: _
    """
    known = TERMS._replace(limits=(None, task_limit, None, correction_limit, None, None))
    before = RUNNING._replace(counters=(1, tasks, 0, corrections, 0, 0))
    after = step(known, before, attempt("one", TASK, CORRECTION), 0).state
    fits = tasks < task_limit and corrections < correction_limit
    more = 1 if fits else 0
    reason = (
        None
        if fits
        else "task_attempt_start_limit_exhausted"
        if tasks == task_limit
        else "structured_output_correction_limit_exhausted"
    )
    return (
        after.counters == (1, tasks + more, 0, corrections + more, 0, 0)
        and after.terminal_reason == reason
    )


def retries_stay_within_their_limit(amount: int, asked: int, retries: int, limit: int) -> bool:
    """A successor claims one retry if there is one left, and never past the limit.

    pre: 1 <= amount and 1 <= asked and amount + asked <= 2**53 - 1
    pre: 0 <= retries <= limit
    post: _
    """
    place = list(Counter).index(Counter.PROVIDER_RETRY_ATTEMPTS)
    known = TERMS._replace(limits=(None, None, limit, None, None, None))
    before = holding(record("a", amount, EXPIRED))._replace(counters=(1, 0, retries, 0, 0, 0))
    after = step(known, before, reserve("b", asked, of="a"), 0).state
    granted = len(after.transmissions) == 2
    return granted == (retries < limit) and after.counters[place] == retries + granted
