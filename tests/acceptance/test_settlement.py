"""Usage reports and the finite settlement of accounting, apart from the execution outcome."""

from typing import Any

import pytest
from tests.acceptance.driver import Journeys, tokens


def test_accounting_is_pending_while_the_journey_runs(journey: Journeys) -> None:
    """Accounting is decided at settlement, never before termination (ruling 23)."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.response("t1", 70)
    j.sweep_at(500_000)
    assert j.accounting() == "pending"
    assert j.settled() is None
    assert j.snapshot()["settled_at"] is None


def test_a_journey_without_calls_settles_with_its_end(journey: Journeys) -> None:
    """Settled when every transmission's final state is known: here there is none."""
    j = journey.running()
    j.finish()
    j.tick(3_000)
    j.complete()
    snapshot = j.snapshot()
    assert snapshot["accounting_status"] == "settled"
    assert snapshot["settled_at"] == "2030-01-01T00:00:03.000Z"
    assert snapshot["accounting_deadline_utc"] == "2030-01-01T00:01:03.000Z"


def test_a_journey_with_all_usage_settles_with_its_end(journey: Journeys) -> None:
    """Settled early: every reservation is reconciled or released_untransmitted."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.response("t1", 70)
    j.reserve("t2")
    j.unsent("t2")
    j.finish()
    j.complete()
    assert j.accounting() == "settled"


def test_a_settled_result_is_literal(journey: Journeys) -> None:
    """JourneySettledResult combines the immutable outcome with final accounting."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.send("t2", prompt=20, output=30)
    j.response("t1", 70)
    j.finish()
    j.tick(10_000)
    j.complete()
    assert j.settled() is None
    j.tick(12_000)
    j.response("t2", 25)
    assert j.settled() == {
        "schema_version": "wayproof.journey.settled_result.v1",
        "outcome": j.outcome(),
        "accounting_status": "settled",
        "tokens": {
            "estimated_prompt_tokens": 80,
            "reserved_tokens": 0,
            "conservatively_committed_tokens": 0,
            "observed_actual_tokens": 95,
            "reconciled_tokens": 95,
            "committed_token_exposure": 95,
        },
        "discrepancy_count": 0,
        "settled_at": "2030-01-01T00:00:12.000Z",
    }


def test_late_usage_updates_accounting_and_nothing_else(journey: Journeys) -> None:
    """Late usage updates accounting only while pending, never state, reason or work."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.fail()
    before, outcome, runs = j.snapshot(), j.outcome(), j.runs()
    assert before["accounting_status"] == "pending"
    j.response("t1", 70)
    after = j.snapshot()
    assert after["record_version"] > before["record_version"]
    assert after["accounting_status"] == "settled"
    assert after["lifecycle_state"] == "failed"
    assert after["terminal_reason"] == "workflow_failed"
    assert j.outcome() == outcome
    assert j.runs() == runs


def test_the_accounting_deadline_charges_what_is_open(journey: Journeys) -> None:
    """At that deadline every transmitted reservation is charged fully; not a moment earlier."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.finish()
    j.complete()
    j.sweep_at(59_999)
    assert j.accounting() == "pending"
    assert j.tokens() == tokens(reserved=100)
    j.sweep_at(60_000)
    assert j.reservation_state("t1") == "expired_conservatively"
    assert j.accounting() == "settlement_failed"
    assert j.tokens() == tokens(conservative=100)
    assert j.state() == ("completed", "journey_completed")


def test_a_failed_settlement_shows_the_charge(journey: Journeys) -> None:
    """A settlement failure is explicit evidence, never zero usage."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.finish()
    j.complete()
    j.sweep_at(60_000)
    result = j.settled()
    assert result["accounting_status"] == "settlement_failed"
    assert result["tokens"]["conservatively_committed_tokens"] == 100
    assert result["tokens"]["observed_actual_tokens"] == 0
    assert result["tokens"]["committed_token_exposure"] == 100
    assert result["settled_at"] == "2030-01-01T00:01:00.000Z"
    assert result["outcome"]["execution_state"] == "completed"


def test_the_accounting_deadline_releases_what_never_left(journey: Journeys) -> None:
    """Reserved proves that nothing was sent: released, and the journey is settled (ruling 14)."""
    j = journey.running()
    j.reserve("t1")
    j.finish()
    j.complete()
    j.sweep_at(60_000)
    assert j.reservation_state("t1") == "released_untransmitted"
    assert j.accounting() == "settled"
    assert j.tokens() == tokens()


def test_a_reservation_released_after_the_end_settles_early(journey: Journeys) -> None:
    """Either final status may be reached early when all reservations are resolved."""
    j = journey.running()
    j.reserve("t1")
    j.finish()
    j.complete()
    j.tick(20_000)
    j.unsent("t1")
    assert j.accounting() == "settled"


def test_a_failed_settlement_waits_for_its_deadline(journey: Journeys) -> None:
    """Expired conservatively is provisional until accounting is final (ruling 23)."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.response("t1", None)
    j.finish()
    j.complete()
    j.sweep_at(59_999)
    assert j.accounting() == "pending"
    j.response("t1", 44)
    assert j.accounting() == "settled"
    assert j.tokens() == tokens(reconciled=44)


def test_a_proof_of_non_transmission_settles_a_charge(journey: Journeys) -> None:
    """expired_conservatively to reconciled while accounting is pending, with an explicit zero."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.ambiguity("t1")
    assert j.unsent("t1")["actual_tokens"] == 0
    assert j.tokens() == tokens()
    assert j.accounting() == "settled"


def test_usage_after_a_failed_settlement_is_evidence_only(journey: Journeys) -> None:
    """Later signals are retained as discrepancy evidence and mutate no settled result."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.finish()
    j.complete()
    j.sweep_at(60_000)
    result = j.settled()
    assert j.response("t1", 70)["state"] == "expired_conservatively"
    assert j.evidence() == [("t1", "late_usage", 70)]
    assert j.tokens() == tokens(conservative=100)
    assert j.accounting() == "settlement_failed"
    assert j.settled() == result


def test_usage_exactly_at_the_accounting_deadline_is_too_late(journey: Journeys) -> None:
    """Accounting becomes final at its deadline, whether a sweep or a report comes first."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.finish()
    j.complete()
    j.tick(60_000)
    j.response("t1", 70)
    assert j.accounting() == "settlement_failed"
    assert j.evidence() == [("t1", "late_usage", 70)]
    assert j.tokens() == tokens(conservative=100)


def test_a_settled_result_ignores_later_evidence(journey: Journeys) -> None:
    """A settled result is immutable: its count of discrepancies too."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.response("t1", 70)
    j.finish()
    j.complete()
    result = j.settled()
    assert result["discrepancy_count"] == 0
    j.response("t1", 71)
    assert j.evidence() == [("t1", "conflicting_usage", 71)]
    assert j.snapshot()["discrepancy_count"] == 1
    assert j.settled() == result
    assert j.tokens() == tokens(reconciled=70)


MALFORMED: list[Any] = [None, -1, 70.5, "70", True, 9_007_199_254_740_992, [70], {"total": 70}]


@pytest.mark.parametrize("usage", MALFORMED, ids=str)
def test_malformed_usage_is_charged_in_full(journey: Journeys, usage: Any) -> None:
    """Missing or malformed usage commits the full amount; it is never taken for zero."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    assert j.response("t1", usage) == {
        "transmission_id": "t1",
        "state": "expired_conservatively",
        "actual_tokens": None,
    }
    assert j.tokens() == tokens(conservative=100)
    assert j.evidence() == [("t1", "malformed_usage", None)]
    assert j.state() == ("running", None)


@pytest.mark.parametrize("usage", [0, 1, 100])
def test_well_formed_usage_is_reconciled(journey: Journeys, usage: int) -> None:
    """Reported actual usage is committed, an explicit zero included."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    assert j.response("t1", usage)["state"] == "reconciled"
    assert j.tokens() == tokens(reconciled=usage)
    assert j.evidence() == []


def test_the_largest_number_is_usage_too(journey: Journeys) -> None:
    """2**53-1 is well formed (ruling 21): an overshoot, recorded as reported."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.response("t1", 9_007_199_254_740_991)
    assert j.state() == ("budget_exceeded", "token_budget_exhausted")
    assert j.tokens() == tokens(reconciled=9_007_199_254_740_991)
    assert j.evidence() == [("t1", "usage_over_reservation", 9_007_199_254_740_991)]


def test_usage_that_no_total_can_hold_is_malformed(journey: Journeys) -> None:
    """Malformed usage is charged in full (ruling 48: also what overflows a total)."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.send("t2", prompt=60, output=40)
    j.response("t1", 1)
    assert j.response("t2", 9_007_199_254_740_991)["state"] == "expired_conservatively"
    assert j.tokens() == tokens(conservative=100, reconciled=1)
    assert j.evidence() == [("t2", "malformed_usage", None)]
    assert j.state() == ("running", None)


def test_a_settlement_beyond_the_calendar_is_clamped(journey: Journeys) -> None:
    """Accounting has a finite deadline (ruling 50: within the year 9999)."""
    j = journey.running(
        deadline_utc="9999-12-31T23:59:59.000Z", accounting_settlement_grace_seconds=3600
    )
    j.sweep_at(251_508_844_799_000)
    assert j.state() == ("timed_out", "deadline_expired")
    assert j.snapshot()["finished_at"] == "9999-12-31T23:59:59.000Z"
    assert j.snapshot()["accounting_deadline_utc"] == "9999-12-31T23:59:59.999Z"


def test_charged_malformed_usage_may_still_be_reconciled(journey: Journeys) -> None:
    """Authoritative usage that arrives later replaces the charge (ruling 22)."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.response("t1", "seventy")
    j.response("t1", 70)
    assert j.tokens() == tokens(reconciled=70)
    j.finish()
    j.complete()
    assert j.accounting() == "settled"


def test_a_duplicate_usage_event_counts_once(journey: Journeys) -> None:
    """Duplicate events cannot double-count."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.response("t1", 70)
    before = j.snapshot()
    j.response("t1", 70)
    assert j.snapshot() == before
    assert j.evidence() == []


def test_a_contradicting_usage_event_is_evidence(journey: Journeys) -> None:
    """The first report stands (ruling 22), and one discrepancy is kept of each kind."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.response("t1", 70)
    j.response("t1", 90)
    j.response("t1", 95)
    assert j.tokens() == tokens(reconciled=70)
    assert j.evidence() == [("t1", "conflicting_usage", 90)]


def test_a_malformed_event_after_the_usage_changes_nothing(journey: Journeys) -> None:
    """A reconciled reservation is final; what comes later is evidence."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.response("t1", 70)
    j.response("t1", None)
    assert j.reservation_state("t1") == "reconciled"
    assert j.tokens() == tokens(reconciled=70)
    assert j.evidence() == [("t1", "malformed_usage", None)]


def test_every_transmission_is_counted_by_itself(journey: Journeys) -> None:
    """Journey totals count every reconciled or conservatively expired transmission."""
    j = journey.running()
    for transmission, usage in (("t1", 30), ("t2", None), ("t3", 50)):
        j.send(transmission, prompt=60, output=40, invocation="call-1")
        j.response(transmission, usage)
    j.reserve("t4", prompt=5, output=5)
    assert j.tokens() == tokens(reserved=10, conservative=100, reconciled=80)
    assert j.snapshot()["tokens"]["estimated_prompt_tokens"] == 185


def test_an_equal_usage_of_two_transmissions_counts_twice(journey: Journeys) -> None:
    """Deduplication keys on the transmission, never on what the provider's answers share."""
    j = journey.running()
    for transmission in ("t1", "t2"):
        j.send(transmission, prompt=60, output=40)
        j.response(transmission, 70)
    assert j.tokens() == tokens(reconciled=140)


def test_an_overshoot_after_the_end_settles_with_its_discrepancy(journey: Journeys) -> None:
    """If execution is terminal, the discrepancy is recorded without changing the outcome."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.finish()
    j.complete()
    j.response("t1", 140)
    result = j.settled()
    assert result["accounting_status"] == "settled"
    assert result["tokens"]["reconciled_tokens"] == 140
    assert result["discrepancy_count"] == 1
    assert result["outcome"]["execution_state"] == "completed"


def test_settlement_goes_on_after_a_restart(journey: Journeys) -> None:
    """Restarted workers settle idempotently from persisted reservations and deadlines."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.finish()
    j.complete()
    j.restart()
    j.sweep_at(60_000)
    result = j.settled()
    assert result["accounting_status"] == "settlement_failed"
    j.restart()
    j.sweep_at(120_000)
    assert j.settled() == result
    assert j.discrepancies() == []
