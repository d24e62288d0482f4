"""Cases of the definition digest: a registry and a sequence, and the closed view of it."""

import json
from collections.abc import Iterator
from typing import Any, Final

from wayproof.conformance.golden.cases import Case, entry
from wayproof.conformance.vectors.changes import apply_changes
from wayproof.spec.journey.definitions import resolve_definition
from wayproof.spec.journey.digests import canonical_json, definition_digest
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.registries import decode_registry

SEQUENCE: Final = "shop"

REGISTRY: Final[dict[str, Any]] = {
    "workflows": [
        {"id": "Plan"},
        {"id": "Build", "dependencies": ["Plan", "Design"]},
        {"id": "Other"},
    ],
    "entrypoints": [
        {
            "id": "shop_entry",
            "sequence": "shop",
            "transition": "style",
            "accepts_initial_message": True,
        },
        {"id": "Shop_side_entry", "sequence": "shop"},
        {"id": "blog_entry", "sequence": "blog"},
    ],
    "transitions": [
        {"id": "style", "options": [{"id": "rich", "sequence": "shop"}, {"id": "plain"}]},
        {"id": "unused", "options": [{"id": "plain"}]},
    ],
    "workflow_sequences": [
        {"id": "shop", "steps": [{"workflows": ["Plan", "Build"]}]},
        {"id": "blog", "steps": [{"workflows": ["Other"]}]},
    ],
}

_SAME: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    (
        "declarations in another order",
        "The lists of the closed view are sorted by id.",
        {f"/{name}": declared[::-1] for name, declared in REGISTRY.items()},
    ),
    (
        "absent members written as null or empty",
        "The closed view has every member: an absent one is null, an absent list is empty.",
        {
            "/workflows/0/dependencies": [],
            "/entrypoints/1/transition": None,
            "/transitions/0/options/1/sequence": None,
            "/workflow_sequences/0/steps/0/transition": None,
        },
    ),
    (
        "another sequence changed",
        "What the sequence does not depend on is no part of it.",
        {"/workflow_sequences/1/steps": [{"workflows": ["Plan"]}], "/transitions/1/id": "u"},
    ),
    (
        "what only presents",
        "ui and meta may hold anything, wherever they stand.",
        {
            "/ui": {"title": "Shops"},
            "/workflows/0/meta": [1, None],
            "/transitions/0/options/0/ui": "red",
            "/workflow_sequences/0/steps/0/meta": {},
        },
    ),
    (
        "an overlay of another sequence",
        "Overlays count by what they leave of the sequence.",
        {
            "/overlays": [
                {"workflow_sequences": [{"id": "blog", "steps": [{"workflows": ["Plan"]}]}]}
            ]
        },
    ),
)

_OTHER: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    (
        "members of a step in another order",
        "Parallel members have ordinals, so their order counts.",
        {"/workflow_sequences/0/steps/0/workflows": ["Build", "Plan"]},
    ),
    (
        "dependencies in another order",
        "The order within a declaration is kept.",
        {"/workflows/1/dependencies": ["Design", "Plan"]},
    ),
    (
        "options in another order",
        "The order within a declaration is kept.",
        {"/transitions/0/options": REGISTRY["transitions"][0]["options"][::-1]},
    ),
    (
        "an overlay of one of its workflows",
        "The whole declaration is replaced.",
        {"/overlays": [{"workflows": [{"id": "Build"}]}, {}]},
    ),
    (
        "a startup mode",
        "It is execution's, and part of it.",
        {"/workflows/0/startup_mode": "chat"},
    ),
    (
        "a message accepted at the side entry",
        "What an entry takes is part of it.",
        {"/entrypoints/1/accepts_initial_message": True},
    ),
    (
        "an option that sets a variable and leads elsewhere",
        "Options are part of it with all that they do.",
        {
            "/transitions/0/options/1/context_variables": [{"name": "n", "value": "v"}],
            "/transitions/0/options/1/route_to": "Build",
        },
    ),
    (
        "a dependency more",
        "The dependencies of the sequence's workflows are part of it.",
        {"/workflows/0/dependencies": ["Design"]},
    ),
    (
        "an entrypoint more",
        "Every entrypoint into the sequence is part of it.",
        {"/entrypoints/2/sequence": "shop"},
    ),
    (
        "a transition as a second step",
        "A transition that a step names is part of it, and a step without workflows has none.",
        {"/workflow_sequences/0/steps/1": {"transition": "unused"}},
    ),
)


def definition_entries() -> Iterator[dict[str, Any]]:
    """Every case of a definition digest."""
    base = Case(
        name="base",
        why="The sequence with its entrypoints, the transition of one, and its workflows.",
        text=json.dumps(REGISTRY),
    )
    yield _entry(base)
    reordered = json.dumps(_reversed_members(REGISTRY))
    yield _entry(
        Case(
            name="members in another order",
            why="The order of members in the registry says nothing.",
            text=reordered,
            same_as="base",
        )
    )
    for name, why, changes in _SAME:
        yield _entry(Case(name=name, why=why, text=_changed(changes), same_as="base"))
    for name, why, changes in _OTHER:
        yield _entry(Case(name=name, why=why, text=_changed(changes), differs_from="base"))


def _entry(case: Case) -> dict[str, Any]:
    view = resolve_definition(decode_registry(json.loads(case.text)), SEQUENCE)
    if view is None:
        raise LookupError(f"the registry of {case.name} has no {SEQUENCE}")
    canonical = canonical_json(encode(view))
    return entry(case, canonical, sequence=SEQUENCE, digest=definition_digest(view))


def _changed(changes: dict[str, Any]) -> str:
    return json.dumps(apply_changes(REGISTRY, changes))


def _reversed_members(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _reversed_members(value[name]) for name in reversed(value)}
    return [_reversed_members(part) for part in value] if isinstance(value, list) else value
