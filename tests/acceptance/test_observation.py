"""What reads show: record versions, order, durability and versioned public records."""

from collections.abc import Callable
from typing import Any

from tests.acceptance.driver import Journey, Journeys, refused, tokens

from wayproof.conformance.protocol.backend import Answer


def test_every_commit_that_shows_raises_the_record_version(journey: Journeys) -> None:
    """A monotonically increasing record version (ruling 26), accounting included."""
    j = journey.pending()
    assert j.version() == 1
    j.claim_lease()
    steps: list[Callable[[], Any]] = [
        j.begin,
        lambda: j.claim("op-1", "task_attempt_starts"),
        lambda: j.start_run("op-2", "decomposition"),
        lambda: j.reserve("t1"),
        lambda: j.transmit("t1"),
        lambda: j.renew("t1", 7_200_000),
        lambda: j.reserve("t2"),
        lambda: j.unsent("t2"),
        j.finish,
        j.fail,
        lambda: j.response("t1", 10),
        lambda: j.response("t1", 11),
    ]
    last = j.version()
    for step in steps:
        step()
        assert j.version() > last
        last = j.version()


def test_reads_and_replays_leave_the_record_version(journey: Journeys) -> None:
    """Reads never change state (ruling 4), and replays commit nothing (ruling 26)."""
    j = journey.running()
    j.claim("op-1", "task_attempt_starts")
    j.send("t1")
    before = j.snapshot()
    for read in (
        j.runs,
        j.outcome,
        j.settled,
        j.reservations,
        j.discrepancies,
        j.begin,
        lambda: j.claim("op-1", "task_attempt_starts"),
        lambda: j.reserve("t1"),
        j.sweep,
    ):
        read()
        assert j.snapshot() == before


def test_a_reply_names_the_record_version_after_it(journey: Journeys) -> None:
    """Each reply belongs to one committed record version."""
    j = journey.running()
    reply = j.world.call("snapshot", {"access": j.who, "journey_id": j.id})
    assert isinstance(reply, Answer)
    assert reply.record_version == reply.value["record_version"] == j.version()


def test_runs_are_ordered_by_position_member_and_start(journey: Journeys) -> None:
    """Order: sequence position, parallel-member ordinal, creation time, then stable id."""
    j = journey.running(workflow_sequence_id="pair")
    designer, coder = j.runs_begun
    j.tick(1_000)
    of_coder = j.start_run("op-1", "decomposition", parent=coder)
    j.tick(2_000)
    first_of_designer = j.start_run("op-2", "decomposition", parent=designer)
    j.tick(3_000)
    second_of_designer = j.start_run("op-3", "decomposition", parent=first_of_designer)
    runs = j.runs()
    assert [run["workflow_run_id"] for run in runs] == [
        designer,
        first_of_designer,
        second_of_designer,
        coder,
        of_coder,
    ]
    assert [run["member_ordinal"] for run in runs] == [0, 0, 0, 1, 1]
    assert [run["sequence_position"] for run in runs] == [0, 0, 0, 0, 0]
    assert runs[1]["started_at"] == "2030-01-01T00:00:02.000Z"


def test_runs_of_one_moment_are_ordered_by_id(journey: Journeys) -> None:
    """Creation time, then stable ID."""
    j = journey.running()
    j.tick(1_000)
    children = [j.start_run(f"op-{number}", "decomposition") for number in range(4)]
    assert [run["workflow_run_id"] for run in j.runs()] == [j.run, *sorted(children)]


def test_a_run_record_is_literal(journey: Journeys) -> None:
    """WorkflowRunSnapshot: identities, position, workflow name, outcome and timestamps."""
    j = journey.running()
    j.tick(4_000)
    j.finish()
    assert j.runs() == [
        {
            "schema_version": "wayproof.journey.workflow_run_snapshot.v1",
            "journey_id": j.id,
            "workflow_run_id": j.run,
            "parent_workflow_run_id": None,
            "workflow_id": "Builder",
            "purpose": "entry",
            "stage_id": "Builder",
            "sequence_position": 0,
            "member_ordinal": 0,
            "state": "completed",
            "superseded": False,
            "pending_input_request_id": None,
            "chosen_option_id": None,
            "created_at": "2030-01-01T00:00:00.000Z",
            "started_at": "2030-01-01T00:00:00.000Z",
            "finished_at": "2030-01-01T00:00:04.000Z",
        }
    ]


def test_a_parallel_stage_is_one_stage_with_two_members(journey: Journeys) -> None:
    """Current stage and constituent runs of a step with parallel members."""
    j = journey.running(workflow_sequence_id="pair")
    assert j.snapshot()["current_stage"] == "Designer+Coder"
    assert [(run["workflow_id"], run["member_ordinal"]) for run in j.runs()] == [
        ("Designer", 0),
        ("Coder", 1),
    ]
    assert j.claimed("workflow_run_starts") == 2


def everything(j: Journey) -> list[Any]:
    return [
        j.snapshot(),
        j.runs(),
        j.outcome(),
        j.settled(),
        j.reservations(),
        j.discrepancies(),
    ]


def test_a_running_journey_survives_a_restart(journey: Journeys) -> None:
    """Authoritative persistence: what was acknowledged is still there, and work goes on."""
    j = journey.running()
    j.claim("op-1", "task_attempt_starts")
    j.send("t1", prompt=60, output=40)
    j.reserve("t2")
    before = everything(j)
    j.restart()
    assert everything(j) == before
    j.response("t1", 70)
    j.unsent("t2")
    j.finish()
    j.complete()
    assert j.accounting() == "settled"
    assert j.tokens() == tokens(reconciled=70)


def test_a_settled_journey_survives_a_restart(journey: Journeys) -> None:
    """Outcome and settled result are durable and immutable."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.response("t1", 140)
    before = everything(j)
    j.restart()
    j.sweep_at(3_600_000)
    assert everything(j) == before


def test_every_public_record_carries_its_schema_version(journey: Journeys) -> None:
    """Each public record carries its schema version."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.response("t1", 101)
    assert j.snapshot()["schema_version"] == "wayproof.journey.snapshot.v1"
    assert j.outcome()["schema_version"] == "wayproof.journey.execution_outcome.v1"
    assert j.settled()["schema_version"] == "wayproof.journey.settled_result.v1"
    assert j.runs()[0]["schema_version"] == "wayproof.journey.workflow_run_snapshot.v1"
    assert j.reservations()[0]["schema_version"] == "wayproof.journey.reservation.v1"
    assert j.discrepancies()[0]["schema_version"] == "wayproof.journey.discrepancy.v1"


def test_a_request_with_an_unknown_field_is_refused(journey: Journeys) -> None:
    """Scope and limits are typed fields: nothing is carried in free metadata."""
    j = journey.running()
    before = j.snapshot()
    with refused("invalid_request"):
        j.call("cancel", metadata={"force": True})
    with refused("invalid_request"):
        j.owned("complete_journey", None, extra="now")
    assert j.snapshot() == before


def test_a_lost_handle_cancels_nothing(journey: Journeys) -> None:
    """Losing a local handle does not cancel durable work; the start finds it again."""
    j = journey.running()
    again = journey.pending(j.world)
    assert again.id == j.id
    assert again.state() == ("running", None)
