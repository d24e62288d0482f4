"""The shared ceiling, and the exposure of idempotent groups, with numbers worked out by hand."""

import pytest
from tests.acceptance.driver import Journeys, refused, tokens


def test_the_ceiling_may_be_reached_exactly(journey: Journeys) -> None:
    """The sum with the requested delta may equal max_total_tokens."""
    j = journey.running(max_total_tokens=100)
    assert j.reserve("t1", prompt=60, output=40)["reserved_tokens"] == 100
    assert j.state() == ("running", None)


def test_one_token_more_is_too_much(journey: Journeys) -> None:
    """The sum with the requested delta may not exceed max_total_tokens."""
    j = journey.running(max_total_tokens=100)
    with refused("token_budget_exhausted"):
        j.reserve("t1", prompt=61, output=40)
    assert j.state() == ("budget_exceeded", "token_budget_exhausted")


def test_all_runs_contend_for_one_ceiling(journey: Journeys) -> None:
    """All concurrent workflows contend on the same reservation authority."""
    j = journey.running(workflow_sequence_id="pair", max_total_tokens=250)
    j.reserve("t1", prompt=60, output=40, run=j.runs_begun[0])
    j.reserve("t2", prompt=60, output=40, run=j.runs_begun[1])
    assert j.tokens() == tokens(reserved=200)
    with refused("token_budget_exhausted"):
        j.reserve("t3", prompt=11, output=40, run=j.runs_begun[0])


@pytest.mark.parametrize(("output", "granted"), [(600, True), (601, False)])
def test_reconciled_usage_stays_counted(journey: Journeys, output: int, granted: bool) -> None:
    """reconciled_tokens is part of the ceiling's sum: 400 + 600 = 1000."""
    j = journey.running(max_total_tokens=1000)
    j.send("t1", prompt=300, output=200)
    j.response("t1", 400)
    if granted:
        j.reserve("t2", prompt=0, output=output)
        assert j.tokens() == tokens(reserved=600, reconciled=400)
    else:
        with refused("token_budget_exhausted"):
            j.reserve("t2", prompt=0, output=output)


@pytest.mark.parametrize(("output", "granted"), [(100, True), (101, False)])
def test_conservative_charges_stay_counted(journey: Journeys, output: int, granted: bool) -> None:
    """Conservative charges remain included in the atomic ceiling check: 100 + 100 = 200."""
    j = journey.running(max_total_tokens=200)
    j.send("t1", prompt=60, output=40)
    j.response("t1", None)
    assert j.tokens() == tokens(conservative=100)
    if granted:
        j.reserve("t2", prompt=0, output=output)
        assert j.tokens() == tokens(reserved=100, conservative=100)
    else:
        with refused("token_budget_exhausted"):
            j.reserve("t2", prompt=0, output=output)


def test_reconciliation_replaces_a_conservative_charge(journey: Journeys) -> None:
    """Later reconciliation replaces the charge atomically: 100 becomes 80, 20 more fit."""
    j = journey.running(max_total_tokens=200)
    j.send("t1", prompt=60, output=40)
    j.response("t1", None)
    j.reserve("t2", prompt=60, output=40)
    j.response("t1", 80)
    assert j.tokens() == tokens(reserved=100, reconciled=80)
    j.reserve("t3", prompt=0, output=20)
    assert j.tokens() == tokens(reserved=120, reconciled=80)
    with refused("token_budget_exhausted"):
        j.reserve("t4", prompt=0, output=1)


def test_a_retry_finds_no_capacity_freed_by_its_predecessor(journey: Journeys) -> None:
    """A conservatively expired ordinary transmission never releases capacity for a retry."""
    j = journey.running(max_total_tokens=150)
    j.send("t1", prompt=60, output=40, invocation="call-1")
    j.response("t1", None)
    with refused("token_budget_exhausted"):
        j.reserve("t2", prompt=60, output=40, invocation="call-1")
    assert j.state() == ("budget_exceeded", "token_budget_exhausted")


def test_a_successor_reserves_its_full_amount(journey: Journeys) -> None:
    """Every successor passes the same check: the formula counts transmissions, not calls."""
    j = journey.running(max_total_tokens=150)
    j.send("t1", prompt=60, output=40, invocation="call-1")
    j.response("t1", 50)
    j.reserve("t2", prompt=60, output=40, invocation="call-1")
    assert j.tokens() == tokens(reserved=100, reconciled=50)


def test_capacity_that_comes_free_a_moment_later_does_not_help(journey: Journeys) -> None:
    """The ceiling refuses at the checkpoint (ruling 5: the order of events decides)."""
    j = journey.running(max_total_tokens=100)
    j.reserve("t1", prompt=60, output=40, lease=10_000)
    j.tick(9_999)
    with refused("token_budget_exhausted"):
        j.reserve("t2", prompt=0, output=1)
    assert j.state() == ("budget_exceeded", "token_budget_exhausted")


def test_capacity_released_by_a_sweep_is_free(journey: Journeys) -> None:
    """A lapsed reservation is released by a sweep, and then its amount can be reserved."""
    j = journey.running(max_total_tokens=100)
    j.reserve("t1", prompt=60, output=40, lease=10_000)
    j.sweep_at(10_000)
    j.reserve("t2", prompt=60, output=40)
    assert j.tokens() == tokens(reserved=100)


def test_usage_over_its_reservation_ends_the_journey(journey: Journeys) -> None:
    """Usage above its reservation: recorded, budget_exceeded, discrepancy (ruling 20)."""
    j = journey.running(max_total_tokens=1000)
    j.send("t1", prompt=60, output=40)
    j.tick(4_000)
    assert j.response("t1", 101)["state"] == "reconciled"
    assert j.state() == ("budget_exceeded", "token_budget_exhausted")
    assert j.tokens() == tokens(reconciled=101)
    assert j.discrepancies() == [
        {
            "schema_version": "wayproof.journey.discrepancy.v1",
            "journey_id": j.id,
            "ordinal": 1,
            "transmission_id": "t1",
            "kind": "usage_over_reservation",
            "reported_tokens": 101,
            "recorded_at": "2030-01-01T00:00:04.000Z",
        }
    ]
    assert j.snapshot()["discrepancy_count"] == 1


def test_usage_equal_to_its_reservation_is_no_overshoot(journey: Journeys) -> None:
    """Only usage that exceeds its reservation is an overshoot."""
    j = journey.running(max_total_tokens=100)
    j.send("t1", prompt=60, output=40)
    j.response("t1", 100)
    assert j.state() == ("running", None)
    assert j.evidence() == []


def test_a_group_is_counted_once_at_its_maximum(journey: Journeys) -> None:
    """Sibling exposure is the maximum member amount, never the sum."""
    j = journey.running(max_total_tokens=150)
    j.send("t1", prompt=60, output=40, invocation="call-1", group=True)
    j.send("t2", prompt=20, output=40, invocation="call-1", group=True)
    assert j.tokens() == tokens(reserved=100)
    j.send("t3", prompt=110, output=40, invocation="call-1", group=True)
    assert j.tokens() == tokens(reserved=150)
    assert j.snapshot()["tokens"]["estimated_prompt_tokens"] == 190


def test_a_smaller_sibling_fits_under_a_full_ceiling(journey: Journeys) -> None:
    """The requested delta is the non-negative increase of the group's exposure: here 0."""
    j = journey.running(max_total_tokens=100)
    j.send("t1", prompt=60, output=40, invocation="call-1", group=True)
    j.reserve("t2", prompt=60, output=40, invocation="call-1", group=True)
    assert j.state() == ("running", None)
    with refused("token_budget_exhausted"):
        j.reserve("t3", prompt=0, output=1)


def test_the_increase_of_a_group_is_checked(journey: Journeys) -> None:
    """The delta of a larger sibling is its increase: 51 over a free 50 is too much."""
    j = journey.running(max_total_tokens=150)
    j.send("t1", prompt=60, output=40, invocation="call-1", group=True)
    with refused("token_budget_exhausted"):
        j.reserve("t2", prompt=111, output=40, invocation="call-1", group=True)


def test_two_groups_are_counted_apart(journey: Journeys) -> None:
    """A group is keyed by one invocation_id; different invocations add up."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, invocation="call-1", group=True)
    j.send("t2", prompt=60, output=40, invocation="call-2", group=True)
    assert j.tokens() == tokens(reserved=200)


def test_a_group_that_expires_is_charged_once(journey: Journeys) -> None:
    """The conservative charge of a group is its maximum; its expiry is not ambiguous."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, invocation="call-1", group=True, lease=10_000)
    j.send("t2", prompt=110, output=40, invocation="call-1", group=True, lease=10_000)
    j.sweep_at(10_000)
    assert j.reservation_state("t1") == "expired_conservatively"
    assert j.reservation_state("t2") == "expired_conservatively"
    assert j.tokens() == tokens(conservative=150)
    assert j.state() == ("running", None)  # ruling 18


def test_one_response_settles_the_transmitted_siblings(journey: Journeys) -> None:
    """The provider executes at most once: siblings are reconciled, adding nothing (ruling 18)."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, invocation="call-1", group=True)
    j.send("t2", prompt=110, output=40, invocation="call-1", group=True)
    j.response("t1", 70)
    assert j.reservation_state("t1") == "reconciled"
    assert j.reservation_state("t2") == "reconciled"
    assert j.tokens() == tokens(reconciled=70)
    j.finish()
    j.complete()
    assert j.accounting() == "settled"


def test_an_unsent_sibling_is_not_settled_by_the_response(journey: Journeys) -> None:
    """Exposure is attributed to reconciled first (ruling 17): 70 and the increase to 150."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, invocation="call-1", group=True)
    j.reserve("t2", prompt=110, output=40, invocation="call-1", group=True)
    j.response("t1", 70)
    assert j.reservation_state("t2") == "reserved"
    assert j.tokens() == tokens(reserved=80, reconciled=70)
    j.unsent("t2")
    assert j.tokens() == tokens(reconciled=70)


def test_a_released_sibling_stands_for_nothing(journey: Journeys) -> None:
    """A released member contributes nothing: the maximum falls from 150 to 100."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, invocation="call-1", group=True)
    j.reserve("t2", prompt=110, output=40, invocation="call-1", group=True)
    j.unsent("t2")
    assert j.tokens() == tokens(reserved=100)


def test_a_group_is_attributed_to_conservative_before_outstanding(journey: Journeys) -> None:
    """Each field gets only its increase (ruling 17): 100 conservative, 50 outstanding."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, invocation="call-1", group=True)
    j.response("t1", "unknown")
    assert j.tokens() == tokens(conservative=100)
    j.send("t2", prompt=110, output=40, invocation="call-1", group=True)
    assert j.tokens() == tokens(reserved=50, conservative=100)
    j.response("t2", 120)
    assert j.reservation_state("t1") == "reconciled"
    assert j.tokens() == tokens(reconciled=120)


def test_a_sibling_reported_unsent_leaves_the_others_charged(journey: Journeys) -> None:
    """A proof about one transmission proves nothing about its siblings."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, invocation="call-1", group=True)
    j.send("t2", prompt=110, output=40, invocation="call-1", group=True)
    j.unsent("t2")
    assert j.reservation_state("t1") == "transmitted"
    assert j.tokens() == tokens(reserved=100)


def test_without_a_contract_a_response_settles_only_its_own(journey: Journeys) -> None:
    """Reconciliation of one response settles only the transmission it belongs to."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.send("t2", prompt=60, output=40)
    j.response("t1", 70)
    assert j.reservation_state("t2") == "transmitted"
    assert j.tokens() == tokens(reserved=100, reconciled=70)


def test_a_zero_of_one_member_proves_nothing_of_its_sibling(journey: Journeys) -> None:
    """An error response is evidence only for what it proves (ruling 47: an explicit zero)."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, invocation="call-1", group=True)
    j.send("t2", prompt=20, output=40, invocation="call-1", group=True)
    j.response("t1", 0)
    assert j.reservation_state("t1") == "reconciled"
    assert j.reservation_state("t2") == "transmitted"
    assert j.tokens() == tokens(reserved=60)


def test_prompt_estimates_are_summed_for_ever(journey: Journeys) -> None:
    """estimated_prompt_tokens is the estimate before a call; no part of the check (ruling 41)."""
    j = journey.running(max_total_tokens=100)
    j.reserve("t1", prompt=60, output=40)
    j.unsent("t1")
    j.reserve("t2", prompt=70, output=30)
    assert j.tokens() == tokens(reserved=100)
    assert j.snapshot()["tokens"]["estimated_prompt_tokens"] == 130
