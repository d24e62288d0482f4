"""Starting a journey: what is validated, pinned and identified before anything is persisted."""

from typing import Any

import pytest
from tests.acceptance.defaults import REFINEMENT, access, policy, start_request
from tests.acceptance.driver import Journey, Journeys, call, refused, tokens

TWO_STAGES = {"kind": "stage", "id": "Designer"}


def test_a_start_persists_pending_and_does_no_work(journey: Journeys) -> None:
    """Illustrative Public Contract: no workflow, task or model call before persistence succeeds."""
    j = journey.pending()
    snapshot = j.snapshot()
    assert snapshot["lifecycle_state"] == "pending"
    assert snapshot["terminal_reason"] is None
    assert snapshot["accounting_status"] == "pending"
    assert snapshot["current_stage"] is None
    assert snapshot["record_version"] == 1
    assert j.runs() == []
    assert j.reservations() == []
    assert [reading["claimed"] for reading in snapshot["counters"].values()] == [0] * 6
    assert j.tokens() == tokens()


def test_a_snapshot_shows_what_the_start_fixed(journey: Journeys) -> None:
    """Observation Contract: identities, timestamps, absolute deadline and maximum ceiling."""
    snapshot = journey.pending().snapshot()
    assert snapshot["workflow_sequence_id"] == "solo"
    assert snapshot["created_at"] == "2030-01-01T00:00:00.000Z"
    assert snapshot["deadline_utc"] == "2030-01-01T00:10:00.000Z"
    assert snapshot["max_total_tokens"] == 1000
    assert snapshot["started_at"] is None
    assert snapshot["finished_at"] is None
    assert snapshot["cancellation"] is None
    assert snapshot["accounting_deadline_utc"] is None


def test_the_caller_cannot_propose_a_journey_id(journey: Journeys) -> None:
    """Identity: journey_id is server-generated, opaque and immutable."""
    with refused("invalid_request"):
        call(journey.world(), "start", start_request(journey_id="mine"))


def test_two_journeys_of_one_sequence_have_two_identities(journey: Journeys) -> None:
    """Identity: workflow_sequence_id names the definition and journey_id the execution."""
    world = journey.world()
    first = journey.pending(world, idempotency_key="key-1")
    second = journey.pending(world, idempotency_key="key-2")
    assert first.id != second.id
    assert first.snapshot()["workflow_sequence_id"] == "solo"
    assert second.snapshot()["workflow_sequence_id"] == "solo"
    assert first.digest == second.digest


def test_the_old_names_of_the_identities_are_not_kept(journey: Journeys) -> None:
    """Identity: the ambiguous names are replaced, without aliases."""
    for alias in ("journey_key", "journey_instance_id"):
        with refused("invalid_request"):
            call(journey.world(), "start", start_request(**{alias: "solo"}))


def test_an_equal_start_returns_the_existing_handle(journey: Journeys) -> None:
    """Lifecycle And Race Precedence: duplicate start with scope, key and hash equal."""
    j = journey.pending()
    assert call(j.world, "start", start_request()) == {
        "journey_id": j.id,
        "definition_digest": j.digest,
    }
    assert j.version() == 1


def end_by_cancelling(j: Journey) -> None:
    j.cancel()
    j.sweep()


def pass_the_deadline(j: Journey) -> None:
    j.sweep_at(600_000)


@pytest.mark.parametrize("meanwhile", [end_by_cancelling, pass_the_deadline, Journey.restart])
def test_a_start_is_replayed_whatever_has_happened_since(journey: Journeys, meanwhile: Any) -> None:
    """Duplicate start returns the existing handle (ruling 2: whatever has happened since)."""
    j = journey.pending()
    meanwhile(j)
    before = j.snapshot()
    assert call(j.world, "start", start_request())["journey_id"] == j.id
    assert j.snapshot() == before


@pytest.mark.parametrize(
    "changed",
    [
        {"policy": policy(max_total_tokens=1001)},
        {"policy": policy(deadline_utc="2030-01-01T00:10:00.001Z")},
        {"policy": policy(max_task_attempt_starts=5)},
        {"entry": {"kind": "stage", "id": "Builder"}},
        {
            "workflow_sequence_id": "styled",
            "entry": {"kind": "entrypoint", "id": "styled_entry"},
        },
        {"initial_message": "Build me a shop."},
        {"initial_message": ""},
        {"semantic_references": [{"role": "semantic_graph", "reference": "graph@2"}]},
    ],
)
def test_a_key_with_changed_inputs_is_a_conflict(journey: Journeys, changed: Any) -> None:
    """Reusing a key with changed inputs fails with idempotency_conflict (message: ruling 43)."""
    j = journey.pending()
    with refused("idempotency_conflict") as caught:
        call(j.world, "start", start_request(**changed))
    assert caught.detail["journey_id"] == j.id  # ruling 25
    assert j.version() == 1


def test_the_conflict_is_found_before_the_sequence_is_looked_for(journey: Journeys) -> None:
    """A reused key fails with idempotency_conflict (ruling 2: conflict precedes validity)."""
    j = journey.pending()
    with refused("idempotency_conflict"):
        call(j.world, "start", start_request(workflow_sequence_id="nowhere"))


def test_the_same_key_of_another_tenant_is_another_journey(journey: Journeys) -> None:
    """A start is idempotent by its immutable creation scope together with the key."""
    j = journey.pending()
    other = journey.pending(j.world, access=access(tenant_id="globex"))
    assert other.id != j.id


def test_an_unknown_sequence_is_refused_and_persists_nothing(journey: Journeys) -> None:
    """Start resolves the named sequence from the authoritative registry before persisting."""
    world = journey.world()
    with refused("unknown_workflow_sequence"):
        call(world, "start", start_request(workflow_sequence_id="nowhere"))
    assert journey.pending(world).version() == 1  # the key is free


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "entrypoint", "id": "nowhere"},
        {"kind": "entrypoint", "id": "pair_entry"},
        {"kind": "stage", "id": "Designer"},
        {"kind": "stage", "id": "solo_entry"},
        {"kind": "entrypoint", "id": "Builder"},
    ],
)
def test_an_entry_outside_the_sequence_is_refused(journey: Journeys, entry: Any) -> None:
    """Start verifies that the entry reference belongs to the sequence, before persistence."""
    world = journey.world()
    with refused("invalid_entry"):
        call(world, "start", start_request(entry=entry, semantic_references=REFINEMENT))
    assert journey.pending(world).version() == 1  # the key is free


def test_a_public_caller_does_not_enter_by_a_stage(journey: Journeys) -> None:
    """A public entry uses an entrypoint; a stage is an internal refinement's (ruling 61)."""
    world = journey.world()
    with refused("invalid_entry"):
        call(world, "start", start_request(entry={"kind": "stage", "id": "Builder"}))
    assert journey.pending(world).version() == 1  # the key is free


def test_a_message_needs_an_entry_that_supports_one(journey: Journeys) -> None:
    """An initial user message, where supported (ruling 62)."""
    world = journey.world()
    with refused("initial_message_unsupported"):
        call(world, "start", start_request(initial_message="Build me a shop."))
    assert journey.pending(world).version() == 1  # the key is free


def test_a_declared_stage_is_an_entry(journey: Journeys) -> None:
    """An internal re-entry uses an entry stage declared by the named sequence."""
    stage = {"kind": "stage", "id": "Builder"}
    j = journey.running(entry=stage, semantic_references=REFINEMENT)
    assert j.snapshot()["current_stage"] == "Builder"


def test_there_is_no_second_transition_target(journey: Journeys) -> None:
    """Callers do not submit a second free-form transition target."""
    with refused("invalid_request"):
        call(journey.world(), "start", start_request(transition_target="Coder"))


STYLED: dict[str, Any] = {
    "workflow_sequence_id": "styled",
    "entry": {"kind": "entrypoint", "id": "styled_entry"},
}


@pytest.mark.parametrize(
    "choices",
    [
        [{"transition_id": "nowhere", "option_id": "plain"}],
        [{"transition_id": "unrelated", "option_id": "plain"}],
        [{"transition_id": "style", "option_id": "undeclared"}],
        [{"transition_id": "style", "option_id": "elsewhere"}],
        [
            {"transition_id": "style", "option_id": "plain"},
            {"transition_id": "style", "option_id": "fancy"},
        ],
    ],
)
def test_a_choice_outside_the_pinned_declaration_is_refused(
    journey: Journeys, choices: Any
) -> None:
    """Start validates every supplied route choice against the pinned transition declaration."""
    world = journey.world()
    with refused("invalid_route_choice"):
        call(world, "start", start_request(**STYLED, route_choices=choices))
    assert journey.pending(world, **STYLED).version() == 1  # the key is free


@pytest.mark.parametrize("option", ["plain", "fancy"])
def test_a_declared_choice_is_accepted_and_identifies_the_start(
    journey: Journeys, option: str
) -> None:
    """Supplied route choices are part of the request hash; later ones are not needed at start."""
    choices = [{"transition_id": "style", "option_id": option}]
    j = journey.pending(**STYLED, route_choices=choices)
    assert j.state() == ("pending", None)
    with refused("idempotency_conflict"):
        call(j.world, "start", start_request(**STYLED))


def test_a_missing_capability_refuses_the_start(journey: Journeys) -> None:
    """A start that needs an unadvertised capability fails closed, with bounded details."""
    world = journey.world(withheld=("accounting_settlement", "deadline_enforcement"))
    with refused("journey_execution_capability_unavailable") as caught:
        call(world, "start", start_request())
    assert caught.detail["missing"] == ["deadline_enforcement", "accounting_settlement"]


def test_storing_the_ceiling_is_not_enforcing_it(journey: Journeys) -> None:
    """Without shared token reservation no token-bounded execution is claimed: no start."""
    world = journey.world(withheld=("shared_token_reservation",))
    with refused("journey_execution_capability_unavailable") as caught:
        call(world, "start", start_request())
    assert caught.detail["missing"] == ["shared_token_reservation"]


def test_several_stages_need_durable_dispatch(journey: Journeys) -> None:
    """Required capabilities are derived from the policy and the pinned definition (ruling 39)."""
    world = journey.world(withheld=("durable_dispatch",))
    with refused("journey_execution_capability_unavailable") as caught:
        call(
            world,
            "start",
            start_request(
                workflow_sequence_id="chain", entry=TWO_STAGES, semantic_references=REFINEMENT
            ),
        )
    assert "durable_dispatch" in caught.detail["missing"]
    assert journey.pending(world).state() == ("pending", None)  # one stage does not need it


def test_a_deadline_already_past_is_accepted_and_expires(journey: Journeys) -> None:
    """A worker starting at or after the deadline times out first (ruling 7: the start stands)."""
    j = journey.pending(deadline_utc="2029-12-31T23:59:59.000Z")
    j.sweep()
    assert j.state() == ("timed_out", "deadline_expired")
    assert j.runs() == []


BAD_POLICIES: list[dict[str, Any]] = [
    {"max_total_tokens": 0},
    {"max_total_tokens": -1},
    {"max_total_tokens": 1.5},
    {"max_total_tokens": "1000"},
    {"max_total_tokens": True},
    {"max_total_tokens": None},
    {"max_total_tokens": 9_007_199_254_740_992},
    {"max_workflow_run_starts": 0},
    {"max_task_attempt_starts": 0},
    {"max_provider_retry_attempts": -1},
    {"max_structured_output_correction_attempts": -1},
    {"max_workflow_repair_starts": -1},
    {"max_app_refinement_starts": -1},
    {"cancellation_mode": "immediate"},
    {"cancellation_grace_seconds": 0},
    {"accounting_settlement_grace_seconds": 0},
    {"deadline_utc": "2030-01-01T00:10:00.000"},
    {"deadline_utc": "2030-01-01T02:10:00.000+02:00"},
    {"deadline_utc": "2030-01-01T00:10:00.0005Z"},  # ruling 32
    {"deadline_utc": None},
    {"partial_artifact_policy": {"on_non_success": "keep"}},
    {"partial_artifact_policy": {"on_non_success": "retain_until"}},
    {
        "partial_artifact_policy": {
            "on_non_success": "delete",
            "retain_until_utc": "2030-02-01T00:00:00.000Z",
        }
    },
    {"max_retry_repair_attempts": 3},
    {"max_cost_usd": 5},
]


@pytest.mark.parametrize("change", BAD_POLICIES, ids=str)
def test_a_policy_outside_its_schema_is_refused(journey: Journeys, change: Any) -> None:
    """The listing of JourneyExecutionPolicy; no combined retry limit, no monetary ceiling."""
    world = journey.world()
    with refused("invalid_request"):
        call(world, "start", start_request(policy=policy(**change)))
    assert journey.pending(world).version() == 1  # the key is free


@pytest.mark.parametrize(
    "change",
    [
        {"max_total_tokens": 1},
        {"max_total_tokens": 9_007_199_254_740_991},
        {"max_provider_retry_attempts": 0},
        {"max_structured_output_correction_attempts": 0},
        {"max_workflow_repair_starts": 0},
        {"max_app_refinement_starts": 0},
        {"max_workflow_run_starts": 1},
        {"max_task_attempt_starts": 1},
        {  # ruling 31: it may lie before the deadline
            "partial_artifact_policy": {
                "on_non_success": "retain_until",
                "retain_until_utc": "2030-01-01T00:00:01.000Z",
            }
        },
    ],
    ids=str,
)
def test_the_bounds_of_a_policy_are_accepted(journey: Journeys, change: Any) -> None:
    """Positive integers begin at 1, non-negative ones at 0."""
    assert journey.pending(**change).state() == ("pending", None)


def test_another_policy_version_is_refused(journey: Journeys) -> None:
    """An incompatible change needs a new schema version, and an unknown one fails closed."""
    other = policy(schema_version="mozaiks.journey_execution_policy.v2")
    with refused("unsupported_schema_version"):
        call(journey.world(), "start", start_request(policy=other))


def test_an_operation_outside_the_contract_is_refused(journey: Journeys) -> None:
    """The port has no operation to skip the lifecycle: an unknown one is refused."""
    j = journey.running()
    with refused("unknown_operation"):
        j.call("force_complete")
    assert j.state() == ("running", None)
