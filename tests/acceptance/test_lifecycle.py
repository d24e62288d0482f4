"""Every legal transition of the lifecycle, what is immutable after it, and the outcome."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.acceptance.driver import Journey, Journeys, refused


def test_pending_becomes_running_with_its_entry_run(journey: Journeys) -> None:
    """Legal transitions: pending to running (ruling 6: by the owner's entry dispatch)."""
    j = journey.pending()
    j.claim_lease()
    assert j.state() == ("pending", None)
    j.tick(1_000)
    j.begin()
    snapshot = j.snapshot()
    assert snapshot["lifecycle_state"] == "running"
    assert snapshot["terminal_reason"] is None
    assert snapshot["started_at"] == "2030-01-01T00:00:01.000Z"
    assert snapshot["current_stage"] == "Builder"
    assert j.claimed("workflow_run_starts") == 1
    (run,) = j.runs()
    assert run["state"] == "active"
    assert run["purpose"] == "entry"
    assert run["workflow_id"] == "Builder"
    assert run["parent_workflow_run_id"] is None


def test_pending_becomes_cancelling(journey: Journeys) -> None:
    """Legal transitions: pending to cancelling, then cancelled."""
    j = journey.pending()
    assert j.cancel()["lifecycle_state"] == "cancelling"
    j.sweep()
    assert j.state() == ("cancelled", "caller_requested")


def test_pending_becomes_failed(journey: Journeys) -> None:
    """Legal transitions: pending to failed (ruling 29)."""
    j = journey.pending()
    j.claim_lease()
    j.fail("token_reservation_unavailable")
    assert j.state() == ("failed", "token_reservation_unavailable")


def test_pending_becomes_timed_out(journey: Journeys) -> None:
    """Legal transitions: pending to timed_out."""
    j = journey.pending()
    j.sweep_at(600_000)
    assert j.state() == ("timed_out", "deadline_expired")


def test_pending_becomes_budget_exceeded(journey: Journeys) -> None:
    """Legal transitions: pending to budget_exceeded (ruling 6: two members, one start)."""
    j = journey.pending(workflow_sequence_id="pair", max_workflow_run_starts=1)
    j.claim_lease()
    with refused("workflow_run_start_limit_exhausted") as caught:
        j.begin()
    assert caught.detail["outcome"] == {
        "journey_id": j.id,
        "execution_state": "budget_exceeded",
        "terminal_reason": "workflow_run_start_limit_exhausted",
        "finished_at": "2030-01-01T00:00:00.000Z",
    }
    assert j.state() == ("budget_exceeded", "workflow_run_start_limit_exhausted")
    assert j.runs() == []
    assert j.claimed("workflow_run_starts") == 0
    assert j.snapshot()["started_at"] is None


def test_pending_cannot_complete(journey: Journeys) -> None:
    """There is no transition from pending to completed."""
    j = journey.pending()
    j.claim_lease()
    before = j.snapshot()
    with refused("journey_incomplete"):
        j.complete()
    assert j.snapshot() == before


def test_running_becomes_completed(journey: Journeys) -> None:
    """Legal transitions: running to completed."""
    j = journey.running()
    j.finish()
    assert j.state() == ("running", None)
    j.tick(5_000)
    assert j.complete() == {
        "journey_id": j.id,
        "execution_state": "completed",
        "terminal_reason": "journey_completed",
        "finished_at": "2030-01-01T00:00:05.000Z",
    }
    assert j.state() == ("completed", "journey_completed")


@pytest.mark.parametrize(
    "reason",
    ["workflow_failed", "token_reservation_unavailable", "lifecycle_persistence_unavailable"],
)
def test_running_becomes_failed_for_a_stable_reason(journey: Journeys, reason: str) -> None:
    """Legal transitions: running to failed; the terminal reason is a separate stable code."""
    j = journey.running()
    j.fail(reason)
    assert j.state() == ("failed", reason)


@pytest.mark.parametrize(
    "reason", ["journey_completed", "deadline_expired", "caller_requested", "because", ""]
)
def test_a_worker_cannot_fail_a_journey_for_any_other_reason(
    journey: Journeys, reason: str
) -> None:
    """Arbitrary text never becomes a lifecycle reason, nor does the reason of another state."""
    j = journey.running()
    with refused("invalid_request"):
        j.fail(reason)
    assert j.state() == ("running", None)


def test_running_becomes_timed_out(journey: Journeys) -> None:
    """Legal transitions: running to timed_out."""
    j = journey.running()
    j.sweep_at(600_000)
    assert j.state() == ("timed_out", "deadline_expired")


def test_running_becomes_budget_exceeded(journey: Journeys) -> None:
    """Legal transitions: running to budget_exceeded."""
    j = journey.running(max_total_tokens=99)
    with refused("token_budget_exhausted"):
        j.reserve("t1", prompt=60, output=40)
    assert j.state() == ("budget_exceeded", "token_budget_exhausted")


def test_running_becomes_cancelling_and_only_then_cancelled(journey: Journeys) -> None:
    """Legal transitions: running to cancelling to cancelled, never directly."""
    j = journey.running()
    assert j.cancel()["lifecycle_state"] == "cancelling"
    assert j.state() == ("cancelling", None)
    j.finish()
    j.sweep()
    assert j.state() == ("cancelled", "caller_requested")


def test_cancelling_never_becomes_running(journey: Journeys) -> None:
    """The only legal transition from cancelling is to cancelled."""
    j = journey.pending()
    j.claim_lease()
    j.cancel()
    with refused("journey_cancelling", "journey_terminal"):  # an eager backend has ended it
        j.begin()
    j.sweep()
    assert j.state() == ("cancelled", "caller_requested")
    assert j.runs() == []


def completed(j: Journey) -> None:
    j.finish()
    j.complete()


def failed(j: Journey) -> None:
    j.fail()


def timed_out(j: Journey) -> None:
    j.sweep_at(600_000)


def budget_exceeded(j: Journey) -> None:
    with refused("token_budget_exhausted"):
        j.reserve("too-much", prompt=1000, output=1)


def cancelled(j: Journey) -> None:
    j.cancel()
    j.sweep_at(30_000)


ENDINGS = [completed, failed, timed_out, budget_exceeded, cancelled]
Ending = Callable[[Journey], None]


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_leaves_a_terminal_state(journey: Journeys, ending: Ending) -> None:
    """No transitions out of terminal states; a terminal journey rejects resume."""
    j = journey.running()
    j.reserve("t1")
    ending(j)
    assert j.state()[0] == ending.__name__
    state, outcome = j.state(), j.outcome()
    for command in (
        j.complete,
        j.fail,
        lambda: j.start_run("op-1", "refinement"),
        lambda: j.claim("op-2", "task_attempt_starts"),
        lambda: j.reserve("t2"),
        lambda: j.transmit("t1"),
        lambda: j.renew("t1", 1_000),
        lambda: j.heartbeat(1_000),
        lambda: j.claim_lease("lease-2"),
    ):
        with refused("journey_terminal") as caught:
            command()
        assert caught.detail["outcome"]["execution_state"] == ending.__name__
        assert caught.detail["outcome"]["terminal_reason"] == outcome["terminal_reason"]
    assert j.cancel()["lifecycle_state"] == ending.__name__
    j.sweep()
    assert j.state() == state
    assert j.outcome() == outcome


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_outcome_survives_everything_that_comes_later(
    journey: Journeys, ending: Ending
) -> None:
    """The execution outcome is immutable from the terminal transition on."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    assert j.outcome() is None
    ending(j)
    outcome = j.outcome()
    assert outcome["execution_state"] == ending.__name__
    j.response("t1", 100)
    j.cancel(reason_code="operator_requested")
    j.restart()
    j.sweep_at(3_600_000)
    assert j.outcome() == outcome


def test_a_completed_child_is_no_completed_journey(journey: Journeys) -> None:
    """terminal_outcome is None before termination, never fabricated from a completed child."""
    j = journey.running()
    child = j.start_run("op-1", "decomposition")
    j.finish(run=child)
    assert j.outcome() is None
    j.finish()
    assert j.outcome() is None
    assert j.state() == ("running", None)


def test_completion_waits_for_every_run(journey: Journeys) -> None:
    """Completion rechecks every stop condition (ruling 12: a run is unfinished)."""
    j = journey.running(workflow_sequence_id="pair")
    j.finish(run=j.runs_begun[0])
    before = j.snapshot()
    with refused("journey_incomplete"):
        j.complete()
    assert j.snapshot() == before
    j.finish(run=j.runs_begun[1])
    j.complete()
    assert j.state() == ("completed", "journey_completed")


def test_a_failed_run_prevents_completion_until_it_is_repaired(journey: Journeys) -> None:
    """Success is never fabricated: only a repair can answer for a failed run."""
    j = journey.running()
    j.finish("failed")
    assert j.state() == ("running", None)
    with refused("journey_incomplete"):
        j.complete()
    j.tick(1_000)  # runs of one moment would be ordered by their opaque ids
    repair = j.start_run("op-1", "repair", workflow="Builder")
    assert [run["superseded"] for run in j.runs()] == [True, False]
    with refused("journey_incomplete"):
        j.complete()
    j.finish(run=repair)
    j.complete()
    assert j.state() == ("completed", "journey_completed")


def test_a_failed_repair_prevents_completion_again(journey: Journeys) -> None:
    """Success is never fabricated from a repair that failed itself (ruling 38)."""
    j = journey.running()
    j.finish("failed")
    repair = j.start_run("op-1", "repair")
    j.finish("failed", run=repair)
    with refused("journey_incomplete"):
        j.complete()
    assert j.state() == ("running", None)


def test_open_transmissions_do_not_prevent_completion(journey: Journeys) -> None:
    """Execution and accounting are distinct: accounting may stay pending after the outcome."""
    j = journey.running()
    j.send("t1")
    j.finish()
    j.complete()
    assert j.state() == ("completed", "journey_completed")
    assert j.accounting() == "pending"


def test_a_completed_outcome_is_literal(journey: Journeys) -> None:
    """Outcome: state, reason, ordered workflow outcomes and artifact disposition."""
    j = journey.running(workflow_sequence_id="pair")
    designer, coder = j.runs_begun
    j.finish(run=coder)
    j.finish(run=designer)
    j.tick(7_250)
    j.complete()
    assert j.outcome() == {
        "schema_version": "wayproof.journey.execution_outcome.v1",
        "journey_id": j.id,
        "execution_state": "completed",
        "terminal_reason": "journey_completed",
        "finished_at": "2030-01-01T00:00:07.250Z",
        "workflow_runs": [
            {"workflow_run_id": designer, "workflow_id": "Designer", "state": "completed"},
            {"workflow_run_id": coder, "workflow_id": "Coder", "state": "completed"},
        ],
        "artifacts": {"disposition": "normal_lifecycle", "retain_until_utc": None},
    }


def test_an_outcome_without_success_freezes_the_asked_disposition(journey: Journeys) -> None:
    """Partial artifacts of a journey without success follow delete or a finite retain_until."""
    j = journey.running()
    j.fail()
    assert j.outcome()["artifacts"] == {"disposition": "delete", "retain_until_utc": None}
    k = journey.running(
        partial_artifact_policy={
            "on_non_success": "retain_until",
            "retain_until_utc": "2030-02-01T00:00:00.000Z",
        }
    )
    k.fail()
    assert k.outcome()["artifacts"] == {
        "disposition": "retain_until",
        "retain_until_utc": "2030-02-01T00:00:00.000Z",
    }


def test_an_unfinished_run_is_quarantined_by_the_end(journey: Journeys) -> None:
    """Output after the end progresses nothing (ruling 10: what is active is quarantined)."""
    j = journey.running(workflow_sequence_id="pair")
    j.finish(run=j.runs_begun[0])
    j.tick(9_000)
    j.fail()
    assert [run["state"] for run in j.outcome()["workflow_runs"]] == ["completed", "quarantined"]
    assert j.runs()[1]["finished_at"] == "2030-01-01T00:00:09.000Z"
    outcome = j.outcome()
    with refused("journey_terminal"):
        j.finish(run=j.runs_begun[1])
    assert j.run_states() == ["completed", "quarantined"]
    assert j.outcome() == outcome


def test_the_end_of_a_run_is_recorded_once(journey: Journeys) -> None:
    """Duplicate delivery of a stable identity returns the record; other inputs conflict."""
    j = journey.running()
    reading = j.finish("failed")
    assert (reading["workflow_run_id"], reading["state"]) == (j.run, "failed")
    version = j.version()
    assert j.finish("failed") == reading
    with refused("operation_conflict"):
        j.finish("completed")
    assert j.version() == version


def test_beginning_twice_starts_nothing_twice(journey: Journeys) -> None:
    """Duplicate delivery starts no second run, also after the journey has ended."""
    j = journey.running(workflow_sequence_id="pair")
    runs = list(j.runs_begun)
    assert j.begin()["workflow_run_ids"] == runs
    assert j.claimed("workflow_run_starts") == 2
    j.fail()
    assert j.begin()["workflow_run_ids"] == runs
    assert len(j.runs()) == 2


@pytest.mark.parametrize("command", ["finish", "claim", "reserve", "start_run"])
def test_an_unknown_run_is_refused(journey: Journeys, command: str) -> None:
    """Each run is identified by its own server-generated workflow_run_id."""
    j = journey.running()
    calls: dict[str, Callable[[], Any]] = {
        "finish": lambda: j.finish(run="run-of-nobody"),
        "claim": lambda: j.claim("op-1", "task_attempt_starts", run="run-of-nobody"),
        "reserve": lambda: j.reserve("t1", run="run-of-nobody"),
        "start_run": lambda: j.start_run("op-1", "decomposition", parent="run-of-nobody"),
    }
    before = j.snapshot()
    with refused("unknown_workflow_run"):
        calls[command]()
    assert j.snapshot() == before
