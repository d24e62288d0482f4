"""The six journey-wide counters: each stops at its exact maximum, for its own reason."""

import pytest
from tests.acceptance.driver import Journeys, refused

TASKS = "task_attempt_starts"
CORRECTIONS = "structured_output_correction_attempts"


def test_workflow_run_starts_stop_at_their_maximum(journey: Journeys) -> None:
    """workflow_run_start_limit_exhausted; the entry run counts (ruling 8)."""
    j = journey.running(max_workflow_run_starts=2)
    j.start_run("op-1", "decomposition")
    assert j.claimed("workflow_run_starts") == 2
    assert j.state() == ("running", None)
    with refused("workflow_run_start_limit_exhausted"):
        j.start_run("op-2", "decomposition")
    assert j.state() == ("budget_exceeded", "workflow_run_start_limit_exhausted")
    assert j.claimed("workflow_run_starts") == 2
    assert j.run_states() == ["quarantined", "quarantined"]


def test_task_attempt_starts_stop_at_their_maximum(journey: Journeys) -> None:
    """task_attempt_start_limit_exhausted."""
    j = journey.running(max_task_attempt_starts=2)
    j.claim("op-1", TASKS)
    j.claim("op-2", TASKS)
    assert j.state() == ("running", None)
    with refused("task_attempt_start_limit_exhausted"):
        j.claim("op-3", TASKS)
    assert j.state() == ("budget_exceeded", "task_attempt_start_limit_exhausted")
    assert j.claimed(TASKS) == 2


def test_provider_retries_stop_at_their_maximum(journey: Journeys) -> None:
    """provider_retry_limit_exhausted; the first transmission is no retry."""
    j = journey.running(max_provider_retry_attempts=1)
    for transmission in ("t1", "t2"):
        j.send(transmission, invocation="call-1")
        j.response(transmission, 0)
    assert j.claimed("provider_retry_attempts") == 1
    assert j.state() == ("running", None)
    with refused("provider_retry_limit_exhausted"):
        j.reserve("t3", invocation="call-1")
    assert j.state() == ("budget_exceeded", "provider_retry_limit_exhausted")
    assert j.claimed("provider_retry_attempts") == 1
    assert len(j.reservations()) == 2


def test_corrections_stop_at_their_maximum(journey: Journeys) -> None:
    """structured_output_correction_limit_exhausted."""
    j = journey.running(max_structured_output_correction_attempts=1)
    j.claim("op-1", CORRECTIONS)
    assert j.state() == ("running", None)
    with refused("structured_output_correction_limit_exhausted"):
        j.claim("op-2", CORRECTIONS)
    assert j.state() == ("budget_exceeded", "structured_output_correction_limit_exhausted")
    assert j.claimed(CORRECTIONS) == 1


def test_repairs_stop_at_their_maximum(journey: Journeys) -> None:
    """workflow_repair_limit_exhausted."""
    j = journey.running(max_workflow_repair_starts=1)
    j.finish("failed")
    repair = j.start_run("op-1", "repair")
    assert j.state() == ("running", None)
    j.finish("failed", run=repair)
    with refused("workflow_repair_limit_exhausted"):
        j.start_run("op-2", "repair", parent=repair)
    assert j.state() == ("budget_exceeded", "workflow_repair_limit_exhausted")
    assert j.claimed("workflow_repair_starts") == 1
    assert j.claimed("workflow_run_starts") == 2


def test_refinements_stop_at_their_maximum(journey: Journeys) -> None:
    """app_refinement_limit_exhausted."""
    j = journey.running(max_app_refinement_starts=1)
    j.finish()
    j.start_run("op-1", "refinement")
    assert j.state() == ("running", None)
    with refused("app_refinement_limit_exhausted"):
        j.start_run("op-2", "refinement")
    assert j.state() == ("budget_exceeded", "app_refinement_limit_exhausted")
    assert j.claimed("app_refinement_starts") == 1
    assert j.claimed("workflow_run_starts") == 2


def test_a_maximum_of_zero_retries_permits_none(journey: Journeys) -> None:
    """max_provider_retry_attempts is a non-negative integer: zero stops the first."""
    j = journey.running(max_provider_retry_attempts=0)
    j.reserve("t1", invocation="call-1")
    j.unsent("t1")
    with refused("provider_retry_limit_exhausted"):
        j.reserve("t2", invocation="call-1")
    assert j.claimed("provider_retry_attempts") == 0


def test_a_maximum_of_zero_corrections_permits_none(journey: Journeys) -> None:
    """max_structured_output_correction_attempts may be zero."""
    j = journey.running(max_structured_output_correction_attempts=0)
    with refused("structured_output_correction_limit_exhausted"):
        j.claim("op-1", CORRECTIONS)
    assert j.claimed(CORRECTIONS) == 0


def test_a_maximum_of_zero_refinements_permits_none(journey: Journeys) -> None:
    """max_app_refinement_starts may be zero."""
    j = journey.running(max_app_refinement_starts=0)
    with refused("app_refinement_limit_exhausted"):
        j.start_run("op-1", "refinement")
    assert j.claimed("workflow_run_starts") == 1


def test_an_absent_maximum_limits_nothing(journey: Journeys) -> None:
    """Every counter's maximum is optional; claims are counted all the same."""
    j = journey.running()
    for number in range(5):
        j.claim(f"op-{number}", TASKS, CORRECTIONS)
    counters = j.snapshot()["counters"]
    assert counters[TASKS] == {"claimed": 5, "limit": None}
    assert counters[CORRECTIONS] == {"claimed": 5, "limit": None}
    assert j.state() == ("running", None)


def test_a_snapshot_shows_claims_and_limits(journey: Journeys) -> None:
    """Observation Contract: retry and repair counts."""
    j = journey.running(
        max_workflow_run_starts=4, max_task_attempt_starts=3, max_provider_retry_attempts=0
    )
    j.claim("op-1", TASKS)
    assert j.snapshot()["counters"] == {
        "workflow_run_starts": {"claimed": 1, "limit": 4},
        "task_attempt_starts": {"claimed": 1, "limit": 3},
        "provider_retry_attempts": {"claimed": 0, "limit": 0},
        "structured_output_correction_attempts": {"claimed": 0, "limit": None},
        "workflow_repair_starts": {"claimed": 0, "limit": None},
        "app_refinement_starts": {"claimed": 0, "limit": None},
    }


def test_a_duplicate_claim_consumes_once(journey: Journeys) -> None:
    """Duplicate delivery of the same stable operation ID returns the existing claim."""
    j = journey.running(max_task_attempt_starts=1)
    claim = j.claim("op-1", TASKS)
    assert claim == {"operation_id": "op-1", "counters": [TASKS]}
    assert j.claim("op-1", TASKS) == claim
    assert j.claimed(TASKS) == 1
    assert j.state() == ("running", None)


def test_an_operation_id_with_other_inputs_conflicts(journey: Journeys) -> None:
    """Each counted operation has a stable ID: with other inputs it is another operation."""
    j = journey.running(workflow_sequence_id="pair")
    j.claim("op-1", TASKS)
    before = j.snapshot()
    with refused("operation_conflict"):
        j.claim("op-1", CORRECTIONS)
    with refused("operation_conflict"):
        j.claim("op-1", TASKS, CORRECTIONS)
    with refused("operation_conflict"):
        j.claim("op-1", TASKS, run=j.runs_begun[1])
    with refused("operation_conflict"):
        j.start_run("op-1", "decomposition")
    assert j.snapshot() == before


def test_one_attempt_may_consume_two_counters(journey: Journeys) -> None:
    """A single attempt can intentionally consume several orthogonal counters."""
    j = journey.running()
    j.claim("op-1", TASKS, CORRECTIONS)
    assert (j.claimed(TASKS), j.claimed(CORRECTIONS)) == (1, 1)


def test_two_counters_are_claimed_together_or_not_at_all(journey: Journeys) -> None:
    """The claim is atomic (ruling 2: a refused operation consumes no counter)."""
    j = journey.running(max_structured_output_correction_attempts=0)
    with refused("structured_output_correction_limit_exhausted"):
        j.claim("op-1", TASKS, CORRECTIONS)
    assert (j.claimed(TASKS), j.claimed(CORRECTIONS)) == (0, 0)


def test_the_first_exhausted_counter_in_policy_order_is_the_reason(journey: Journeys) -> None:
    """The corresponding stable reason (ruling 2: counters in policy order, not as named)."""
    j = journey.running(max_task_attempt_starts=1, max_structured_output_correction_attempts=0)
    j.claim("op-1", TASKS)
    with refused("task_attempt_start_limit_exhausted"):
        j.claim("op-2", CORRECTIONS, TASKS)
    assert j.state() == ("budget_exceeded", "task_attempt_start_limit_exhausted")


def test_run_starts_come_before_repairs_in_policy_order(journey: Journeys) -> None:
    """A repair is checked against workflow-run starts first."""
    j = journey.running(max_workflow_run_starts=1, max_workflow_repair_starts=0)
    j.finish("failed")
    with refused("workflow_run_start_limit_exhausted"):
        j.start_run("op-1", "repair")
    assert j.claimed("workflow_repair_starts") == 0


def test_a_counter_named_twice_is_refused(journey: Journeys) -> None:
    """One claim is one of each counter."""
    j = journey.running()
    with refused("invalid_request"):
        j.claim("op-1", TASKS, TASKS)
    with refused("invalid_request"):
        j.claim("op-1")
    with refused("invalid_request"):
        j.claim("op-1", "workflow_run_starts")
    assert j.claimed(TASKS) == 0


def test_counters_are_journey_wide(journey: Journeys) -> None:
    """Every configured counter is journey-wide: two runs share one maximum."""
    j = journey.running(workflow_sequence_id="pair", max_task_attempt_starts=2)
    j.claim("op-1", TASKS, run=j.runs_begun[0])
    j.claim("op-2", TASKS, run=j.runs_begun[1])
    with refused("task_attempt_start_limit_exhausted"):
        j.claim("op-3", TASKS, run=j.runs_begun[0])


def test_a_claim_stays_consumed_after_a_crash(journey: Journeys) -> None:
    """Once claimed, an attempt remains consumed even if its worker crashes."""
    j = journey.running(max_task_attempt_starts=1)
    j.claim("op-1", TASKS)
    j.restart()
    assert j.claimed(TASKS) == 1
    with refused("task_attempt_start_limit_exhausted"):
        j.claim("op-2", TASKS)


def test_children_name_their_parent_and_count_as_run_starts(journey: Journeys) -> None:
    """Children have distinct ids, parent links, and consume a workflow-run start too."""
    j = journey.running()
    child = j.start_run("op-1", "decomposition", workflow="Helper")
    j.finish("failed")
    repair = j.start_run("op-2", "repair", workflow="Builder")
    refinement = j.start_run("op-3", "refinement", workflow="Builder", parent=child)
    assert len({j.run, child, repair, refinement}) == 4
    runs = {run["workflow_run_id"]: run for run in j.runs()}
    assert runs[child]["parent_workflow_run_id"] == j.run
    assert runs[child]["purpose"] == "decomposition"
    assert runs[child]["workflow_id"] == "Helper"
    assert runs[repair]["parent_workflow_run_id"] == j.run
    assert runs[repair]["purpose"] == "repair"
    assert runs[refinement]["parent_workflow_run_id"] == child
    assert runs[refinement]["purpose"] == "refinement"
    assert {run["stage_id"] for run in runs.values()} == {"Builder"}
    assert {run["sequence_position"] for run in runs.values()} == {0}
    assert j.claimed("workflow_run_starts") == 4
    assert j.claimed("workflow_repair_starts") == 1
    assert j.claimed("app_refinement_starts") == 1


def test_a_duplicate_run_start_starts_one_run(journey: Journeys) -> None:
    """Duplicate delivery is idempotent, also after the journey has ended."""
    j = journey.running()
    child = j.start_run("op-1", "decomposition")
    assert j.start_run("op-1", "decomposition") == child
    with refused("operation_conflict"):
        j.start_run("op-1", "decomposition", workflow="Another")
    j.fail()
    assert j.start_run("op-1", "decomposition") == child
    assert j.claimed("workflow_run_starts") == 2


def test_only_a_failed_run_is_repaired_and_only_once(journey: Journeys) -> None:
    """A repair answers for one failed run; nothing else is to be repaired."""
    j = journey.running()
    with refused("parent_not_failed"):
        j.start_run("op-1", "repair")
    j.finish("failed")
    repair = j.start_run("op-2", "repair")
    with refused("parent_not_failed"):
        j.start_run("op-3", "repair")
    j.finish(run=repair)
    with refused("parent_not_failed"):
        j.start_run("op-4", "repair", parent=repair)
    assert j.claimed("workflow_repair_starts") == 1
    assert j.state() == ("running", None)


@pytest.mark.parametrize("outcome", ["completed", "failed"])
def test_a_finished_run_starts_no_further_work(journey: Journeys, outcome: str) -> None:
    """A run that has ended spawns no child and claims no attempt."""
    j = journey.running()
    j.finish(outcome)
    with refused("workflow_run_finished"):
        j.start_run("op-1", "decomposition")
    with refused("workflow_run_finished"):
        j.claim("op-2", TASKS)
    assert j.claimed("workflow_run_starts") == 1
    assert j.claimed(TASKS) == 0


def test_a_correction_is_no_provider_retry(journey: Journeys) -> None:
    """A correction is a new invocation with its own reservation lineage."""
    j = journey.running(max_provider_retry_attempts=0)
    j.send("t1", invocation="call-1")
    j.response("t1", 50)
    j.claim("op-1", CORRECTIONS)
    j.send("t2", invocation="call-2")
    assert j.claimed(CORRECTIONS) == 1
    assert j.claimed("provider_retry_attempts") == 0
    assert j.state() == ("running", None)


def test_a_refinement_may_follow_a_run_in_any_state(journey: Journeys) -> None:
    """A refinement re-enters: its parent may be active, completed or failed."""
    j = journey.running()
    while_active = j.start_run("op-1", "refinement")
    j.finish("completed", run=while_active)
    j.start_run("op-2", "refinement", parent=while_active)
    j.finish("failed")
    j.start_run("op-3", "refinement")
    assert j.claimed("app_refinement_starts") == 3
    assert [run["superseded"] for run in j.runs()] == [False] * 4  # a refinement repairs nothing


def test_one_operation_id_names_one_operation(journey: Journeys) -> None:
    """A stable operation ID, whatever kind of operation it names."""
    j = journey.running()
    j.claim("op-1", "task_attempt_starts")
    with refused("operation_conflict"):
        j.claim_lease("op-1")
    with refused("operation_conflict"):
        j.claim("lease-1", "task_attempt_starts")
    assert j.claimed("task_attempt_starts") == 1
