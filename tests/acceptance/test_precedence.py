"""The five precedence rules, and the order of checks inside one checkpoint."""

from collections.abc import Callable

import pytest
from tests.acceptance.driver import Journey, Journeys, refused, refused_late, tokens

# Rule 1: an existing terminal state is immutable.


def test_cancelling_a_completed_journey_returns_it_unchanged(journey: Journeys) -> None:
    """Rule 1: an existing terminal state is immutable; cancellation is idempotent."""
    j = journey.running()
    j.finish()
    j.complete()
    before = j.snapshot()
    assert j.cancel() == before
    assert j.snapshot() == before


def test_a_deadline_after_completion_changes_nothing(journey: Journeys) -> None:
    """Rule 1: completion stands when the deadline passes later."""
    j = journey.running()
    j.finish()
    j.complete()
    before = j.snapshot()
    j.sweep_at(600_000)
    assert j.snapshot() == before


def test_an_overshoot_after_the_end_changes_no_outcome(journey: Journeys) -> None:
    """Token Budget: if execution is already terminal only the discrepancy is recorded."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.finish()
    j.complete()
    j.response("t1", 101)
    assert j.state() == ("completed", "journey_completed")
    assert j.evidence() == [("t1", "usage_over_reservation", 101)]
    assert j.tokens() == tokens(reconciled=101)


def test_an_ambiguity_after_the_end_changes_no_outcome(journey: Journeys) -> None:
    """Ambiguity: another terminal state has won, the conservative charge still applies."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.finish()
    j.complete()
    j.ambiguity("t1")
    assert j.state() == ("completed", "journey_completed")
    assert j.tokens() == tokens(conservative=100)


# Rule 2: cancelling owns the stop.


def test_the_deadline_does_not_replace_a_cancellation(journey: Journeys) -> None:
    """Rule 2: a later timeout cannot replace cancelling."""
    j = journey.running(cancellation_grace_seconds=3600)
    j.cancel()
    j.sweep_at(600_000)
    assert j.state() == ("cancelled", "caller_requested")


def test_a_failure_does_not_replace_a_cancellation(journey: Journeys) -> None:
    """Rule 2: a later failure cannot replace cancelling."""
    j = journey.running()
    j.cancel()
    with refused("journey_cancelling"):
        j.fail()
    j.finish("failed")
    j.sweep()
    assert j.state() == ("cancelled", "caller_requested")


def test_a_completion_does_not_replace_a_cancellation(journey: Journeys) -> None:
    """Rule 2: a later completion cannot replace cancelling."""
    j = journey.running()
    j.finish()
    j.cancel()
    with refused("journey_cancelling", "journey_terminal"):  # an eager backend has ended it
        j.complete()
    j.sweep()
    assert j.state() == ("cancelled", "caller_requested")


def test_the_ceiling_does_not_replace_a_cancellation(journey: Journeys) -> None:
    """Rule 2: a later budget stop cannot replace cancelling."""
    j = journey.running(max_total_tokens=99)
    j.cancel()
    with refused("journey_cancelling"):
        j.reserve("t1", prompt=60, output=40)
    j.sweep_at(30_000)
    assert j.state() == ("cancelled", "caller_requested")


def test_an_exhausted_counter_does_not_replace_a_cancellation(journey: Journeys) -> None:
    """Rule 2: a later budget stop cannot replace cancelling, by a counter neither."""
    j = journey.running(max_structured_output_correction_attempts=0)
    j.cancel()
    with refused("journey_cancelling"):
        j.claim("op-1", "structured_output_correction_attempts")
    j.sweep_at(30_000)
    assert j.state() == ("cancelled", "caller_requested")


def test_an_overshoot_does_not_replace_a_cancellation(journey: Journeys) -> None:
    """Rule 2 over the overshoot rule: usage is recorded, the journey stays cancelling."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.cancel()
    j.response("t1", 140)
    assert j.state() == ("cancelling", None)
    assert j.evidence() == [("t1", "usage_over_reservation", 140)]
    assert j.tokens() == tokens(reconciled=140)
    j.sweep_at(30_000)
    assert j.state() == ("cancelled", "caller_requested")


def test_an_ambiguity_does_not_replace_a_cancellation(journey: Journeys) -> None:
    """Rule 2 over the ambiguity rule: charged conservatively, the journey stays cancelling."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.cancel()
    j.ambiguity("t1", "connection_reset")
    assert j.state() == ("cancelling", None)
    assert j.tokens() == tokens(conservative=100)
    j.sweep_at(30_000)
    assert j.state() == ("cancelled", "caller_requested")


# Rule 3: an expired deadline is evaluated before token availability.


def test_expiry_beats_the_ceiling(journey: Journeys) -> None:
    """Rule 3: simultaneous expiry and exhaustion becomes timed_out."""
    j = journey.running(max_total_tokens=99)
    j.tick(600_000)
    with refused_late():
        j.reserve("t1", prompt=60, output=40)
    assert j.state() == ("timed_out", "deadline_expired")
    assert j.reservations() == []


def test_one_millisecond_before_expiry_the_ceiling_decides(journey: Journeys) -> None:
    """Rules 3 and 4 on either side of the deadline."""
    j = journey.running(max_total_tokens=99)
    j.tick(599_999)
    with refused("token_budget_exhausted"):
        j.reserve("t1", prompt=60, output=40)
    assert j.state() == ("budget_exceeded", "token_budget_exhausted")


def test_expiry_beats_an_exhausted_counter(journey: Journeys) -> None:
    """Rule 3: an expired deadline is evaluated before the budgets."""
    j = journey.running(max_structured_output_correction_attempts=0)
    j.tick(600_000)
    with refused_late():
        j.claim("op-1", "structured_output_correction_attempts")
    assert j.state() == ("timed_out", "deadline_expired")


def test_expiry_beats_an_estimate_that_cannot_be_formed(journey: Journeys) -> None:
    """Rule 3 before the second half of rule 4."""
    j = journey.running()
    j.tick(600_000)
    with refused_late():
        j.reserve("t1", prompt=None)
    assert j.state() == ("timed_out", "deadline_expired")


def test_expiry_beats_a_cancellation(journey: Journeys) -> None:
    """Rule 3 (ruling 3): a cancellation after expiry answers the timed-out snapshot."""
    j = journey.running()
    j.tick(600_000)
    snapshot = j.cancel()
    assert snapshot["lifecycle_state"] == "timed_out"
    assert snapshot["terminal_reason"] == "deadline_expired"
    assert snapshot["cancellation"] is None


def test_expiry_beats_a_failure(journey: Journeys) -> None:
    """Rule 3 (ruling 3): the first compare-and-set decides only before the deadline."""
    j = journey.running()
    j.tick(600_000)
    with refused_late():
        j.fail()
    assert j.state() == ("timed_out", "deadline_expired")


def test_expiry_beats_a_completion(journey: Journeys) -> None:
    """Rule 5: completion rechecks every stop condition atomically."""
    j = journey.running()
    j.finish()
    j.tick(600_000)
    with refused_late():
        j.complete()
    assert j.state() == ("timed_out", "deadline_expired")


def test_expiry_beats_an_ambiguity_which_is_charged_all_the_same(journey: Journeys) -> None:
    """Rule 3 (ruling 3), and an in-flight call's charge is still accounted after expiry."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.tick(600_000)
    j.ambiguity("t1")
    assert j.state() == ("timed_out", "deadline_expired")
    assert j.tokens() == tokens(conservative=100)


def test_expiry_beats_an_overshoot_which_is_recorded_all_the_same(journey: Journeys) -> None:
    """Rule 3 (ruling 3), and the discrepancy is recorded without changing the outcome."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.tick(600_000)
    j.response("t1", 101)
    assert j.state() == ("timed_out", "deadline_expired")
    assert j.tokens() == tokens(reconciled=101)
    assert j.evidence() == [("t1", "usage_over_reservation", 101)]


# Rule 4: the ceiling, and a reservation that cannot be formed.


def test_a_reservation_beyond_the_ceiling_ends_the_journey(journey: Journeys) -> None:
    """Rule 4: budget_exceeded before provider work starts, and nothing is reserved."""
    j = journey.running(max_total_tokens=99)
    with refused("token_budget_exhausted") as caught:
        j.reserve("t1", prompt=60, output=40)
    assert caught.detail["outcome"]["execution_state"] == "budget_exceeded"
    assert caught.detail["outcome"]["terminal_reason"] == "token_budget_exhausted"
    assert j.reservations() == []
    assert j.tokens() == tokens()
    assert j.run_states() == ["quarantined"]


@pytest.mark.parametrize(("prompt", "output"), [(None, 40), (60, None), (None, None)])
def test_a_reservation_that_cannot_be_formed_fails_the_journey(
    journey: Journeys, prompt: int | None, output: int | None
) -> None:
    """Rule 4: without an estimate or a maximum output, token_reservation_unavailable."""
    j = journey.running()
    with refused("token_reservation_unavailable") as caught:
        j.reserve("t1", prompt=prompt, output=output)
    assert caught.detail["outcome"]["execution_state"] == "failed"
    assert j.state() == ("failed", "token_reservation_unavailable")
    assert j.reservations() == []


def test_the_ceiling_is_checked_before_the_retry_counter(journey: Journeys) -> None:
    """Rule 4 (ruling 2): tokens, then counters in policy order."""
    j = journey.running(max_total_tokens=150, max_provider_retry_attempts=0)
    j.send("t1", prompt=60, output=40, invocation="call-1")
    j.response("t1", 100)
    with refused("token_budget_exhausted"):
        j.reserve("t2", prompt=60, output=40, invocation="call-1")
    assert j.state() == ("budget_exceeded", "token_budget_exhausted")


def test_an_unformed_reservation_is_found_before_the_retry_counter(journey: Journeys) -> None:
    """Rule 4 (ruling 2): a reservation that cannot be formed never reaches the counters."""
    j = journey.running(max_provider_retry_attempts=0)
    j.reserve("t1", invocation="call-1")
    j.unsent("t1")
    with refused("token_reservation_unavailable"):
        j.reserve("t2", prompt=None, invocation="call-1")
    assert j.state() == ("failed", "token_reservation_unavailable")


# Rule 5: otherwise the first compare-and-set wins.


def cancel(j: Journey) -> None:
    j.cancel()


def complete(j: Journey) -> None:
    j.complete()


def fail(j: Journey) -> None:
    j.fail()


Command = Callable[[Journey], None]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (complete, fail, ("completed", "journey_completed")),
        (complete, complete, ("completed", "journey_completed")),
        (fail, complete, ("failed", "workflow_failed")),
        (fail, fail, ("failed", "workflow_failed")),
        (cancel, fail, ("cancelled", "caller_requested")),
        (cancel, complete, ("cancelled", "caller_requested")),
    ],
)
def test_the_first_of_two_racing_ends_wins(
    journey: Journeys, first: Command, second: Command, expected: tuple[str, str]
) -> None:
    """Rule 5: the first successful cancellation, failure or completion wins."""
    j = journey.running()
    j.finish()
    first(j)
    with refused("journey_terminal", "journey_cancelling"):
        second(j)
    j.sweep()
    assert j.state() == expected


@pytest.mark.parametrize("first", [complete, fail])
def test_a_cancellation_that_comes_second_changes_nothing(
    journey: Journeys, first: Command
) -> None:
    """Rule 5 with rule 1: the cancellation lost."""
    j = journey.running()
    j.finish()
    first(j)
    state, version = j.state(), j.version()
    assert j.cancel()["cancellation"] is None
    j.sweep_at(30_000)
    assert j.state() == state
    assert j.version() == version


# The order of checks inside one checkpoint (ruling 2).


def test_a_known_claim_is_answered_after_the_end(journey: Journeys) -> None:
    """Duplicate delivery returns the existing claim (ruling 2: before the state is looked at)."""
    j = journey.running()
    claim = j.claim("op-1", "task_attempt_starts")
    j.fail()
    version = j.version()
    assert j.claim("op-1", "task_attempt_starts") == claim
    assert j.version() == version


def test_a_known_claim_is_answered_to_a_stale_owner(journey: Journeys) -> None:
    """A replay precedes the fencing token: nothing can happen by it (ruling 2)."""
    j = journey.running()
    claim = j.claim("op-1", "task_attempt_starts")
    assert j.claim("op-1", "task_attempt_starts", token=9_999) == claim
    assert j.claimed("task_attempt_starts") == 1


def test_a_stale_token_is_refused_before_the_state(journey: Journeys) -> None:
    """Known identities come before terminal (rulings 2 and 34)."""
    j = journey.running()
    j.fail()
    with refused("fenced"):
        j.complete(token=9_999)


def test_an_unknown_transmission_is_refused_before_the_state(journey: Journeys) -> None:
    """Known identities come before terminal (rulings 2 and 34)."""
    j = journey.running()
    j.fail()
    with refused("unknown_transmission"):
        j.transmit("nobody")


def test_an_invalid_request_ends_nothing(journey: Journeys) -> None:
    """Unsupported requests fail validation before lifecycle state changes."""
    j = journey.running(max_total_tokens=10)
    before = j.snapshot()
    for estimate in (-1, 1.5, "60", True, 9_007_199_254_740_992):
        with refused("invalid_request"):
            j.owned(
                "reserve",
                None,
                workflow_run_id=j.run,
                invocation_id="call-1",
                transmission_id="t1",
                idempotency="none",
                estimated_prompt_tokens=estimate,
                max_output_tokens=40,
                lease_milliseconds=1_000,
            )
    assert j.snapshot() == before


def test_a_refused_command_claims_no_counter(journey: Journeys) -> None:
    """All or nothing (ruling 2): the repair limit refuses, the run start is not consumed."""
    j = journey.running(max_workflow_repair_starts=0)
    j.finish("failed")
    with refused("workflow_repair_limit_exhausted"):
        j.start_run("op-1", "repair")
    assert j.claimed("workflow_run_starts") == 1
    assert j.claimed("workflow_repair_starts") == 0
    assert len(j.runs()) == 1
