"""The pinned definition: its version, and its independence of every later registry."""

from typing import Any

from tests.acceptance.defaults import REFINEMENT, REGISTRY, start_request
from tests.acceptance.driver import Journeys, call, refused

STYLED: dict[str, Any] = {
    "workflow_sequence_id": "styled",
    "entry": {"kind": "entrypoint", "id": "styled_entry"},
}


def altered(**lists: Any) -> dict[str, Any]:
    """The usual registry with some of its lists replaced."""
    return {**REGISTRY, **lists}


PARALLEL = altered(
    workflow_sequences=[{"id": "solo", "steps": [{"workflows": ["Builder", "Coder"]}]}]
)
"""The one-member sequence has two members here, and all others are gone."""


def test_the_snapshot_shows_the_pinned_version(journey: Journeys) -> None:
    """The definition is pinned by content digest; a registry schema number is no version."""
    j = journey.pending()
    assert j.snapshot()["definition_digest"] == j.digest
    assert j.digest != "3"


def test_the_pinned_version_covers_the_closed_view_and_no_more(journey: Journeys) -> None:
    """The digest covers the sequence with the transitions and dependencies that it refers to."""
    digest = journey.pending().digest
    only_others = altered(
        workflow_sequences=[s for s in REGISTRY["workflow_sequences"] if s["id"] != "chain"],
        transitions=[t for t in REGISTRY["transitions"] if t["id"] != "unrelated"],
    )
    assert journey.pending(journey.world(only_others)).digest == digest
    dependency = altered(
        workflows=[
            {"id": "Builder", "dependencies": ["Designer"]},
            {"id": "Designer"},
            {"id": "Coder"},
        ]
    )
    assert journey.pending(journey.world(dependency)).digest != digest
    assert journey.pending(journey.world(PARALLEL)).digest != digest


def test_a_changed_option_changes_the_pinned_version(journey: Journeys) -> None:
    """All referenced transition declarations are pinned, options included."""
    more = altered(
        transitions=[{"id": "style", "options": [{"id": "plain"}]}, *REGISTRY["transitions"][1:]]
    )
    first = journey.pending(**STYLED)
    second = journey.pending(journey.world(more), **STYLED)
    assert first.digest != second.digest


def test_a_journey_keeps_the_sequence_that_it_pinned(journey: Journeys) -> None:
    """The persisted definition is authoritative: a later registry edit alters no journey."""
    j = journey.pending()
    j.world.reconfigure(PARALLEL)
    j.restart()
    j.claim_lease()
    j.begin()
    assert [run["workflow_id"] for run in j.runs()] == ["Builder"]
    assert j.snapshot()["definition_digest"] == j.digest
    j.finish()
    j.complete()
    assert j.state() == ("completed", "journey_completed")


def test_a_journey_outlives_its_sequence(journey: Journeys) -> None:
    """The persisted definition is authoritative, also when the registry has forgotten it."""
    j = journey.running()
    j.world.reconfigure(altered(workflow_sequences=[], entrypoints=[]))
    repairable = j.start_run("op-1", "decomposition")
    j.finish("failed", run=repairable)
    j.finish(run=j.start_run("op-2", "repair", parent=repairable))
    j.finish()
    j.complete()
    assert j.state() == ("completed", "journey_completed")


def test_a_later_start_pins_the_later_registry(journey: Journeys) -> None:
    """Start resolves the sequence from the registry as it is, and pins that."""
    j = journey.pending()
    j.world.reconfigure(PARALLEL)
    k = journey.running(
        j.world,
        idempotency_key="key-2",
        entry={"kind": "stage", "id": "Builder+Coder"},
        semantic_references=REFINEMENT,
    )
    assert k.digest != j.digest
    assert [run["workflow_id"] for run in k.runs()] == ["Builder", "Coder"]


def test_a_start_repeated_after_an_edit_is_a_conflict(journey: Journeys) -> None:
    """The request hash includes the resolved digest (ruling 25: the detail names the journey)."""
    j = journey.pending()
    j.world.reconfigure(PARALLEL)
    with refused("idempotency_conflict") as caught:
        call(j.world, "start", start_request())
    assert caught.detail["journey_id"] == j.id
    assert j.version() == 1
    j.world.reconfigure(REGISTRY)
    assert call(j.world, "start", start_request())["journey_id"] == j.id


def test_an_edit_elsewhere_is_no_conflict(journey: Journeys) -> None:
    """Only the closed view of the named sequence is pinned and hashed."""
    j = journey.pending()
    j.world.reconfigure(
        altered(workflow_sequences=[s for s in REGISTRY["workflow_sequences"] if s["id"] == "solo"])
    )
    assert call(j.world, "start", start_request())["journey_id"] == j.id


def test_semantic_references_pin_nothing(journey: Journeys) -> None:
    """The semantic compiler may reference a sequence, and may not redefine it (ruling 33)."""
    plain = journey.pending()
    referring = journey.pending(
        semantic_references=[{"role": "compilation_plan", "reference": "plan@7;steps=none"}]
    )
    assert referring.digest == plain.digest
    for wrong in (
        {"role": "compilation_plan", "reference": 7},
        {"role": "something_else", "reference": "x"},
        {"role": "compilation_plan", "reference": "x" * 257},
    ):
        with refused("invalid_request"):
            call(plain.world, "start", start_request(semantic_references=[wrong]))
