"""Contracts of capabilities: what a start requires, and what happens where it is missing.

That they are advertised as a versioned set (capability-01), and that a seam says so
(capability-09), shows in a backend's introduction and in no step.
"""

from collections.abc import Mapping

from wayproof.model.journey.properties.contract import WorldStep, world_contract
from wayproof.model.journey.properties.starting import (
    BY_POLICY,
    created,
    meets_capabilities,
    missing_capabilities,
    refused_without_trace,
)
from wayproof.spec.journey.refusals import Refusal, RefusalCode


def _missing(step: WorldStep) -> list[str]:
    """What is missing to a start that nothing else refuses."""
    view = meets_capabilities(step)
    return [] if view is None else missing_capabilities(step, view)


def _detail(step: WorldStep) -> Mapping[str, object]:
    return step.reply.detail if isinstance(step.reply, Refusal) else {}


def _is_refused(step: WorldStep) -> bool:
    return refused_without_trace(step, RefusalCode.CAPABILITY_UNAVAILABLE)


@world_contract("capability-02")
def no_other_field_lowers_the_requirement(step: WorldStep) -> bool | None:
    """Whatever else a start says, it requires what policy and definition require."""
    if step.operation != "start" or not isinstance(step.arguments, dict):
        return None
    if not any(
        step.arguments.get(name)
        for name in ("initial_message", "route_choices", "semantic_references")
    ):
        return None
    missing = _missing(step)
    return _is_refused(step) and _detail(step) == {"missing": missing} if missing else None


@world_contract("capability-03")
def missing_capability_refuses_the_start(step: WorldStep) -> bool | None:
    """No journey comes into being, and the key stays free."""
    return _is_refused(step) if _missing(step) else None


@world_contract("capability-04")
def refusal_lists_what_is_missing(step: WorldStep) -> bool | None:
    """Exactly the missing names."""
    missing = _missing(step)
    return _detail(step) == {"missing": missing} if missing else None


@world_contract("capability-05")
def every_policy_requires_seven(step: WorldStep) -> bool | None:
    """A start without one of the seven is refused, and the refusal names it."""
    missing = [name for name in _missing(step) if name in BY_POLICY]
    if not missing:
        return None
    named = _detail(step).get("missing")
    return _is_refused(step) and isinstance(named, list) and set(missing) <= set(named)


@world_contract("capability-06")
def several_steps_require_dispatch(step: WorldStep) -> bool | None:
    """A definition of several steps, or with a transition step, requires durable_dispatch."""
    view = meets_capabilities(step)
    if view is None:
        return None
    steps = view["sequence"]["steps"]
    if len(steps) == 1 and steps[0]["transition"] is None:
        return None
    missing = missing_capabilities(step, view)
    if not missing:
        return created(step) is not None
    named = _detail(step).get("missing")
    return (
        _is_refused(step)
        and isinstance(named, list)
        and (("durable_dispatch" in named) == ("durable_dispatch" in missing))
    )
