"""Cooperative cancellation: one commit, a finite grace, and nothing new in between."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.acceptance.driver import Journeys, refused, tokens


def test_one_commit_shows_state_request_time_and_deadline(journey: Journeys) -> None:
    """Cancellation atomically persists cancelling, its request time and its deadline."""
    j = journey.running()
    version = j.version()
    j.tick(10_000)
    snapshot = j.cancel()
    assert snapshot["lifecycle_state"] == "cancelling"
    assert snapshot["cancellation"] == {
        "reason_code": "caller_requested",
        "cancellation_requested_at": "2030-01-01T00:00:10.000Z",
        "cancellation_deadline_utc": "2030-01-01T00:00:40.000Z",
    }
    assert snapshot["record_version"] > version
    assert snapshot["terminal_reason"] is None
    assert j.outcome() is None


def test_a_registered_reason_becomes_the_terminal_reason(journey: Journeys) -> None:
    """Cancellation reason codes are a bounded registry (ruling 8: the code is the reason)."""
    j = journey.running()
    j.finish()
    j.cancel(reason_code="operator_requested")
    j.sweep()
    assert j.state() == ("cancelled", "operator_requested")


@pytest.mark.parametrize("reason", ["bored", "journey_completed", "deadline_expired"])
def test_an_unregistered_reason_is_refused_before_anything_changes(
    journey: Journeys, reason: str
) -> None:
    """Unsupported cancellation reason codes fail validation before lifecycle state changes."""
    j = journey.running()
    before = j.snapshot()
    with refused("unsupported_cancellation_reason"):
        j.cancel(reason_code=reason)
    assert j.snapshot() == before


@pytest.mark.parametrize("reason", [7, None, "two words", "x" * 129])
def test_a_reason_that_is_no_code_is_refused(journey: Journeys, reason: Any) -> None:
    """Arbitrary user text cannot become a lifecycle reason."""
    j = journey.running()
    with refused("invalid_request"):
        j.cancel(reason_code=reason)
    assert j.state() == ("running", None)


def test_the_explanation_is_kept_apart_from_the_reason(journey: Journeys) -> None:
    """A human explanation is separate bounded metadata, never a reason (ruling 46)."""
    j = journey.running()
    j.finish()
    answer = j.cancel(explanation="The customer changed their mind.")
    j.sweep()
    assert j.state() == ("cancelled", "caller_requested")
    assert "changed their mind" not in json.dumps([answer, j.snapshot(), j.outcome()])


def test_an_explanation_is_bounded(journey: Journeys) -> None:
    """A human explanation is bounded: 500 characters here."""
    j = journey.running()
    with refused("invalid_request"):
        j.cancel(explanation="x" * 501)
    assert j.state() == ("running", None)
    assert j.cancel(explanation="x" * 500)["lifecycle_state"] == "cancelling"


def test_repeated_cancellation_is_idempotent(journey: Journeys) -> None:
    """Repeated cancellation is idempotent (ruling 11: another reason changes nothing)."""
    j = journey.running()
    first = j.cancel()
    j.tick(5_000)
    assert j.cancel() == first
    assert j.cancel(reason_code="operator_requested") == first
    j.sweep_at(30_000)
    assert j.state() == ("cancelled", "caller_requested")


def test_cancelled_is_always_a_later_commit(journey: Journeys) -> None:
    """pending and running never become cancelled directly (ruling 9)."""
    j = journey.pending()
    assert j.cancel()["lifecycle_state"] == "cancelling"
    j.sweep()
    snapshot = j.snapshot()
    assert snapshot["lifecycle_state"] == "cancelled"
    assert snapshot["finished_at"] == "2030-01-01T00:00:00.000Z"


def test_a_run_that_still_works_is_waited_for(journey: Journeys) -> None:
    """cancelled when every active attempt has stopped, before the cutoff."""
    j = journey.running()
    j.cancel()
    j.sweep_at(10_000)
    assert j.state() == ("cancelling", None)
    assert j.finish()["state"] == "stopped"
    j.sweep()
    assert j.state() == ("cancelled", "caller_requested")
    assert j.snapshot()["finished_at"] == "2030-01-01T00:00:10.000Z"
    assert j.outcome()["workflow_runs"] == [
        {"workflow_run_id": j.run, "workflow_id": "Builder", "state": "stopped"}
    ]


@pytest.mark.parametrize("outcome", ["completed", "failed"])
def test_what_a_run_yields_while_cancelling_is_quarantined(journey: Journeys, outcome: str) -> None:
    """Outputs of active attempts are quarantined: the run stopped, whatever it reports."""
    j = journey.running()
    j.cancel()
    assert j.finish(outcome)["state"] == "stopped"
    assert j.finish(outcome)["state"] == "stopped"
    assert j.run_states() == ["stopped"]


def test_a_run_that_ended_before_the_cancellation_keeps_its_outcome(journey: Journeys) -> None:
    """Only active attempts are stopped."""
    j = journey.running(workflow_sequence_id="pair")
    j.finish(run=j.runs_begun[0])
    j.cancel()
    j.finish(run=j.runs_begun[1])
    assert j.run_states() == ["completed", "stopped"]


def test_the_cutoff_ends_what_nobody_reports(journey: Journeys) -> None:
    """The effective cutoff keeps no execution nonterminal forever; not a moment earlier."""
    j = journey.running()
    j.cancel()
    j.sweep_at(29_999)
    assert j.state() == ("cancelling", None)
    j.sweep_at(30_000)
    assert j.state() == ("cancelled", "caller_requested")
    assert j.run_states() == ["quarantined"]


def test_the_journey_deadline_shortens_the_grace(journey: Journeys) -> None:
    """The cutoff is the earlier of grace and deadline; the outcome stays cancelled."""
    j = journey.running()
    j.tick(590_000)
    snapshot = j.cancel()
    assert snapshot["cancellation"]["cancellation_deadline_utc"] == "2030-01-01T00:10:20.000Z"
    j.sweep_at(599_999)
    assert j.state() == ("cancelling", None)
    j.sweep_at(600_000)
    assert j.state() == ("cancelled", "caller_requested")


def test_a_call_in_flight_does_not_delay_the_end(journey: Journeys) -> None:
    """A provider that ignores cancellation cannot keep execution nonterminal (ruling 9)."""
    j = journey.running()
    j.send("t1")
    j.cancel()
    j.finish()
    j.sweep()
    assert j.state() == ("cancelled", "caller_requested")
    assert j.accounting() == "pending"
    assert j.reservation_state("t1") == "transmitted"


@pytest.mark.parametrize(
    "command", ["claim_lease", "start_run", "repair", "claim", "reserve", "retry", "transmit"]
)
def test_no_new_work_while_cancelling(journey: Journeys, command: str) -> None:
    """Cancellation immediately prevents new work, retry, repair and side effects."""
    j = journey.running(workflow_sequence_id="pair")
    j.finish("failed", run=j.runs_begun[1])
    j.reserve("t1")
    j.reserve("t2", invocation="call-2")
    j.unsent("t2")
    j.cancel()
    calls: dict[str, Callable[[], Any]] = {
        "claim_lease": lambda: j.claim_lease("lease-2"),
        "start_run": lambda: j.start_run("op-1", "decomposition"),
        "repair": lambda: j.start_run("op-2", "repair", parent=j.runs_begun[1]),
        "claim": lambda: j.claim("op-3", "task_attempt_starts"),
        "reserve": lambda: j.reserve("t3"),
        "retry": lambda: j.reserve("t4", invocation="call-2"),
        "transmit": lambda: j.transmit("t1"),
    }
    with refused("journey_cancelling"):
        calls[command]()
    assert j.state() == ("cancelling", None)
    assert len(j.runs()) == 2
    assert len(j.reservations()) == 2
    assert j.reservation_state("t1") != "transmitted"
    assert j.claimed("task_attempt_starts") == 0
    assert j.claimed("workflow_repair_starts") == 0
    assert j.claimed("provider_retry_attempts") == 0


def test_accounting_goes_on_while_cancelling(journey: Journeys) -> None:
    """In-flight usage is still reconciled (ruling 10: reports and releases are accepted)."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.reserve("t2", prompt=60, output=40)
    j.cancel()
    assert j.response("t1", 70) == {
        "transmission_id": "t1",
        "state": "reconciled",
        "actual_tokens": 70,
    }
    assert j.unsent("t2")["state"] == "released_untransmitted"
    assert j.tokens() == tokens(reconciled=70)
    assert j.state() == ("cancelling", None)


def test_the_owner_stays_alive_to_report_its_stop(journey: Journeys) -> None:
    """Active attempts are signalled and stop; their owner must be able to say so (ruling 44)."""
    j = journey.pending()
    j.claim_lease(lease=20_000)
    j.begin()
    j.cancel()
    j.tick(15_000)
    assert j.heartbeat(20_000) == {"lease_expires_at": "2030-01-01T00:00:35.000Z"}
    j.tick(25_000)
    assert j.finish()["state"] == "stopped"


def test_a_cancellation_survives_a_restart(journey: Journeys) -> None:
    """Restarted workers finish a cancellation idempotently from what was persisted."""
    j = journey.running()
    j.tick(10_000)
    j.cancel()
    j.restart()
    assert j.snapshot()["cancellation"]["cancellation_deadline_utc"] == "2030-01-01T00:00:40.000Z"
    j.sweep_at(39_999)
    assert j.state() == ("cancelling", None)
    j.sweep_at(40_000)
    j.restart()
    j.sweep()
    assert j.state() == ("cancelled", "caller_requested")
    assert j.snapshot()["finished_at"] == "2030-01-01T00:00:40.000Z"


def test_a_cancelled_journey_settles_later(journey: Journeys) -> None:
    """Accounting may remain pending after cancelled, and settles under its own deadline."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.cancel()
    j.sweep_at(30_000)
    assert j.accounting() == "pending"
    assert j.snapshot()["accounting_deadline_utc"] == "2030-01-01T00:01:30.000Z"
    j.response("t1", 55)
    assert j.accounting() == "settled"
    assert j.state() == ("cancelled", "caller_requested")


def test_a_cancelled_journey_without_usage_fails_to_settle(journey: Journeys) -> None:
    """Missing usage cannot keep accounting pending forever, nor count as zero."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.cancel()
    j.sweep_at(30_000)
    j.sweep_at(90_000)
    assert j.accounting() == "settlement_failed"
    assert j.tokens() == tokens(conservative=100)
    assert j.state() == ("cancelled", "caller_requested")


def test_the_cutoff_takes_effect_in_a_checkpoint_too(journey: Journeys) -> None:
    """The deadline of a cancellation terminates execution whoever asks next."""
    j = journey.running()
    j.cancel()
    j.tick(30_000)
    with refused("journey_terminal") as caught:
        j.reserve("t1")
    assert caught.detail["outcome"]["execution_state"] == "cancelled"
    assert j.cancel()["lifecycle_state"] == "cancelled"
