"""The rulings are numbered without a gap, and whoever names one names one that exists."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import wayproof.spec.journey
from wayproof.spec.journey.rulings import Ruling, load_rulings

FOLDER = Path(next(iter(wayproof.spec.journey.__path__)))
NUMBERS = {ruling.number for ruling in load_rulings()}


def mentions(text: str) -> Iterator[int]:
    """The numbers in ``ruling 3``, ``rulings 3 and 4`` and ``rulings 3, 4``."""
    for found in re.finditer(r"\brulings? (\d+(?:(?:, | and )\d+)*)", text):
        yield from map(int, re.findall(r"\d+", found.group(1)))


def test_the_numbers_are_contiguous_from_one() -> None:
    assert [ruling.number for ruling in load_rulings()] == list(range(1, len(NUMBERS) + 1))


@pytest.mark.parametrize("ruling", load_rulings(), ids=lambda ruling: str(ruling.number))
def test_every_ruling_says_something(ruling: Ruling) -> None:
    assert ruling.title and not ruling.title.endswith(".")
    assert ruling.text.endswith(".")
    assert "  " not in ruling.text


def test_mentions_are_found_in_every_written_form() -> None:
    assert list(mentions("(ruling 2), rulings 3 and 14, 5; ruling N")) == [2, 3, 14, 5]


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.name)
def test_every_ruling_named_in_code_exists(path: Path) -> None:
    assert set(mentions(path.read_text("utf-8"))) <= NUMBERS


def test_every_ruling_named_by_another_ruling_exists() -> None:
    named = {number for ruling in load_rulings() for number in mentions(ruling.text)}
    assert named
    assert named <= NUMBERS


def test_every_ruling_named_by_a_clause_exists() -> None:
    clauses = tomllib.loads((FOLDER / "clauses.toml").read_text("utf-8"))["clause"]
    named = {number for clause in clauses for number in clause["rulings"]}
    assert named
    assert named <= NUMBERS
