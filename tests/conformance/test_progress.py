"""How far a command has come is told on stderr: as a line that changes, or now and then."""

import io
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest
from tests.conformance import planted, stories
from typer.testing import CliRunner

from wayproof.conformance import progress as progress_module
from wayproof.conformance.cli import app
from wayproof.conformance.generate import (
    bounds,
    dispatches,
    histories,
    neighbours,
    refusals,
    registries,
    routes,
    staged,
    starts,
    suite,
)
from wayproof.conformance.generate import files as generated
from wayproof.conformance.generate.files import VECTOR_FOLDER
from wayproof.conformance.generate.selection import Candidate
from wayproof.conformance.mutants import catalogue
from wayproof.conformance.progress import Progress, ProgressLine
from wayproof.conformance.vectors import VECTORS
from wayproof.conformance.vectors.suite import find_suite, write_suite


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
    for family in (registries, neighbours, bounds, routes, dispatches):
        monkeypatch.setattr(family, "drafts", lambda: [])
    monkeypatch.setattr(starts, "drafts", lambda: first)
    monkeypatch.setattr(staged, "candidates", lambda: [])
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


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain lines come at once."""
    monkeypatch.setattr(progress_module, "SECONDS_BEFORE_PLAIN_LINES", 0)
    monkeypatch.setattr(progress_module, "SECONDS_BETWEEN_PLAIN_LINES", 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    write_suite(folder / "journey", stories.STORIES)
    return folder


def stages(*arguments: str) -> list[str]:
    """What the command says on stderr of the stages that it goes through, each once."""
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return list(dict.fromkeys(line.split(":")[0] for line in done.stderr.splitlines()))


@pytest.mark.usefixtures("impatient")
def test_every_command_that_takes_long_says_how_far_it_is(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = ("--vectors", str(folder))
    held = (planted.candidate(planted.REFUSES),)
    monkeypatch.setattr(catalogue, "candidates_of", lambda sets: held)
    assert stages("mutants", *at) == ["reading vectors", "playing on mutants"]
    assert stages("variants", "versions-*", "--fresh", "0", *at) == [
        "reading vectors",
        "playing on variants",
    ]
    assert stages("matrix") == ["looking through vectors"]
    assert stages("explore", "entry", "--bounds", "small") == ["exploring entry"]

    def files(progress: Progress) -> dict[Path, bytes]:
        progress("telling stories", 3)
        return {VECTOR_FOLDER / "journey/manifest.json": b"{}"}

    monkeypatch.setattr(generated, "vector_files", files)
    assert stages("vectors", "build", "--root", str(tmp_path)) == ["telling stories"]
    place = tmp_path / VECTOR_FOLDER / "journey"
    write_suite(place, [found.read() for found in find_suite(VECTORS / "journey").vectors[:2]])
    assert stages("vectors", "verify", "--root", str(tmp_path)) == [
        "reading vectors",
        "playing on model",
        "playing on sqlite",
    ]
