"""Contracts of starts: what one must say, what refuses it, and what it leaves behind."""

from typing import Final

from wayproof.model.journey.properties.contract import WorldStep, world_contract
from wayproof.model.journey.properties.forms import Fault
from wayproof.model.journey.properties.starting import (
    created,
    entry_belongs,
    is_due_to_start,
    is_well_formed_start,
    known_journey,
    meets_entry,
    message_is_welcome,
    only_fault,
    overlaid,
    refines,
    refused_as_malformed,
    refused_without_trace,
    scope_of,
    stage_id,
    view_of,
)
from wayproof.model.journey.state import State
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.refusals import RefusalCode

_NEEDED: Final = frozenset(
    {"/access", "/idempotency_key", "/workflow_sequence_id", "/entry", "/policy"}
)
_WORDS_OF_ENTRY: Final = ("entry", "stage", "transition", "target")


@world_contract("start-01")
def incomplete_start_is_refused(step: WorldStep) -> bool | None:
    """A start that lacks access, key, sequence, entry or policy is refused."""
    if step.operation != "start" or not only_fault(
        step, lambda fault: fault.kind == "missing" and fault.pointer in _NEEDED
    ):
        return None
    return refused_as_malformed(step)


def _is_second_entry(fault: Fault) -> bool:
    if fault.pointer == "/entry":
        return fault.kind == "object"
    return fault.kind == "unknown" and any(word in fault.pointer for word in _WORDS_OF_ENTRY)


@world_contract("start-02")
def second_entry_is_refused(step: WorldStep) -> bool | None:
    """A start with several entries, or with a transition target of its own, is refused."""
    if step.operation != "start" or not only_fault(step, _is_second_entry):
        return None
    return refused_as_malformed(step)


@world_contract("start-03")
def unknown_sequence_or_entrypoint_is_refused(step: WorldStep) -> bool | None:
    """A start must name a sequence and an entrypoint that the registry holds."""
    if not is_well_formed_start(step) or known_journey(step) is not None:
        return None
    if view_of(step) is None:
        return refused_without_trace(step, RefusalCode.UNKNOWN_WORKFLOW_SEQUENCE)
    entry = step.arguments["entry"]
    if entry["kind"] == "stage" or _is_declared(step, entry["id"]):
        return None
    return refused_without_trace(step, RefusalCode.INVALID_ENTRY)


def _is_declared(step: WorldStep, entrypoint_id: str) -> bool:
    declared = overlaid(encode(step.before.registry))["entrypoints"]
    return any(known["id"] == entrypoint_id for known in declared)


@world_contract("start-04")
def entry_of_another_sequence_is_refused(step: WorldStep) -> bool | None:
    """An entrypoint or stage must belong to the sequence that the start names."""
    view = meets_entry(step)
    if view is None or entry_belongs(view, step.arguments["entry"]):
        return None
    entry = step.arguments["entry"]
    if entry["kind"] == "entrypoint" and not _is_declared(step, entry["id"]):
        return None
    return refused_without_trace(step, RefusalCode.INVALID_ENTRY)


@world_contract("start-05")
def stage_is_entered_by_a_refinement_only(step: WorldStep) -> bool | None:
    """A start that enters by a stage of the sequence, and refines nothing."""
    view = meets_entry(step)
    if view is None or not entry_belongs(view, step.arguments["entry"]):
        return None
    if step.arguments["entry"]["kind"] == "entrypoint" or refines(step.arguments):
        return None
    return refused_without_trace(step, RefusalCode.INVALID_ENTRY)


@world_contract("start-06")
def unwelcome_message_is_refused(step: WorldStep) -> bool | None:
    """A start with an initial message at an entry that accepts none."""
    view = meets_entry(step)
    if view is None or not entry_belongs(view, step.arguments["entry"]):
        return None
    stage = step.arguments["entry"]["kind"] == "stage"
    if (stage and not refines(step.arguments)) or message_is_welcome(view, step.arguments):
        return None
    return refused_without_trace(step, RefusalCode.INITIAL_MESSAGE_UNSUPPORTED)


@world_contract("start-07")
def refused_start_leaves_nothing(step: WorldStep) -> bool | None:
    """A refused start creates no journey, so its key stays free."""
    if step.operation != "start" or step.code is None:
        return None
    if is_well_formed_start(step) and known_journey(step) is not None:
        return None
    return step.after == step.before


@world_contract("start-08")
def started_journey_survives_restart(step: WorldStep) -> bool | None:
    """A journey that was only started is there, as it was, after the process has died."""
    fresh = [j for j in step.before.journeys if j.state.record_version == 1]
    if step.operation != "restart" or not fresh:
        return None
    return all(step.after.find(j.terms.journey_id) == j for j in fresh)


@world_contract("start-09")
def started_journey_is_pending(step: WorldStep) -> bool | None:
    """Right after start a journey is pending, without run, claim or reservation."""
    view = is_due_to_start(step)
    if view is None:
        return None
    journey = created(step)
    if journey is None:
        return False
    terms, entry = journey.terms, step.arguments["entry"]
    stages = [stage_id(declared) for declared in view["sequence"]["steps"]]
    position = stages.index(entry["id"]) if entry["kind"] == "stage" else 0
    return (
        journey.state == State()
        and terms.created_at == step.now
        and terms.entry_position == position
        and terms.creation_scope == scope_of(step.arguments["access"])
    )
