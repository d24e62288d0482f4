"""Reports that come late, twice, or in contradiction: what is recorded, and what never changes."""

import pytest
from tests.acceptance.driver import Journey, Journeys, refused, tokens


def settlement_failed(journey: Journeys) -> Journey:
    """A completed journey whose one call was never answered, after its accounting deadline."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.finish()
    j.complete()
    j.sweep_at(60_000)
    return j


def test_a_proof_of_non_transmission_can_come_too_late(journey: Journeys) -> None:
    """After accounting is final later signals are discrepancy evidence only."""
    j = settlement_failed(journey)
    assert j.unsent("t1")["state"] == "expired_conservatively"
    assert j.evidence() == [("t1", "late_usage", 0)]
    assert j.tokens() == tokens(conservative=100)
    assert j.accounting() == "settlement_failed"


def test_malformed_usage_that_comes_late_is_malformed_all_the_same(journey: Journeys) -> None:
    """Late and malformed: sanitized evidence without a number."""
    j = settlement_failed(journey)
    j.response("t1", "seventy")
    assert j.evidence() == [("t1", "malformed_usage", None)]
    assert j.tokens() == tokens(conservative=100)


def test_an_ambiguity_after_settlement_changes_nothing(journey: Journeys) -> None:
    """A settled result is immutable; nothing new is known by an ambiguity."""
    j = settlement_failed(journey)
    before = j.snapshot()
    assert j.ambiguity("t1")["state"] == "expired_conservatively"
    assert j.snapshot() == before


def test_a_repeated_proof_of_non_transmission_counts_once(journey: Journeys) -> None:
    """Duplicate events change nothing: zero was reconciled, and zero it is."""
    j = journey.running()
    j.send("t1")
    j.unsent("t1")
    before = j.snapshot()
    assert j.unsent("t1")["state"] == "reconciled"
    assert j.response("t1", 0)["state"] == "reconciled"
    assert j.snapshot() == before
    assert j.evidence() == []


def test_malformed_usage_of_an_ambiguous_call_is_evidence(journey: Journeys) -> None:
    """Malformed usage reconciles nothing: the charge of the ambiguity stays."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.ambiguity("t1")
    assert j.response("t1", None)["state"] == "expired_conservatively"
    assert j.evidence() == [("t1", "malformed_usage", None)]
    assert j.tokens() == tokens(conservative=100)
    assert j.accounting() == "pending"


@pytest.mark.parametrize("releases", [False, True])
def test_malformed_usage_of_an_unsent_call_is_evidence(journey: Journeys, releases: bool) -> None:
    """Usage never moves what was not transmitted, whatever its form."""
    j = journey.running()
    j.reserve("t1", prompt=60, output=40)
    if releases:
        j.unsent("t1")
    j.response("t1", -5)
    assert j.evidence() == [("t1", "malformed_usage", None)]
    assert j.tokens() == tokens(reserved=0 if releases else 100)


def test_different_kinds_of_evidence_stand_side_by_side(journey: Journeys) -> None:
    """Evidence is bounded, one of each kind (ruling 45), in the order in which it came."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.send("t2", prompt=60, output=40)
    for usage in (None, 70, 71, "x", 72):
        j.response("t1", usage)
    j.response("t2", [])
    assert j.evidence() == [
        ("t1", "malformed_usage", None),
        ("t1", "conflicting_usage", 71),
        ("t2", "malformed_usage", None),
    ]
    assert j.snapshot()["discrepancy_count"] == 3
    assert [d["ordinal"] for d in j.discrepancies(limit=2)] == [1, 2]
    assert [d["ordinal"] for d in j.discrepancies(after=2)] == [3]


def test_an_overshoot_of_one_member_counts_against_its_own_reservation(journey: Journeys) -> None:
    """Usage that exceeds its reservation ends the journey, below its group's maximum too."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, invocation="call-1", group=True)
    j.send("t2", prompt=160, output=40, invocation="call-1", group=True)
    j.response("t1", 150)
    assert j.state() == ("budget_exceeded", "token_budget_exhausted")
    assert j.evidence() == [("t1", "usage_over_reservation", 150)]
    assert j.tokens() == tokens(reconciled=150)
    assert j.accounting() == "settled"


def test_an_overshoot_after_an_ambiguity_keeps_the_outcome(journey: Journeys) -> None:
    """Before another terminal state wins, that is: here failed has won."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.ambiguity("t1")
    j.response("t1", 250)
    assert j.state() == ("failed", "provider_transmission_ambiguous")
    assert j.evidence() == [("t1", "usage_over_reservation", 250)]
    assert j.tokens() == tokens(reconciled=250)
    assert j.accounting() == "settled"


def test_an_overshoot_after_malformed_usage_ends_a_running_journey(journey: Journeys) -> None:
    """The charge is replaced by the number, and the number exceeds its reservation."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.response("t1", None)
    j.response("t1", 101)
    assert j.state() == ("budget_exceeded", "token_budget_exhausted")
    assert j.tokens() == tokens(reconciled=101)


def test_a_sibling_that_reports_itself_agrees_or_is_evidence(journey: Journeys) -> None:
    """The provider executes once: a second number for the group changes no total (ruling 42)."""
    j = journey.running()
    for transmission in ("t1", "t2", "t3"):
        j.send(transmission, prompt=60, output=40, invocation="call-1", group=True)
    j.response("t1", 70)
    j.response("t2", 70)
    j.response("t3", 80)
    assert j.tokens() == tokens(reconciled=70)
    assert j.evidence() == [("t3", "conflicting_usage", 80)]
    assert [r["actual_tokens"] for r in j.reservations()] == [70, 70, 70]


def test_a_late_response_settles_a_whole_group(journey: Journeys) -> None:
    """Reconciliation before settlement, siblings included (ruling 18)."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, invocation="call-1", group=True, lease=10_000)
    j.send("t2", prompt=60, output=40, invocation="call-1", group=True)
    j.sweep_at(10_000)
    assert j.tokens() == tokens(conservative=100)
    j.fail()
    j.response("t2", 90)
    assert j.reservation_state("t1") == "reconciled"
    assert j.tokens() == tokens(reconciled=90)
    assert j.accounting() == "settled"


def test_a_lease_that_lapses_while_cancelling_ends_nothing(journey: Journeys) -> None:
    """The conservative disposition applies; cancelling owns the stop."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, lease=10_000)
    j.cancel()
    j.sweep_at(10_000)
    assert j.reservation_state("t1") == "expired_conservatively"
    assert j.state() == ("cancelling", None)
    j.sweep_at(30_000)
    assert j.state() == ("cancelled", "caller_requested")


@pytest.mark.parametrize(("transmits", "status"), [(False, "settled"), (True, "pending")])
def test_a_lease_that_lapses_after_the_end_is_accounted(
    journey: Journeys, transmits: bool, status: str
) -> None:
    """Abandoned leases are resolved after the end too, and only accounting moves."""
    j = journey.running()
    j.reserve("t1", prompt=60, output=40, lease=10_000)
    if transmits:
        j.transmit("t1")
    j.finish()
    j.complete()
    outcome = j.outcome()
    j.sweep_at(10_000)
    assert j.accounting() == status
    assert j.tokens() == tokens(conservative=100 if transmits else 0)
    assert j.outcome() == outcome


def test_every_lapsed_lease_is_resolved_by_one_sweep(journey: Journeys) -> None:
    """Recovery from persisted leases leaves none behind, and the first ambiguity ends it."""
    j = journey.running()
    j.reserve("t1", prompt=60, output=40, lease=10_000)
    j.send("t2", prompt=10, output=10, lease=10_000)
    j.send("t3", prompt=20, output=10, lease=10_000)
    j.reserve("t4", prompt=60, output=40, lease=20_000)
    j.sweep_at(10_000)
    assert j.state() == ("failed", "provider_transmission_ambiguous")
    assert [j.reservation_state(t) for t in ("t1", "t2", "t3")] == [
        "released_untransmitted",
        "expired_conservatively",
        "expired_conservatively",
    ]
    assert j.tokens()["conservative"] == 50


def test_no_lease_is_renewed_while_cancelling(journey: Journeys) -> None:
    """A cancelling journey waits no longer for its calls than it already did (ruling 10)."""
    j = journey.running()
    j.send("t1")
    j.cancel()
    with refused("journey_cancelling"):
        j.renew("t1", 7_200_000)
    assert j.reservation("t1")["lease_expires_at"] == "2030-01-01T01:00:00.000Z"
