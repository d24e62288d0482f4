"""The durable owner lease, its fencing token, and what a restarted worker may take over."""

from typing import Any

import pytest
from tests.acceptance.driver import Journey, Journeys, refused, refused_late, tokens


def short_lived(journey: Journeys, **changes: Any) -> Journey:
    """A running journey whose owner lease ends after ten seconds."""
    j = journey.pending(**changes)
    j.claim_lease(lease=10_000)
    j.begin()
    return j


def take_over(j: Journey) -> None:
    j.claim_lease("lease-2", worker="worker-2")


def test_a_lease_is_granted_for_its_length(journey: Journeys) -> None:
    """Journey records use a durable owner lease; claiming it starts nothing (ruling 6)."""
    j = journey.pending()
    j.tick(1_000)
    grant = j.claim_lease(lease=10_000)
    assert grant["lease_expires_at"] == "2030-01-01T00:00:11.000Z"
    assert j.state() == ("pending", None)


def test_a_held_lease_is_not_granted_again(journey: Journeys) -> None:
    """A restarted worker may claim an expired lease only, its own held one neither."""
    j = short_lived(journey)
    j.tick(9_999)
    with refused("lease_held"):
        take_over(j)
    with refused("lease_held"):
        j.claim_lease("lease-3", worker="worker-1")
    assert j.state() == ("running", None)


def test_a_repeated_claim_returns_its_grant(journey: Journeys) -> None:
    """Duplicate delivery returns the recorded answer; other inputs conflict."""
    j = journey.pending()
    grant = j.claim_lease("lease-1", lease=10_000)
    j.tick(20_000)
    assert j.claim_lease("lease-1", lease=10_000) == grant
    with refused("operation_conflict"):
        j.claim_lease("lease-1", worker="worker-2", lease=10_000)
    with refused("operation_conflict"):
        j.claim_lease("lease-1", lease=10_001)


def test_an_expired_lease_goes_to_the_next_worker(journey: Journeys) -> None:
    """It may claim an expired lease; the stale fencing token is worth nothing from then on."""
    j = journey.pending()
    j.claim_lease(lease=10_000)
    stale = j.token
    j.tick(10_000)
    take_over(j)
    assert j.token > stale
    with refused("fenced"):
        j.begin(token=stale)
    assert j.state() == ("pending", None)
    j.begin()
    assert j.state() == ("running", None)


def test_a_lease_ends_at_its_expiry_without_a_successor(journey: Journeys) -> None:
    """An owner whose lease has expired writes nothing, also while nobody else claimed it."""
    j = short_lived(journey)
    j.tick(10_000)
    before = j.snapshot()
    for command in (
        j.finish,
        lambda: j.claim("op-1", "task_attempt_starts"),
        lambda: j.reserve("t1"),
        lambda: j.start_run("op-2", "decomposition"),
        j.complete,
        j.fail,
        lambda: j.heartbeat(10_000),
    ):
        with refused("fenced"):
            command()
    assert j.snapshot() == before


def test_a_heartbeat_extends_the_lease(journey: Journeys) -> None:
    """Owner lease and heartbeat."""
    j = short_lived(journey)
    j.tick(8_000)
    assert j.heartbeat(10_000) == {"lease_expires_at": "2030-01-01T00:00:18.000Z"}
    j.tick(17_999)
    with refused("lease_held"):
        take_over(j)
    assert j.finish()["state"] == "completed"


def test_a_heartbeat_never_shortens_the_lease(journey: Journeys) -> None:
    """A heartbeat says that the owner lives, never that it ends."""
    j = short_lived(journey)
    assert j.heartbeat(1) == {"lease_expires_at": "2030-01-01T00:00:10.000Z"}


@pytest.mark.parametrize("token", [1_000_000, 9_007_199_254_740_991])
def test_a_guessed_token_is_fenced(journey: Journeys, token: int) -> None:
    """Only the latest granted token is live (ruling 36)."""
    j = journey.running()
    with refused("fenced"):
        j.finish(token=token)
    assert j.run_states() == ["active"]


@pytest.mark.parametrize("lease", [0, -1, 86_400_001])
def test_a_lease_is_finite(journey: Journeys, lease: int) -> None:
    """An abandoned lease must expire: its length is bounded."""
    with refused("invalid_request"):
        journey.pending().claim_lease(lease=lease)


def test_a_lease_survives_a_restart(journey: Journeys) -> None:
    """The owner lease is durable; process-local state is not recovery authority."""
    j = short_lived(journey)
    j.restart()
    j.tick(5_000)
    with refused("lease_held"):
        take_over(j)
    assert j.finish()["state"] == "completed"


@pytest.mark.parametrize("restarts", [False, True])
def test_an_orphan_that_was_working_fails(journey: Journeys, restarts: bool) -> None:
    """Without proof that the operation is idempotent: orphan_recovery_unsafe."""
    j = short_lived(journey)
    j.tick(10_000)
    if restarts:
        j.restart()
    with refused("orphan_recovery_unsafe") as caught:
        take_over(j)
    assert caught.detail["outcome"]["execution_state"] == "failed"
    assert j.state() == ("failed", "orphan_recovery_unsafe")
    assert j.run_states() == ["quarantined"]


def test_an_orphan_with_a_call_in_flight_is_ambiguous(journey: Journeys) -> None:
    """A transmitted call of a dead worker is ambiguous before it is unsafe (ruling 27)."""
    j = short_lived(journey)
    j.send("t1", prompt=60, output=40)
    j.tick(10_000)
    with refused("provider_transmission_ambiguous"):
        take_over(j)
    assert j.state() == ("failed", "provider_transmission_ambiguous")
    assert j.reservation_state("t1") == "transmitted"  # ruling 49
    assert j.accounting() == "pending"
    j.sweep_at(70_000)
    assert j.accounting() == "settlement_failed"
    assert j.tokens() == tokens(conservative=100)


def test_an_orphan_with_an_idempotent_call_is_unsafe_for_its_run_only(journey: Journeys) -> None:
    """The provider's idempotency contract resolves the call, but proves nothing of the run."""
    j = short_lived(journey)
    j.send("t1", group=True)
    j.tick(10_000)
    with refused("orphan_recovery_unsafe"):
        take_over(j)
    assert j.state() == ("failed", "orphan_recovery_unsafe")


def test_an_orphan_without_work_under_way_is_taken_over(journey: Journeys) -> None:
    """Resume when persisted state proves it safe; claims are verified, never repeated."""
    j = short_lived(journey)
    j.claim("op-1", "task_attempt_starts")
    j.finish()
    j.tick(10_000)
    j.restart()
    take_over(j)
    assert j.state() == ("running", None)
    assert j.claimed("workflow_run_starts") == 1
    assert j.claimed("task_attempt_starts") == 1
    j.complete()
    assert j.state() == ("completed", "journey_completed")


def test_a_new_owner_cannot_send_what_the_old_one_reserved(journey: Journeys) -> None:
    """A reservation names its owner: neither the stale owner nor the new one transmits it."""
    j = short_lived(journey)
    j.reserve("t1")
    stale = j.token
    j.finish()
    j.tick(10_000)
    take_over(j)
    with refused("fenced"):
        j.transmit("t1", token=stale)
    with refused("fenced"):
        j.transmit("t1")
    assert j.reservation_state("t1") != "transmitted"


def test_a_terminal_journey_is_not_taken_over(journey: Journeys) -> None:
    """A restarted worker first checks the terminal state."""
    j = short_lived(journey)
    j.finish()
    j.complete()
    j.tick(10_000)
    with refused("journey_terminal"):
        take_over(j)
    assert j.state() == ("completed", "journey_completed")


def test_a_cancelling_journey_is_not_taken_over(journey: Journeys) -> None:
    """A restarted worker checks cancelling before it could call an orphan unsafe."""
    j = short_lived(journey)
    j.cancel()
    j.tick(10_000)
    with refused("journey_cancelling"):
        take_over(j)
    j.sweep_at(30_000)
    assert j.state() == ("cancelled", "caller_requested")


def test_the_deadline_comes_before_the_takeover(journey: Journeys) -> None:
    """A restarted worker checks the absolute deadline before recovery."""
    j = short_lived(journey)
    j.send("t1")
    j.tick(600_000)
    with refused_late():
        take_over(j)
    assert j.state() == ("timed_out", "deadline_expired")


def test_evidence_needs_no_lease(journey: Journeys) -> None:
    """Usage is reconciled although its worker has died (ruling 37)."""
    j = short_lived(journey)
    j.send("t1", prompt=60, output=40)
    j.tick(10_000)
    j.response("t1", 70)
    assert j.tokens() == tokens(reconciled=70)
    assert j.state() == ("running", None)


def test_a_journey_without_an_owner_accepts_no_owner(journey: Journeys) -> None:
    """No token is live before the first lease was granted."""
    j = journey.pending()
    for operation in ("begin_journey", "complete_journey"):
        with refused("fenced"):
            j.owned(operation, 1)
    with refused("fenced"):
        j.heartbeat(1_000, token=1)
    with refused("fenced"):
        j.fail(token=1)
    assert j.state() == ("pending", None)
