"""The chain from clause to verdict is derived rightly, and its gaps are found."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from wayproof.conformance.cli import app
from wayproof.conformance.evidence.chain import Chain, derive
from wayproof.conformance.evidence.explanations import explanation_of, timeline
from wayproof.conformance.vectors import VECTORS
from wayproof.conformance.vectors.format import Vector
from wayproof.conformance.vectors.suite import read_suite
from wayproof.model.journey.transition import RULES, Rule
from wayproof.spec.journey.operations import OPERATIONS


@pytest.fixture(scope="module")
def vectors() -> tuple[Vector, ...]:
    return read_suite(VECTORS / "journey")[::5]


@pytest.fixture(scope="module")
def chain() -> Chain:
    return derive(read_suite(VECTORS / "journey"))


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


def test_what_nobody_knows_is_said_to_be_unknown() -> None:
    result = CliRunner().invoke(app, ["explain", "weather"])
    assert result.exit_code == 2
    assert "weather" in result.stderr


def test_strict_fails_while_clauses_are_planned() -> None:
    assert CliRunner().invoke(app, ["matrix"]).exit_code == 0
    assert CliRunner().invoke(app, ["matrix", "--strict"]).exit_code == 1
