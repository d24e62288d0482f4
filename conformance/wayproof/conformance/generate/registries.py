"""The families of the registry: what an edit changes for a start, and what it never changes for a
journey that is there."""

from collections.abc import Callable, Iterator
from typing import Any

from wayproof.conformance.generate.menus import Scope, start
from wayproof.conformance.generate.scripts import Draft, Reconfigure, Restart, owned
from wayproof.conformance.generate.settings import REGISTRY
from wayproof.conformance.generate.starts import ALL, BEGIN, SOLO, draft


def drafts() -> Iterator[Draft]:
    """Every story about an edit of the registry."""

    def edited(**changes: Any) -> Reconfigure:
        return Reconfigure({**ALL.registry, **changes})

    def with_sequence(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {**s, "steps": steps} if s["id"] == "solo" else s
            for s in REGISTRY["workflow_sequences"]
        ]

    relevant = {
        "the sequence's steps": edited(
            workflow_sequences=with_sequence([{"workflows": ["Aside"]}])
        ),
        "an option of its transition": edited(
            transitions=[
                {**t, "options": [*t["options"], {"id": "bold"}]} if t["id"] == "style" else t
                for t in REGISTRY["transitions"]
            ]
        ),
        "its workflow's dependencies": edited(
            workflows=[
                {**w, "dependencies": ["Aside"]} if w["id"] == "Draft" else w
                for w in ALL.registry["workflows"]
            ]
        ),
        "its entrypoints": edited(
            entrypoints=[e for e in REGISTRY["entrypoints"] if e["id"] != "solo_side_entry"]
        ),
        "itself, away": edited(
            workflow_sequences=[s for s in REGISTRY["workflow_sequences"] if s["id"] != "solo"]
        ),
    }
    for name, edit in relevant.items():
        yield _started_again(name, edit)
        yield draft(
            "pinned",
            f"a journey goes on after an edit of {name}",
            start(SOLO),
            edit,
            Restart(),
            *BEGIN,
            owned("snapshot"),
            family="route",
        )
        yield draft(
            "pinned",
            f"a journey keeps its own definition after an edit of {name} and another start",
            start(SOLO),
            edit,
            start(SOLO, idempotency_key="key-2"),
            *BEGIN,
            owned("list_workflow_runs"),
            family="route",
        )
    irrelevant = {
        "another sequence": edited(
            workflow_sequences=[
                {**s, "steps": [{"workflows": ["Draft"]}]} if s["id"] == "pair" else s
                for s in REGISTRY["workflow_sequences"]
            ]
        ),
        "another transition": edited(
            transitions=[t for t in REGISTRY["transitions"] if t["id"] != "size"]
        ),
        "another workflow": edited(workflows=ALL.registry["workflows"][:1]),
        "the order of everything": edited(
            **{name: list(reversed(part)) for name, part in ALL.registry.items()}
        ),
    }
    pair = Scope(sequence="pair")
    yield draft(
        "registry",
        "start of a pair again after an edit of the order of everything",
        start(pair),
        irrelevant["the order of everything"],
        start(pair),
        start(pair, idempotency_key="key-2"),
        *BEGIN,
        family="idempotency",
    )
    for name, edit in irrelevant.items():
        yield _started_again(name, edit)
    yield from _overlays(edited)
    yield from _presented(edited)


def _overlays(edited: Callable[..., Reconfigure]) -> Iterator[Draft]:
    steps = [{"workflows": ["Aside"]}]
    solo = {"workflow_sequences": [{"id": "solo", "steps": steps}]}
    pair = {"workflow_sequences": [{"id": "pair", "steps": steps}]}
    back = {"workflow_sequences": [s for s in REGISTRY["workflow_sequences"] if s["id"] == "solo"]}
    style = {"transitions": [{"id": "style", "options": [{"id": "plain"}, {"id": "bold"}]}]}
    entry = {"entrypoints": [{"id": "third_entry", "sequence": "solo"}]}
    overlays: dict[str, list[dict[str, Any]]] = {
        "its sequence": [solo],
        "another sequence": [pair],
        "its sequence, and then as it was": [solo, back],
        "its transition": [style],
        "one more of its entrypoints": [entry],
        "nothing": [{}],
    }
    for name, laid in overlays.items():
        yield _started_again(f"overlay of {name}", edited(overlays=laid), family="route")
        yield draft(
            "overlays",
            f"what is started under an overlay of {name} begins with it",
            edited(overlays=laid),
            start(SOLO),
            *BEGIN,
            owned("list_workflow_runs"),
            family="route",
        )
    yield draft(
        "overlays",
        "an entrypoint and an option that an overlay adds",
        edited(overlays=[style, entry]),
        start(SOLO, route_choices=[{"transition_id": "style", "option_id": "bold"}]),
        start(SOLO, idempotency_key="key-2", entry={"kind": "entrypoint", "id": "third_entry"}),
        start(
            SOLO,
            idempotency_key="key-3",
            route_choices=[{"transition_id": "style", "option_id": "rich"}],
        ),
        family="route",
    )


def _presented(edited: Callable[..., Reconfigure]) -> Iterator[Draft]:
    junk: dict[str, Any] = {
        "label": "Draft \u2728",
        "icons": [None, True, {"deep": {"er": []}}],
    }
    presented = {
        name: [{**part, "ui": junk, "meta": {"by": "nobody"}} for part in declared]
        for name, declared in ALL.registry.items()
    }
    presented["transitions"] = [
        {**t, "options": [{**o, "ui": junk} for o in t.get("options", ())]}
        if t.get("options")
        else t
        for t in presented["transitions"]
    ]
    for name, edit in {
        "what only presents, everywhere": edited(**presented, ui=junk, meta=[]),
        "what only presents, of the registry": edited(meta={"pack": 3}),
        "its name and version": edited(pack_name="pack-1", version=3),
    }.items():
        yield _started_again(name, edit, family="route")


def _started_again(name: str, edit: Reconfigure, family: str = "idempotency") -> Draft:
    return draft(
        "registry",
        f"start again after an edit of {name}",
        start(SOLO),
        edit,
        start(SOLO),
        start(SOLO, idempotency_key="key-2"),
        family=family,
    )
