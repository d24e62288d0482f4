"""Every active white-box clause has tests, and they are there."""

from dataclasses import replace
from pathlib import Path

import pytest

from wayproof.conformance.evidence import chain
from wayproof.conformance.evidence.chain import Link, derive
from wayproof.conformance.evidence.tests import (
    EvidenceError,
    load_tests,
    missing_tests,
    parse_tests,
)
from wayproof.spec.journey.clauses import clauses

ROOT = Path(__file__).resolve().parents[2]
WHITE_BOX = {
    name
    for name, clause in clauses().items()
    if clause.observability == "white_box" and clause.status == "active"
}
ENTRY = '[[evidence]]\nclause = "deadline-15"\ntests = ["tests/a.py::test_b"]\n'


def test_every_active_white_box_clause_has_tests_and_no_other_has() -> None:
    assert set(load_tests()) == WHITE_BOX


def test_every_test_that_is_named_is_there() -> None:
    assert missing_tests(load_tests(), ROOT) == ()


@pytest.mark.parametrize(
    "named",
    [
        "tests/impl/test_deadlines.py::test_that_nobody_wrote",
        "tests/impl/test_nothing.py::test_that_nobody_wrote",
        "tests/impl/test_deadlines.py::derive",
        "tests/impl/elsewhere.py::ported",
    ],
)
def test_a_test_that_is_not_there_is_found(named: str) -> None:
    assert missing_tests({"deadline-15": (named,)}, ROOT) == (f"deadline-15: {named}",)


def test_a_white_box_clause_without_a_test_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    without = {name: tests for name, tests in load_tests().items() if name != "deadline-15"}
    monkeypatch.setattr(chain, "load_tests", lambda: without)
    assert "deadline-15: no test" in derive(()).problems
    monkeypatch.setattr(chain, "load_tests", lambda: {**load_tests(), "weather-01": ("a::b",)})
    assert "unknown clause weather-01" in derive(()).problems


def test_what_each_kind_of_clause_needs() -> None:
    clause = clauses()["deadline-15"]
    assert Link(clause=clause, tests=["a::b"]).gaps == ()
    assert Link(clause=replace(clause, status="planned")).gaps == ("planned",)
    assert Link(clause=replace(clause, observability="not_observable")).gaps == ()
    seen = Link(clause=replace(clause, observability="black_box"), tests=["a::b"])
    assert seen.gaps == ("no rule", "no property", "no vector")


@pytest.mark.parametrize(
    ("good", "bad", "problem"),
    [
        ("::test_b", "", "FILE::FUNCTION"),
        ("::test_b", "::B::test_b", "FILE::FUNCTION"),
        ('["tests/a.py::test_b"]', "[]", "FILE::FUNCTION"),
        ('clause = "deadline-15"\n', "", "nothing else"),
        (ENTRY, ENTRY + ENTRY, "stands twice"),
    ],
)
def test_a_fault_in_the_table_is_found(good: str, bad: str, problem: str) -> None:
    assert parse_tests(ENTRY) == {"deadline-15": ("tests/a.py::test_b",)}
    with pytest.raises(EvidenceError, match=problem):
        parse_tests(ENTRY.replace(good, bad, 1))
