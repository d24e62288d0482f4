"""Contracts of route choices: only what the pinned sequence offers may be chosen at start."""

from wayproof.model.journey.properties.contract import WorldStep, world_contract
from wayproof.model.journey.properties.starting import (
    RouteProblem,
    created,
    is_due_to_start,
    meets_choices,
    refused_without_trace,
    route_problems,
)
from wayproof.spec.journey.refusals import RefusalCode


def _refused_for(step: WorldStep, problem: RouteProblem) -> bool | None:
    """Whether a start whose choices have this problem and no other was refused."""
    if step.operation != "start" or not isinstance(step.arguments, dict):
        return None
    choices = step.arguments.get("route_choices")
    view = meets_choices(step) if choices else None
    if view is None or route_problems(view, step.arguments["route_choices"]) != {problem}:
        return None
    return refused_without_trace(step, RefusalCode.INVALID_ROUTE_CHOICE)


@world_contract("route-01")
def foreign_transition_is_refused(step: WorldStep) -> bool | None:
    """A choice for a transition that the sequence does not refer to."""
    return _refused_for(step, "foreign_transition")


@world_contract("route-02")
def unknown_option_is_refused(step: WorldStep) -> bool | None:
    """A choice of an option that its transition does not declare."""
    return _refused_for(step, "unknown_option")


@world_contract("route-03")
def foreign_option_is_refused(step: WorldStep) -> bool | None:
    """A choice of an option that belongs to another sequence."""
    return _refused_for(step, "foreign_option")


@world_contract("route-02")
def option_that_leads_nowhere_is_refused(step: WorldStep) -> bool | None:
    """A choice of an option that leads back, or out of the sequence."""
    return _refused_for(step, "leads_nowhere")


@world_contract("route-04")
def second_choice_is_refused(step: WorldStep) -> bool | None:
    """Two choices for one transition."""
    return _refused_for(step, "chosen_twice")


@world_contract("route-05")
def choices_may_come_later(step: WorldStep) -> bool | None:
    """A sequence with transitions can be started without any choice."""
    view = is_due_to_start(step)
    if view is None or not view["transitions"] or step.arguments.get("route_choices"):
        return None
    return created(step) is not None
