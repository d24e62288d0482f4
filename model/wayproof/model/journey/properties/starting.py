"""What a start meets, read from its JSON arguments and the registry, apart from the model.

The closed view of a sequence, its digest and the order of a start's checks are written once more
here, so that contracts on starts do not lean on what they judge.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any, Final, Literal

from wayproof.model.journey.properties.contract import WorldStep
from wayproof.model.journey.properties.forms import Fault, faults
from wayproof.model.journey.world import Journey
from wayproof.spec.journey.definitions import Registry
from wayproof.spec.journey.digests import request_hash
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.requests import JourneyStartRequest

Scope = tuple[str, str, str | None, str | None]
"""Tenant, owner, workspace, build scope."""

BY_POLICY: Final = (
    "durable_lifecycle",
    "pinned_definition",
    "durable_observation",
    "deadline_enforcement",
    "cooperative_cancellation",
    "shared_token_reservation",
    "accounting_settlement",
)
"""What every policy of version 1 requires."""

IN_ORDER: Final = (
    "durable_lifecycle",
    "pinned_definition",
    "durable_observation",
    "durable_dispatch",
    "deadline_enforcement",
    "cooperative_cancellation",
    "shared_token_reservation",
    "accounting_settlement",
)
"""What a start can require, in the order of the published list."""

MALFORMED: Final = (
    RefusalCode.UNSUPPORTED_SCHEMA_VERSION,
    RefusalCode.INVALID_REQUEST,
    RefusalCode.UNSUPPORTED_CANCELLATION_REASON,
)
"""How decoding refuses."""


def refused_as_malformed(step: WorldStep) -> bool:
    """Whether decoding refused the request, and nothing changed."""
    return step.request is None and step.code in MALFORMED and step.after == step.before


def only_fault(step: WorldStep, is_meant: Callable[[Fault], bool]) -> bool:
    """Whether something is wrong with a request, and nothing but what is meant."""
    found = faults(step.operation, step.arguments)
    return bool(found) and all(map(is_meant, found))


def policy_of(step: WorldStep) -> dict[str, Any] | None:
    """The policy of a start, if it is an object."""
    if step.operation != "start" or not isinstance(step.arguments, dict):
        return None
    policy = step.arguments.get("policy")
    return policy if isinstance(policy, dict) else None


def is_well_formed_start(step: WorldStep) -> bool:
    """Whether the step is a start without a fault."""
    return step.operation == "start" and not faults("start", step.arguments)


def scope_of(access: dict[str, Any]) -> Scope:
    """The scope of a well-formed access."""
    return (
        access["tenant_id"],
        access["owner_id"],
        access.get("workspace_id"),
        access.get("build_scope_id"),
    )


def known_journey(step: WorldStep) -> Journey | None:
    """The journey that a well-formed start's scope and key already name."""
    scope, key = scope_of(step.arguments["access"]), step.arguments["idempotency_key"]
    for journey in step.before.journeys:
        if (journey.terms.creation_scope, journey.terms.idempotency_key) == (scope, key):
            return journey
    return None


def closed_view(registry: Registry, sequence_id: str) -> dict[str, Any] | None:
    """All that the execution of a sequence can depend on; None if the registry has no such."""
    declared = overlaid(encode(registry))
    sequence = next((s for s in declared["workflow_sequences"] if s["id"] == sequence_id), None)
    if sequence is None:
        return None
    entrypoints = [e for e in declared["entrypoints"] if e["sequence"] == sequence_id]
    transitions = {part["transition"] for part in (*entrypoints, *sequence["steps"])}
    members = {member for step in sequence["steps"] for member in step["workflows"]}
    sessions = {t["route_to"] for t in declared["transitions"] if t["id"] in transitions}
    return {
        "sequence": sequence,
        "entrypoints": _by_id(entrypoints),
        "transitions": _by_id([t for t in declared["transitions"] if t["id"] in transitions]),
        "workflows": _by_id([w for w in declared["workflows"] if w["id"] in members | sessions]),
    }


def overlaid(registry: dict[str, Any]) -> dict[str, Any]:
    """What a registry declares, once its overlays were laid over it one after the other."""
    declared = {
        name: {each["id"]: each for each in registry[name]}
        for name in ("workflows", "entrypoints", "transitions", "workflow_sequences")
    }
    for overlay in registry["overlays"]:
        for name, known in declared.items():
            known.update({each["id"]: each for each in overlay[name]})
    return {name: list(known.values()) for name, known in declared.items()}


def _by_id(declared: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(declared, key=lambda one: str(one["id"]))


def digest_of(view: dict[str, Any]) -> str:
    """The content digest of a closed view."""
    canonical = json.dumps(view, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def view_of(step: WorldStep) -> dict[str, Any] | None:
    """The closed view of the sequence that a well-formed start names."""
    return closed_view(step.before.registry, step.arguments["workflow_sequence_id"])


def repeats(step: WorldStep, journey: Journey) -> bool:
    """Whether a start that names a known journey asks for the same as its first start did."""
    if not isinstance(step.request, JourneyStartRequest):
        return False
    view = view_of(step)
    digest = None if view is None else digest_of(view)
    return request_hash(step.request, digest) == journey.request_hash


def stage_id(declared: dict[str, Any]) -> str:
    """The identity of one step of a closed view."""
    return str(declared["transition"] or "+".join(declared["workflows"]))


def refines(start: dict[str, Any]) -> bool:
    """Whether a start is a refinement of something."""
    references = start.get("semantic_references") or ()
    return any(each["role"] == "refinement_patch" for each in references)


def message_is_welcome(view: dict[str, Any], start: dict[str, Any]) -> bool:
    """Whether a start brings no initial message, or its entry accepts one."""
    entry = start["entry"]
    return start.get("initial_message") is None or any(
        entry == {"kind": "entrypoint", "id": declared["id"]}
        for declared in view["entrypoints"]
        if declared["accepts_initial_message"]
    )


def entry_belongs(view: dict[str, Any], entry: dict[str, Any]) -> bool:
    """Whether an entry names an entrypoint or a stage of the sequence."""
    if entry["kind"] == "entrypoint":
        return any(declared["id"] == entry["id"] for declared in view["entrypoints"])
    return any(stage_id(declared) == entry["id"] for declared in view["sequence"]["steps"])


RouteProblem = Literal[
    "foreign_transition", "unknown_option", "foreign_option", "chosen_twice", "leads_nowhere"
]


def route_problems(view: dict[str, Any], choices: list[dict[str, Any]]) -> set[RouteProblem]:
    """Everything that is wrong with the route choices of a start."""
    problems: set[RouteProblem] = set()
    transitions = {transition["id"]: transition for transition in view["transitions"]}
    chosen = [choice["transition_id"] for choice in choices]
    if len(set(chosen)) < len(chosen):
        problems.add("chosen_twice")
    for choice in choices:
        transition = transitions.get(choice["transition_id"])
        if transition is None:
            problems.add("foreign_transition")
            continue
        option = next((o for o in transition["options"] if o["id"] == choice["option_id"]), None)
        if option is None:
            problems.add("unknown_option")
        elif option["sequence"] not in (None, view["sequence"]["id"]):
            problems.add("foreign_option")
        elif leads_nowhere(view, transition["id"], option["route_to"]):
            problems.add("leads_nowhere")
    return problems


def leads_nowhere(view: dict[str, Any], transition_id: str, route_to: str | None) -> bool:
    """Whether an option routes to what no later step is, from a step that is its transition."""
    steps = view["sequence"]["steps"]
    places = [place for place, step in enumerate(steps) if step["transition"] == transition_id]
    return route_to is not None and any(
        all(route_to not in (s["transition"], *s["workflows"]) for s in steps[place + 1 :])
        for place in places
    )


def missing_capabilities(step: WorldStep, view: dict[str, Any]) -> list[str]:
    """What the start requires and the world does not advertise, in published order."""
    steps = view["sequence"]["steps"]
    needed = set(BY_POLICY)
    if len(steps) > 1 or steps[0]["transition"] is not None:
        needed.add("durable_dispatch")
    advertised = {capability.value for capability in step.before.capabilities}
    return [name for name in IN_ORDER if name in needed - advertised]


def meets_entry(step: WorldStep) -> dict[str, Any] | None:
    """The closed view, if a start is well formed, new, and of a known sequence."""
    if not is_well_formed_start(step) or known_journey(step) is not None:
        return None
    return view_of(step)


def meets_choices(step: WorldStep) -> dict[str, Any] | None:
    """The closed view, if a start gets as far as its route choices."""
    view = meets_entry(step)
    return view if view is not None and may_enter(view, step.arguments) else None


def may_enter(view: dict[str, Any], start: dict[str, Any]) -> bool:
    """Whether the entry of a start is one of the sequence, for whoever starts, with what it
    brings."""
    entry = start["entry"]
    return (
        entry_belongs(view, entry)
        and (entry["kind"] == "entrypoint" or refines(start))
        and message_is_welcome(view, start)
    )


def meets_capabilities(step: WorldStep) -> dict[str, Any] | None:
    """The closed view, if a start gets as far as the capabilities that it requires."""
    view = meets_choices(step)
    if view is None or route_problems(view, step.arguments.get("route_choices", [])):
        return None
    return view


def is_due_to_start(step: WorldStep) -> dict[str, Any] | None:
    """The closed view, if nothing refuses a start."""
    view = meets_capabilities(step)
    return view if view is not None and not missing_capabilities(step, view) else None


def created(step: WorldStep) -> Journey | None:
    """The one journey that the step added, if it did and the reply names it."""
    added = step.after.journeys[len(step.before.journeys) :]
    if len(added) != 1 or step.after.journeys[:-1] != step.before.journeys:
        return None
    named = getattr(step.answer, "journey_id", None)
    return added[0] if added[0].terms.journey_id == named else None


def refused_without_trace(step: WorldStep, code: RefusalCode) -> bool:
    """Whether a start was refused so, and nothing came into being."""
    return step.code is code and step.after == step.before
