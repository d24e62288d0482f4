"""``verify_suite`` reads and plays what is on disk, and says what does not hold."""

from dataclasses import replace
from pathlib import Path

from tests.conformance import stories

from wayproof.conformance.generate.verify import verify_suite
from wayproof.conformance.progress import Progress
from wayproof.conformance.vectors.format import CallStep, Vector
from wayproof.conformance.vectors.suite import write_suite


def silent(*_: object) -> None:
    pass


def problems(folder: Path, *vectors: Vector) -> list[str]:
    write_suite(folder, vectors)
    progress: Progress = silent
    return verify_suite(folder, progress, silent)


def test_what_was_written_by_hand_holds_though_it_names_no_rules(tmp_path: Path) -> None:
    assert all(not story.origin.labels for story in stories.STORIES)
    assert problems(tmp_path, *stories.STORIES) == []


def test_a_story_that_is_told_twice_is_found(tmp_path: Path) -> None:
    again = stories.story("again/0001", *stories.RESERVED.steps)
    (problem,) = problems(tmp_path, stories.RESERVED, again)
    assert problem == f"told twice: {again.id}, {stories.RESERVED.id}"


def test_a_story_that_neither_reading_tells_is_found(tmp_path: Path) -> None:
    *before, last = stories.RESERVED.steps
    assert isinstance(last, CallStep) and last.version == "same"
    spoilt = stories.story("spoilt/0001", *before, replace(last, version="raised"))
    found = problems(tmp_path, spoilt)
    assert [problem.split(":")[0] for problem in found] == [
        f"{spoilt.id} on model",
        f"{spoilt.id} on sqlite",
    ]


def test_a_broken_file_is_a_problem(tmp_path: Path) -> None:
    write_suite(tmp_path, stories.STORIES)
    file = next(tmp_path.rglob("*.jsonl"))
    file.write_bytes(b"{}\n")
    (problem,) = verify_suite(tmp_path, silent, silent)
    assert file.name in problem
