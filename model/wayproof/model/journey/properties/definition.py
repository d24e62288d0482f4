"""Contracts of the pinned definition: the content of the closed view, and nothing else."""

from dataclasses import replace
from typing import Any

from wayproof.model.journey.properties.contract import WorldStep, world_contract
from wayproof.model.journey.properties.sequence import wanted_at
from wayproof.model.journey.properties.starting import (
    closed_view,
    created,
    digest_of,
    is_due_to_start,
)
from wayproof.model.journey.world import Journey
from wayproof.spec.journey.definitions import Registry
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.records import JourneySnapshot, WorkflowRunsStarted
from wayproof.spec.journey.requests import BeginJourneyRequest, SnapshotRequest


def _pins(step: WorldStep, view: dict[str, Any]) -> bool:
    """Whether the start created a journey that pins this view."""
    journey = created(step)
    return (
        journey is not None
        and journey.terms.definition_digest == digest_of(view)
        and step.answer.definition_digest == digest_of(view)
        and encode(journey.terms.definition) == view
    )


@world_contract("definition-01")
def start_pins_the_content(step: WorldStep) -> bool | None:
    """A start pins, and answers, the digest of the resolved sequence's content."""
    view = is_due_to_start(step)
    return None if view is None else _pins(step, view)


@world_contract("definition-01")
def snapshot_shows_the_pinned_version(step: WorldStep) -> bool | None:
    """The snapshot shows the digest of what the journey pinned."""
    if not isinstance(step.request, SnapshotRequest) or not isinstance(
        step.answer, JourneySnapshot
    ):
        return None
    journey = step.before.find(step.request.journey_id)
    return journey is not None and step.answer.definition_digest == digest_of(
        encode(journey.terms.definition)
    )


@world_contract("definition-02")
def every_part_of_the_view_counts(step: WorldStep) -> bool | None:
    """Steps, transitions with their options, and dependencies all are in the digest."""
    view = is_due_to_start(step)
    if view is None or not (
        view["transitions"]
        or len(view["sequence"]["steps"]) > 1
        or any(workflow["dependencies"] for workflow in view["workflows"])
    ):
        return None
    return _pins(step, view)


@world_contract("definition-03")
def nothing_beside_the_view_counts(step: WorldStep) -> bool | None:
    """What the sequence does not refer to leaves its version alone."""
    view = is_due_to_start(step)
    if view is None or not _declares_more(step.before.registry, view):
        return None
    return _pins(step, view)


def _declares_more(registry: Registry, view: dict[str, Any]) -> bool:
    return (
        len(registry.workflow_sequences) > 1
        or len(registry.transitions) > len(view["transitions"])
        or len(registry.workflows) > len(view["workflows"])
    )


@world_contract("definition-04")
def order_of_declarations_does_not_count(step: WorldStep) -> bool | None:
    """Equal definitions pin equal versions, in whatever order the registry declares them."""
    registry = step.before.registry
    if step.operation != "start" or not any(
        [one.id for one in declared] != sorted(one.id for one in declared)
        for declared in (registry.entrypoints, registry.transitions, registry.workflows)
    ):
        return None
    view = is_due_to_start(step)
    return None if view is None else _pins(step, view)


@world_contract("definition-05")
def overlays_count(step: WorldStep) -> bool | None:
    """What an overlay changes of the sequence is pinned with it."""
    registry = step.before.registry
    view = is_due_to_start(step)
    if view is None or view == closed_view(
        replace(registry, overlays=()), step.arguments["workflow_sequence_id"]
    ):
        return None
    return _pins(step, view)


@world_contract("definition-06")
def presentation_does_not_count(step: WorldStep) -> bool | None:
    """What a registry carries only to be presented is left out, and nothing with it."""
    if step.operation != "reconfigure" or step.arguments == (bare := without(step.arguments)):
        return None
    left = encode(step.after.registry)
    names = ("workflows", "entrypoints", "transitions", "workflow_sequences")
    return left == without(left) and all(
        [one["id"] for one in left[name]] == [one["id"] for one in bare.get(name, ())]
        for name in names
    )


def without(written: Any) -> Any:
    """The same JSON without any ``ui`` or ``meta`` member."""
    if isinstance(written, list):
        return [without(part) for part in written]
    if isinstance(written, dict):
        return {k: without(v) for k, v in written.items() if k not in ("ui", "meta")}
    return written


def _is_edited(journey: Journey, registry: Registry) -> bool:
    """Whether the registry says something else of a journey's sequence than it pinned."""
    view = closed_view(registry, journey.terms.definition.sequence.id)
    return bool(view != encode(journey.terms.definition))


@world_contract("definition-07")
def edits_leave_journeys_alone(step: WorldStep) -> bool | None:
    """An edit of the registry, and a restart after one, change no journey."""
    if step.operation not in ("reconfigure", "restart") or not any(
        _is_edited(journey, step.after.registry) for journey in step.before.journeys
    ):
        return None
    return step.after.journeys == step.before.journeys


@world_contract("definition-07")
def journey_follows_what_it_pinned(step: WorldStep) -> bool | None:
    """After an edit a journey still shows, and begins with, what it pinned."""
    request = step.request
    if not isinstance(request, BeginJourneyRequest | SnapshotRequest):
        return None
    journey = step.before.find(request.journey_id)
    after = step.after.find(request.journey_id)
    if journey is None or after is None or not _is_edited(journey, step.before.registry):
        return None
    terms, answer = journey.terms, step.answer
    if isinstance(answer, JourneySnapshot):
        return bool(answer.definition_digest == terms.definition_digest)
    if not isinstance(answer, WorkflowRunsStarted) or journey.state.runs:
        return None
    pinned = wanted_at(terms, terms.entry_position)
    return [run.workflow_id for run in after.state.runs] == [run.workflow_id for run in pinned]


@world_contract("definition-08")
def semantic_references_do_not_count(step: WorldStep) -> bool | None:
    """A semantic-compiler reference changes neither version nor content of the sequence."""
    view = is_due_to_start(step)
    if view is None or not step.arguments.get("semantic_references"):
        return None
    return _pins(step, view)
