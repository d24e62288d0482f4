"""The families of the registry: what an edit changes for a start, and what it never changes for a
journey that is there."""

from collections.abc import Iterator
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


def _started_again(name: str, edit: Reconfigure) -> Draft:
    return draft(
        "registry",
        f"start again after an edit of {name}",
        start(SOLO),
        edit,
        start(SOLO),
        start(SOLO, idempotency_key="key-2"),
        family="idempotency",
    )
