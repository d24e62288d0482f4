"""What a retry needs to know of its predecessor, and what happens when nobody can know it."""

from collections.abc import Callable

import pytest
from tests.acceptance.driver import Journey, Journeys, refused, tokens

CAUSES = ["client_timeout", "connection_reset", "truncated_response", "uncorrelated_response"]


@pytest.mark.parametrize("cause", CAUSES)
def test_an_ambiguous_transmission_fails_the_journey(journey: Journeys, cause: str) -> None:
    """A client-side timeout, reset, truncated or uncorrelated response remains ambiguous."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    assert j.ambiguity("t1", cause) == {
        "transmission_id": "t1",
        "state": "expired_conservatively",
        "actual_tokens": None,
    }
    assert j.state() == ("failed", "provider_transmission_ambiguous")
    assert j.tokens() == tokens(conservative=100)
    assert j.run_states() == ["quarantined"]
    assert j.accounting() == "pending"


def test_a_provider_timeout_response_is_no_ambiguity_cause(journey: Journeys) -> None:
    """Only a missing, broken or uncorrelated response is ambiguous; others are responses."""
    j = journey.running()
    j.send("t1")
    with refused("invalid_request"):
        j.ambiguity("t1", "provider_timeout")
    assert j.state() == ("running", None)


def test_a_worker_that_dies_in_flight_makes_it_ambiguous(journey: Journeys) -> None:
    """Lease expiry after transmitted: charged in full (ruling 16: and ambiguous)."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, lease=10_000)
    j.restart()
    j.sweep_at(10_000)
    assert j.state() == ("failed", "provider_transmission_ambiguous")
    assert j.tokens() == tokens(conservative=100)


def test_an_ambiguity_fails_to_settle(journey: Journeys) -> None:
    """Accounting becomes settlement_failed unless usage reconciles it before it is final."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.ambiguity("t1")
    j.sweep_at(59_999)
    assert j.accounting() == "pending"
    j.sweep_at(60_000)
    assert j.accounting() == "settlement_failed"
    assert j.state() == ("failed", "provider_transmission_ambiguous")


def test_usage_that_arrives_in_time_settles_an_ambiguity(journey: Journeys) -> None:
    """Authoritative usage reconciles before settlement; the outcome stays failed."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.ambiguity("t1")
    outcome = j.outcome()
    j.tick(59_999)
    j.response("t1", 33)
    assert j.accounting() == "settled"
    assert j.tokens() == tokens(reconciled=33)
    assert j.outcome() == outcome
    assert j.state() == ("failed", "provider_transmission_ambiguous")


def test_reporting_an_ambiguity_twice_charges_once(journey: Journeys) -> None:
    """Duplicate events cannot double-count."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.ambiguity("t1", "connection_reset")
    before = j.snapshot()
    assert j.ambiguity("t1", "client_timeout")["state"] == "expired_conservatively"
    assert j.snapshot() == before


def test_an_ambiguity_in_a_group_goes_on(journey: Journeys) -> None:
    """An authoritative idempotency contract is a known disposition: the journey goes on."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, invocation="call-1", group=True)
    j.ambiguity("t1")
    assert j.reservation_state("t1") == "expired_conservatively"
    assert j.state() == ("running", None)
    j.send("t2", prompt=60, output=40, invocation="call-1", group=True)
    assert j.tokens() == tokens(conservative=100)
    j.response("t2", 80)
    assert j.tokens() == tokens(reconciled=80)


def test_a_call_in_flight_is_never_retried(journey: Journeys) -> None:
    """No successor without a disposition; retries that are left are no permission."""
    j = journey.running(max_provider_retry_attempts=5)
    j.send("t1", prompt=60, output=40, invocation="call-1")
    before = j.snapshot()
    with refused("predecessor_unresolved"):
        j.reserve("t2", prompt=60, output=40, invocation="call-1")
    assert j.snapshot() == before
    assert j.state() == ("running", None)  # ruling 16
    assert j.claimed("provider_retry_attempts") == 0


def test_a_reservation_not_yet_sent_is_never_doubled(journey: Journeys) -> None:
    """A successor needs its predecessor proven untransmitted first (ruling 16)."""
    j = journey.running()
    j.reserve("t1", invocation="call-1")
    with refused("predecessor_unresolved"):
        j.reserve("t2", invocation="call-1")
    assert j.state() == ("running", None)


def test_a_restart_retransmits_nothing(journey: Journeys) -> None:
    """Recovery must not retransmit an invocation merely because no response was recorded."""
    j = journey.running()
    j.send("t1", invocation="call-1")
    j.restart()
    j.sweep()
    assert [r["transmission_id"] for r in j.reservations()] == ["t1"]
    with refused("predecessor_unresolved"):
        j.reserve("t2", invocation="call-1")


def released(j: Journey) -> None:
    j.reserve("t1", prompt=60, output=40, invocation="call-1")
    j.unsent("t1")


def released_at_lease_expiry(j: Journey) -> None:
    j.reserve("t1", prompt=60, output=40, invocation="call-1", lease=1_000)
    j.sweep_at(1_000)


def proven_unsent(j: Journey) -> None:
    j.send("t1", prompt=60, output=40, invocation="call-1")
    j.unsent("t1")


def answered_with_usage(j: Journey) -> None:
    j.send("t1", prompt=60, output=40, invocation="call-1")
    j.response("t1", 70)


def answered_with_explicit_zero(j: Journey) -> None:
    j.send("t1", prompt=60, output=40, invocation="call-1")
    j.response("t1", 0)


def answered_without_usage(j: Journey) -> None:
    j.send("t1", prompt=60, output=40, invocation="call-1")
    j.response("t1", None)


@pytest.mark.parametrize(
    ("disposition", "charged"),
    [
        (released, tokens(reserved=100)),
        (released_at_lease_expiry, tokens(reserved=100)),
        (proven_unsent, tokens(reserved=100)),
        (answered_with_usage, tokens(reserved=100, reconciled=70)),
        (answered_with_explicit_zero, tokens(reserved=100)),
        (answered_without_usage, tokens(reserved=100, conservative=100)),
    ],
)
def test_a_known_disposition_permits_one_counted_successor(
    journey: Journeys, disposition: Callable[[Journey], None], charged: dict[str, int]
) -> None:
    """Proven untransmitted, or a terminal response: a successor may be claimed and is counted.

    Also that of a transmission that never left (ruling 16).
    """
    j = journey.running()
    disposition(j)
    assert j.claimed("provider_retry_attempts") == 0
    j.send("t2", prompt=60, output=40, invocation="call-1")
    assert j.tokens() == charged
    assert j.claimed("provider_retry_attempts") == 1
    assert j.state() == ("running", None)


def test_a_sibling_may_follow_a_call_in_flight(journey: Journeys) -> None:
    """An idempotency contract keyed by the invocation permits a sibling, which is a retry."""
    j = journey.running(max_provider_retry_attempts=1)
    j.send("t1", invocation="call-1", group=True)
    j.send("t2", invocation="call-1", group=True)
    assert j.claimed("provider_retry_attempts") == 1
    with refused("provider_retry_limit_exhausted"):
        j.reserve("t3", invocation="call-1", group=True)


def test_a_429_without_explicit_zero_stays_charged(journey: Journeys) -> None:
    """An error response permits a successor, but proves no zero execution (ruling 19).

    The retry succeeds, the journey completes, and settlement fails all the same.
    """
    j = journey.running()
    j.send("t1", prompt=60, output=40, invocation="call-1")
    j.response("t1", None)
    j.send("t2", prompt=60, output=40, invocation="call-1")
    j.response("t2", 90)
    j.finish()
    j.complete()
    assert j.tokens() == tokens(conservative=100, reconciled=90)
    assert j.accounting() == "pending"
    j.sweep_at(60_000)
    assert j.accounting() == "settlement_failed"
    assert j.state() == ("completed", "journey_completed")


def test_a_429_with_an_explicit_zero_is_free(journey: Journeys) -> None:
    """Known zero usage is represented explicitly, and only then is it zero."""
    j = journey.running(max_total_tokens=100)
    j.send("t1", prompt=60, output=40, invocation="call-1")
    assert j.response("t1", 0)["actual_tokens"] == 0
    j.send("t2", prompt=60, output=40, invocation="call-1")
    j.response("t2", 90)
    j.finish()
    j.complete()
    assert j.tokens() == tokens(reconciled=90)
    assert j.accounting() == "settled"
