"""The chain from clause to verdict is derived rightly, and its gaps are found."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wayproof.conformance.cli import app
from wayproof.conformance.evidence import explanations
from wayproof.conformance.evidence.chain import Chain, derive
from wayproof.conformance.evidence.explanations import clauses_about, explanation_of, timeline
from wayproof.conformance.vectors import VECTORS
from wayproof.conformance.vectors.format import Vector
from wayproof.conformance.vectors.stored import Sketch, SketchedStep
from wayproof.conformance.vectors.suite import find_suite
from wayproof.model.journey.transition import RULES, Rule
from wayproof.spec.journey.clauses import clauses
from wayproof.spec.journey.operations import OPERATIONS


@pytest.fixture(scope="module")
def vectors() -> tuple[Vector, ...]:
    return tuple(stored.read() for stored in find_suite(VECTORS / "journey").vectors[::5])


@pytest.fixture(scope="module")
def chain() -> Chain:
    return derive(stored.sketch() for stored in find_suite(VECTORS / "journey").vectors)


def test_only_planned_clauses_are_open(chain: Chain) -> None:
    assert [problem for problem in chain.problems if not problem.endswith(": planned")] == []


def test_every_link_of_an_observable_clause_is_there(chain: Chain) -> None:
    link = chain.links["deadline-07"]
    assert "refused.deadline_expired" in link.rules
    assert link.properties and link.vectors and not link.gaps


def test_a_clause_without_a_vector_is_found(vectors: tuple[Vector, ...]) -> None:
    def without(clause: str, vector: Vector) -> Vector:
        steps = tuple(
            replace(step, clauses=tuple(c for c in step.clauses if c != clause))
            for step in vector.steps
        )
        clauses = tuple(c for c in vector.clauses if c != clause)
        return replace(vector, steps=steps, clauses=clauses or ("observe-12",))

    bare = derive(without("deadline-07", vector) for vector in vectors)
    assert "deadline-07: no vector" in bare.problems


def test_an_unknown_clause_is_found(vectors: tuple[Vector, ...]) -> None:
    strange = replace(vectors[0], clauses=("weather-01",))
    assert "unknown clause weather-01" in derive([strange]).problems


def test_a_rule_without_a_clause_is_found(
    vectors: tuple[Vector, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = Rule(label="idle.rule", clauses=(), source=timeline)
    monkeypatch.setitem(RULES, "idle.rule", idle)
    assert "rule idle.rule realises no clause" in derive(vectors[:1]).problems


@pytest.mark.parametrize("name", ["deadline-07", "20", "reserve", "reserve.granted", "fenced"])
def test_names_are_explained(name: str) -> None:
    explanation = explanation_of(name)
    assert explanation is not None and explanation.text


def test_every_operation_and_rule_is_explained_by_its_clauses() -> None:
    explained = CliRunner().invoke(app, ["explain", "transmit"])
    assert explained.exit_code == 0
    for effect in OPERATIONS["transmit"].effects:
        assert effect.split(":")[0] in explained.stdout.replace("\n", " ")


def test_a_vector_is_told_step_by_step(vectors: tuple[Vector, ...]) -> None:
    told = list(timeline(vectors[0]))
    assert len(told) == len(vectors[0].steps)


def test_a_refusal_is_explained_by_its_sentence_and_its_clauses() -> None:
    explained = CliRunner().invoke(app, ["explain", "fenced"])
    assert "The fencing token is not the one that the operation needs." in explained.stdout
    assert "lease-04: A worker's command, " in explained.stdout


def test_a_name_without_a_rule_is_explained_by_what_its_steps_are_about() -> None:
    explanation = explanation_of("lease_held")
    assert explanation is not None
    assert any(fact.startswith("lease-01: ") for fact in explanation.facts["Clauses"])
    steps = SketchedStep(clauses=("a-01", "a-02"), outcome={"err": {"code": "weather"}})
    other = SketchedStep(clauses=("a-03",), outcome={"ok": None})
    sketch = Sketch(id="a/b/0001", at_stake=("a-01",), labels=(), steps=(steps, other))
    assert clauses_about("weather", [], [sketch]) == ["a-01", "a-02"]


def test_what_a_vector_does_not_have_is_not_shown() -> None:
    found = find_suite(VECTORS / "journey").vectors
    free = next(stored.id for stored in found if not stored.read().rests_on)
    explained = CliRunner().invoke(app, ["explain", free])
    assert explained.exit_code == 0
    assert "Timeline" in explained.stdout and "Rests on rulings" not in explained.stdout


@pytest.mark.parametrize("name", ["deadline-07", "reserve.granted", "fenced", "race/order/0001"])
def test_the_vectors_that_are_named_are_those_of_a_strict_reading(name: str) -> None:
    explanation = explanation_of(name)
    assert explanation is not None
    told = explanation.facts.get("Vectors", [])[:-1]
    stored = {found.id: found for found in explanations.stored_vectors()}
    for vector in (stored[shown].read() for shown in told):
        labels = [label for labels in vector.origin.labels for label in labels.split("+")]
        codes = str(vector.steps)
        assert name in (*vector.at_stake, *labels) or f"'{name}'" in codes


def test_unreadable_vectors_are_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanations, "VECTORS", tmp_path)
    explanations.stored_vectors.cache_clear()
    result = CliRunner().invoke(app, ["explain", "race/order/0001"])
    explanations.stored_vectors.cache_clear()
    assert (result.exit_code, result.stdout) == (3, "")
    assert "manifest.json" in result.stderr


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("deadline-7", "deadline-07"),
        ("fencd", "fenced"),
        ("reserve.grantd", "reserve.granted"),
        ("race/ordr/0001", "race/order/0001"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_closest(name: str, meant: str) -> None:
    result = CliRunner().invoke(app, ["explain", name])
    assert result.exit_code == 2
    assert f"Did you mean {meant}" in result.stderr


def test_what_nobody_knows_is_said_to_be_unknown() -> None:
    result = CliRunner().invoke(app, ["explain", "weather"])
    assert result.exit_code == 2
    assert "'weather'. `wayproof matrix`" in result.stderr


def test_strict_fails_while_clauses_are_planned() -> None:
    assert CliRunner().invoke(app, ["matrix"]).exit_code == 0
    assert CliRunner().invoke(app, ["matrix", "--strict"]).exit_code == 1


def test_only_gaps_are_told_if_only_they_are_wanted() -> None:
    result = CliRunner().invoke(app, ["matrix", "--gaps", "--json"])
    told = json.loads(result.stdout)["clauses"]
    assert told and all(clause["gaps"] for clause in told)
    whole = json.loads(CliRunner().invoke(app, ["matrix", "--json"]).stdout)["clauses"]
    assert [clause for clause in whole if clause["gaps"]] == told != whole


def test_nothing_is_folded_where_no_terminal_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    printed = CliRunner().invoke(app, ["matrix"]).stdout
    for clause in clauses().values():
        assert clause.text in printed
    assert "# wayproof/model" in CliRunner().invoke(app, ["explain", "reserve.granted"]).stdout
    narrow = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["matrix"]).stdout
    assert max(map(len, narrow.splitlines())) <= 80
