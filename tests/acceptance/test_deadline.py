"""The absolute deadline: persisted, authoritative, and looked at before anything else."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.acceptance.driver import Journeys, refused, refused_late, tokens


def test_a_journey_is_expired_at_its_deadline_and_not_before(journey: Journeys) -> None:
    """Deadline Semantics: at or after the deadline (ruling 1)."""
    j = journey.running()
    j.sweep_at(599_999)
    assert j.state() == ("running", None)
    j.sweep_at(600_000)
    assert j.state() == ("timed_out", "deadline_expired")


def test_expiry_is_recorded_with_its_settlement_deadline(journey: Journeys) -> None:
    """A terminal execution persists an accounting deadline from the settlement grace."""
    j = journey.running()
    j.send("t1")
    j.sweep_at(600_000)
    snapshot = j.snapshot()
    assert snapshot["finished_at"] == "2030-01-01T00:10:00.000Z"
    assert snapshot["accounting_deadline_utc"] == "2030-01-01T00:11:00.000Z"
    assert snapshot["accounting_status"] == "pending"
    assert j.run_states() == ["quarantined"]


def test_a_sweep_that_comes_late_counts_from_its_own_commit(journey: Journeys) -> None:
    """The accounting deadline derives from termination (ruling 23: from its commit)."""
    j = journey.running()
    j.send("t1")
    j.sweep_at(700_000)
    snapshot = j.snapshot()
    assert snapshot["lifecycle_state"] == "timed_out"
    assert snapshot["deadline_utc"] == "2030-01-01T00:10:00.000Z"
    assert snapshot["finished_at"] == "2030-01-01T00:11:40.000Z"
    assert snapshot["accounting_deadline_utc"] == "2030-01-01T00:12:40.000Z"


def test_an_expired_journey_cannot_start(journey: Journeys) -> None:
    """A worker starting at or after the deadline times out before loading an agent."""
    j = journey.pending()
    j.claim_lease()
    j.tick(600_000)
    with refused_late():
        j.begin()
    assert j.state() == ("timed_out", "deadline_expired")
    assert j.runs() == []
    assert j.claimed("workflow_run_starts") == 0


@pytest.mark.parametrize("restarts", [False, True])
def test_an_expired_journey_gets_no_owner(journey: Journeys, restarts: bool) -> None:
    """An expired journey cannot start or resume after process restart."""
    j = journey.running()
    if restarts:
        j.restart()
    j.tick(600_000)
    with refused_late():
        j.claim_lease("lease-2", worker="worker-2")
    assert j.state() == ("timed_out", "deadline_expired")


@pytest.mark.parametrize(
    "command",
    ["start_run", "finish", "claim", "reserve", "transmit", "renew", "heartbeat", "fail"],
)
def test_no_worker_gets_past_the_deadline(journey: Journeys, command: str) -> None:
    """Local work stops at expiry (ruling 3: every mutating checkpoint looks at it first)."""
    j = journey.running()
    j.reserve("t1", prompt=60, output=40)
    j.tick(600_000)
    calls: dict[str, Callable[[], Any]] = {
        "start_run": lambda: j.start_run("op-1", "decomposition"),
        "finish": j.finish,
        "claim": lambda: j.claim("op-2", "task_attempt_starts"),
        "reserve": lambda: j.reserve("t2"),
        "transmit": lambda: j.transmit("t1"),
        "renew": lambda: j.renew("t1", 1_000),
        "heartbeat": lambda: j.heartbeat(1_000),
        "fail": j.fail,
    }
    with refused_late():
        calls[command]()
    assert j.state() == ("timed_out", "deadline_expired")
    assert j.run_states() == ["quarantined"]
    assert j.claimed("task_attempt_starts") == 0
    (reservation,) = j.reservations()
    assert reservation["state"] in ("reserved", "released_untransmitted")


def test_the_refusal_carries_the_immutable_outcome(journey: Journeys) -> None:
    """A user or worker returning after expiry receives the immutable timed_out outcome."""
    j = journey.running()
    j.tick(600_500)
    with refused_late() as caught:
        j.finish()
    assert caught.detail["outcome"] == {
        "journey_id": j.id,
        "execution_state": "timed_out",
        "terminal_reason": "deadline_expired",
        "finished_at": "2030-01-01T00:10:00.500Z",
    }
    with refused("journey_terminal") as again:
        j.finish()
    assert again.detail == caught.detail


def test_expired_work_that_never_left_is_released_and_settles(journey: Journeys) -> None:
    """A call not transmitted by the deadline is never sent, and is charged nothing."""
    j = journey.running()
    j.reserve("t1")
    j.sweep_at(600_000)
    with refused("journey_terminal"):
        j.transmit("t1")
    j.sweep_at(660_000)
    assert j.reservation_state("t1") == "released_untransmitted"
    assert j.accounting() == "settled"
    assert j.tokens() == tokens()


def test_usage_in_flight_at_expiry_is_still_reconciled(journey: Journeys) -> None:
    """An uninterruptible call may finish and its usage is reconciled, nothing else."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.sweep_at(600_000)
    outcome = j.outcome()
    j.response("t1", 80)
    assert j.tokens() == tokens(reconciled=80)
    assert j.accounting() == "settled"
    assert j.outcome() == outcome
    assert j.state() == ("timed_out", "deadline_expired")


def test_nothing_moves_the_deadline(journey: Journeys) -> None:
    """deadline_utc is persisted and authoritative across pauses and restarts."""
    j = journey.running()
    j.tick(300_000)
    j.heartbeat(7_200_000)
    j.send("t1", lease=7_200_000)
    j.restart()
    j.tick(590_000)
    j.cancel()
    assert j.snapshot()["deadline_utc"] == "2030-01-01T00:10:00.000Z"
    k = journey.pending(j.world, idempotency_key="key-2")
    k.restart()
    assert k.snapshot()["deadline_utc"] == "2030-01-01T00:10:00.000Z"
    k.sweep_at(600_000)
    assert k.state() == ("timed_out", "deadline_expired")


def test_deadline_before_reservation_leases_at_one_instant(journey: Journeys) -> None:
    """Rule 3 with ruling 4: what falls due at one instant begins with the deadline."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, lease=600_000)
    j.sweep_at(600_000)
    assert j.state() == ("timed_out", "deadline_expired")
    assert j.reservation_state("t1") == "expired_conservatively"
    assert j.tokens() == tokens(conservative=100)


def test_deadline_before_the_owner_lease_at_one_instant(journey: Journeys) -> None:
    """A restarted worker checks the absolute deadline before it may recover an orphan."""
    j = journey.pending()
    j.claim_lease(lease=600_000)
    j.begin()
    j.tick(600_000)
    with refused_late():
        j.claim_lease("lease-2", worker="worker-2")
    assert j.state() == ("timed_out", "deadline_expired")


def test_other_journeys_are_not_touched(journey: Journeys) -> None:
    """Each journey has its own absolute deadline."""
    j = journey.running()
    k = journey.running(j.world, idempotency_key="key-2", deadline_utc="2030-01-01T00:10:00.001Z")
    j.sweep_at(600_000)
    assert j.state() == ("timed_out", "deadline_expired")
    assert k.state() == ("running", None)
