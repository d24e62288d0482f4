"""How far a command has come is told on stderr: as a line that changes, or now and then."""

import io
from collections.abc import Iterable
from itertools import islice

import pytest

from wayproof.conformance.generate import (
    bounds,
    histories,
    neighbours,
    refusals,
    registries,
    starts,
    suite,
)
from wayproof.conformance.generate.selection import Candidate
from wayproof.conformance.progress import ProgressLine


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_on_a_terminal_the_line_changes_and_is_gone_at_the_end() -> None:
    stream, clock = Terminal(), Clock()
    with ProgressLine(stream, clock) as progress:
        progress("reading vectors", 0, 7)
        progress("reading vectors", 1, 7)  # too soon
        clock.now += 2
        progress("reading vectors", 5, 7)
        assert stream.getvalue() == (
            "\r\033[Kreading vectors: 0 of 7, 0 s\r\033[Kreading vectors: 5 of 7, 2 s"
        )
    assert stream.getvalue().endswith("\r\033[K")


def test_a_line_is_no_longer_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    stream = Terminal()
    ProgressLine(stream, Clock())("a stage with a long name", 1)
    assert stream.getvalue() == "\r\033[Ka stage with a long"


def test_elsewhere_plain_lines_come_late_and_seldom() -> None:
    stream, clock = io.StringIO(), Clock()
    with ProgressLine(stream, clock) as progress:
        for number in range(40):
            progress("telling stories", number)
            clock.now += 1
    assert stream.getvalue().splitlines() == [
        "telling stories: 3, 3 s",
        "telling stories: 18, 18 s",
        "telling stories: 33, 33 s",
    ]


def test_what_is_quick_says_nothing_where_nobody_watches() -> None:
    stream, clock = io.StringIO(), Clock()
    with ProgressLine(stream, clock) as progress:
        progress("reading vectors", 0, 1)
    assert stream.getvalue() == ""


def test_building_the_vectors_tells_its_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each stage the beginning, since the whole takes minutes."""
    told: list[tuple[object, ...]] = []

    def some(candidates: Iterable[Candidate]) -> list[Candidate]:
        return list(islice(candidates, 3))

    first = list(islice(starts.drafts(), 2))
    monkeypatch.setattr(suite, "select", some)
    for family in (registries, neighbours, bounds):
        monkeypatch.setattr(family, "drafts", lambda: [])
    monkeypatch.setattr(starts, "drafts", lambda: first)
    monkeypatch.setattr(histories, "histories", lambda: [])
    monkeypatch.setattr(refusals, "nearly_owners", lambda: [])
    monkeypatch.setattr(refusals, "unknown_operations", lambda: [])
    suite.build(lambda *progress: told.append(progress))
    assert told[:5] == [
        ("recording vectors", 0),
        ("recording vectors", 1),
        ("telling stories to select from", 0),
        ("telling stories to select from", 1),
        ("telling stories to select from", 2),
    ]
    assert told[5:] == [("recording vectors", number) for number in range(2, len(told) - 3)]
    assert len(told) > 5
