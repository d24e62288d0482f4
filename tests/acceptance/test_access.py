"""Authorization by the immutable creation scope, on every operation and for ever."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.acceptance.defaults import access, start_request
from tests.acceptance.driver import Journey, Journeys, RefusedError, call, refused, tokens

EVERY_OPERATION: dict[str, Callable[[Journey], Any]] = {
    "snapshot": lambda j: j.snapshot(),
    "list_workflow_runs": lambda j: j.runs(),
    "terminal_outcome": lambda j: j.outcome(),
    "settled_result": lambda j: j.settled(),
    "list_reservations": lambda j: j.reservations(),
    "list_discrepancies": lambda j: j.discrepancies(),
    "cancel": lambda j: j.cancel(),
    "claim_lease": lambda j: j.claim_lease("lease-9"),
    "heartbeat": lambda j: j.heartbeat(1_000),
    "begin_journey": lambda j: j.begin(),
    "start_workflow_run": lambda j: j.start_run("op-9", "decomposition"),
    "finish_workflow_run": lambda j: j.finish(),
    "claim_attempt": lambda j: j.claim("op-8", "task_attempt_starts"),
    "complete_journey": lambda j: j.complete(),
    "fail_journey": lambda j: j.fail(),
    "reserve": lambda j: j.reserve("t2"),
    "transmit": lambda j: j.transmit("t1"),
    "renew_reservation": lambda j: j.renew("t1", 7_200_000),
    "report_unsent": lambda j: j.unsent("t1"),
    "report_response": lambda j: j.response("t1", 70),
    "report_ambiguity": lambda j: j.ambiguity("t1"),
}


def refusal_of(command: Callable[[Journey], Any], j: Journey) -> tuple[str, Any, int | None]:
    with pytest.raises(RefusedError) as caught:
        command(j)
    return caught.value.code, dict(caught.value.detail), caught.value.record_version


@pytest.mark.parametrize("operation", EVERY_OPERATION)
def test_a_stranger_learns_and_changes_nothing(journey: Journeys, operation: str) -> None:
    """Every operation authorizes against creation scope: foreign and unknown look alike."""
    j = journey.running()
    j.send("t1")
    before = j.snapshot()
    stranger = j.seen_by(tenant_id="globex")
    foreign = refusal_of(EVERY_OPERATION[operation], stranger)
    assert foreign == ("journey_not_found", {}, None)
    stranger.id = "no-such-journey"
    assert refusal_of(EVERY_OPERATION[operation], stranger) == foreign
    assert j.snapshot() == before
    assert j.reservation_state("t1") == "transmitted"


@pytest.mark.parametrize(
    "changed",
    [
        {"tenant_id": "globex"},
        {"owner_id": "oscar"},
        {"workspace_id": "w2"},
        {"workspace_id": None},
        {"build_scope_id": "b2"},
        {"build_scope_id": None},
    ],
    ids=str,
)
def test_every_part_of_the_creation_scope_must_match(
    journey: Journeys, changed: dict[str, Any]
) -> None:
    """Missing or mismatched identity fails closed, workspace and build scope included."""
    j = journey.pending(access=access(workspace_id="w1", build_scope_id="b1"))
    with refused("journey_not_found"):
        j.seen_by(**changed).snapshot()
    assert j.snapshot()["lifecycle_state"] == "pending"


def test_a_scope_is_not_widened_by_naming_more(journey: Journeys) -> None:
    """The creation scope is exact: naming a workspace that it lacks is refused (ruling 40)."""
    j = journey.pending()
    with refused("journey_not_found"):
        j.seen_by(workspace_id="w1").cancel()
    assert j.state() == ("pending", None)


def test_a_build_needs_no_application_id(journey: Journeys) -> None:
    """A raw build has a pre-app build scope, and no app_id to show."""
    j = journey.pending(access=access(build_scope_id="raw-build"))
    assert j.state() == ("pending", None)
    with refused("invalid_request"):
        j.seen_by(app_id="app-1").snapshot()


@pytest.mark.parametrize("missing", ["tenant_id", "owner_id", "schema_version"])
def test_an_access_without_identity_is_refused(journey: Journeys, missing: str) -> None:
    """Every operation presents an ExecutionAccess with an authoritative owner and tenant."""
    j = journey.pending()
    partial = {name: value for name, value in access().items() if name != missing}
    with refused("invalid_request"):
        call(j.world, "snapshot", {"access": partial, "journey_id": j.id})
    with refused("invalid_request"):
        call(j.world, "start", start_request(access=partial))
    with refused("invalid_request"):
        call(j.world, "snapshot", {"journey_id": j.id})


def test_other_identities_open_no_journey(journey: Journeys) -> None:
    """Run, key and sequence identities are distinct from journey_id."""
    j = journey.running()
    for other in (j.run, "key-1", "solo", "solo_entry", j.id + "x"):
        with refused("journey_not_found"):
            call(j.world, "snapshot", {"access": access(), "journey_id": other})


def test_access_rules_outlive_the_journey(journey: Journeys) -> None:
    """Authorization is the same after termination, settlement and restart."""
    j = journey.running()
    j.finish()
    j.complete()
    j.restart()
    assert j.settled()["accounting_status"] == "settled"
    stranger = j.seen_by(owner_id="oscar")
    for operation in ("snapshot", "terminal_outcome", "settled_result", "cancel"):
        assert refusal_of(EVERY_OPERATION[operation], stranger) == ("journey_not_found", {}, None)


def test_a_stranger_is_refused_before_the_deadline_is_looked_at(journey: Journeys) -> None:
    """Authorization precedes everything else (ruling 24), so nothing leaks."""
    j = journey.running()
    j.sweep_at(600_000)
    for operation in ("cancel", "finish_workflow_run", "reserve"):
        answer = refusal_of(EVERY_OPERATION[operation], j.seen_by(tenant_id="globex"))
        assert answer == ("journey_not_found", {}, None)


def test_a_replay_is_authorized_like_anything_else(journey: Journeys) -> None:
    """A stranger learns no recorded answer either."""
    j = journey.running()
    j.claim("op-1", "task_attempt_starts")
    stranger = j.seen_by(tenant_id="globex")
    with refused("journey_not_found"):
        stranger.claim("op-1", "task_attempt_starts")
    with refused("journey_not_found"):
        stranger.begin()


def test_two_tenants_share_nothing(journey: Journeys) -> None:
    """Stable operation, invocation and transmission ids live inside one journey (ruling 51)."""
    j = journey.running()
    k = journey.running(j.world, access=access(tenant_id="globex"))
    for each in (j, k):
        each.claim("op-1", "task_attempt_starts")
        each.send("t1", prompt=60, output=40, invocation="call-1")
    j.response("t1", 70)
    j.cancel()
    j.sweep_at(30_000)
    assert j.state() == ("cancelled", "caller_requested")
    assert k.state() == ("running", None)
    assert k.tokens() == tokens(reserved=100)
    assert k.claimed("task_attempt_starts") == 1
