"""Registry files: what is read of them, what is left out, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from wayproof.spec.journey import registries
from wayproof.spec.journey.definitions import (
    Registry,
    required_capabilities,
    resolve_definition,
)
from wayproof.spec.journey.digests import definition_digest
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.registries import decode_registry, read_registry
from wayproof.spec.journey.vocabulary import Capability

EXAMPLE = Path(__file__).parents[2] / "examples" / "registry.json"


def digest(registry: Registry, sequence: str = "build") -> str:
    definition = resolve_definition(registry, sequence)
    assert definition is not None
    return definition_digest(definition)


def written() -> Any:
    return json.loads(EXAMPLE.read_bytes())


def test_the_example_is_a_build_of_ten_stages() -> None:
    registry = read_registry(EXAMPLE.read_bytes())
    definition = resolve_definition(registry, "build")
    assert definition is not None
    assert [step.stage_id for step in definition.sequence.steps] == [
        "app_type_selector",
        "ValueEngine",
        "ThemeCapture",
        "coding_journey_selector",
        "database_setup_selector",
        "DesignDocs",
        "SubscriptionContractDesigner",
        "AgentGenerator",
        "AppGenerator",
        "app_review",
    ]
    assert "AppReview" in {workflow.id for workflow in definition.workflows}
    assert "BrownfieldScanner" not in {workflow.id for workflow in definition.workflows}
    assert Capability.DURABLE_DISPATCH in required_capabilities(definition)


def test_what_only_presents_is_left_out_and_bounded() -> None:
    registry = written()
    plain = digest(decode_registry(registry))
    for declared in ("workflows", "entrypoints", "transitions", "workflow_sequences"):
        for each in registry[declared]:
            each["ui"] = {"any": [None, 1.5, {"thing": True}]}
            each["meta"] = "x"
    registry["workflow_sequences"][0]["steps"][0]["ui"] = 1
    assert digest(decode_registry(registry)) == plain
    registry["transitions"][0]["options"][0]["meta"] = "x" * 70_000
    with pytest.raises(Refusal) as refused:
        decode_registry(registry)
    assert refused.value.detail == {
        "pointer": "/transitions/0/options/0/meta",
        "problem": "too_large",
    }


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        (("surplus",), ""),
        (("workflows", 1, "surplus"), "/workflows/1"),
        (("transitions", 0, "options", 1, "surplus"), "/transitions/0/options/1"),
    ],
)
def test_every_other_unknown_member_is_refused_where_it_is(
    path: tuple[Any, ...], pointer: str
) -> None:
    registry = written()
    place = registry
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = "a secret"
    with pytest.raises(Refusal) as refused:
        decode_registry(registry)
    assert refused.value.detail == {"pointer": pointer, "problem": "unknown_field"}
    assert "secret" not in str(refused.value)


def test_a_file_that_says_one_thing_twice_is_no_registry() -> None:
    for text in (b'{"version": 3, "version": 3}', b"{", b"\xff", b"[" * 100_000):
        with pytest.raises(Refusal) as refused:
            read_registry(text)
        assert refused.value.detail["problem"] == "not_json"


def test_a_file_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registries, "MAXIMUM_REGISTRY_BYTES", 10)
    with pytest.raises(Refusal) as refused:
        read_registry(EXAMPLE.read_bytes())
    assert refused.value.detail["problem"] == "too_large"


def test_an_overlay_replaces_whole_declarations_in_order() -> None:
    registry = written()
    plain = digest(decode_registry(registry))
    sequence = {"id": "build", "steps": [{"workflows": ["ValueEngine"]}]}
    unrelated = {"id": "concept_patch", "steps": [{"workflows": ["AppGenerator"]}]}
    original = next(s for s in registry["workflow_sequences"] if s["id"] == "build")

    def overlaid(*overlays: dict[str, Any]) -> str:
        return digest(decode_registry({**registry, "overlays": list(overlays)}))

    assert overlaid({"workflow_sequences": [unrelated]}) == plain
    assert overlaid({"workflow_sequences": [sequence]}) != plain
    assert overlaid({"workflow_sequences": [sequence]}, {"workflow_sequences": [original]}) == plain
    assert overlaid({"meta": 1, "workflow_sequences": [{**original, "ui": 2}]}) == plain
