import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conformance import stories

from wayproof.conformance.vectors import VECTORS, reader, stored
from wayproof.conformance.vectors.changes import (
    UnfittingChange,
    apply_changes,
    changes_between,
    value_at,
)
from wayproof.conformance.vectors.format import Vector
from wayproof.conformance.vectors.names import UnknownName, literal, referenced, substitute
from wayproof.conformance.vectors.reader import VectorProblem, parse_vector
from wayproof.conformance.vectors.schema import vector_schema
from wayproof.conformance.vectors.stored import read_vectors
from wayproof.conformance.vectors.suite import MANIFEST_FILE, find_suite, read_suite, write_suite
from wayproof.conformance.vectors.writer import vector_line
from wayproof.spec.journey.digests import canonical_json

META = VECTORS.parent / "meta" / "vectors"
ACCEPTED = sorted(META.glob("accept/*/*/*.jsonl"))
REJECTED: dict[str, Any] = json.loads((META / "reject" / "expected.json").read_bytes())

OF_THE_SCHEMA = {
    "missing",
    "unknown_field",
    "wrong_type",
    "wrong_form",
    "out_of_bounds",
    "not_allowed",
    "unsupported_format",
}
BEYOND_A_SCHEMA = {"no-such-day"}


def rejected_file(case: str) -> Path:
    (file,) = (META / "reject" / case).glob("*/*.jsonl")
    return file


@pytest.mark.parametrize("file", ACCEPTED, ids=lambda file: file.parts[-3])
def test_what_must_be_accepted_is(file: Path) -> None:
    vectors = read_vectors(file)
    lines = file.read_bytes().splitlines()
    assert [vector_line(vector) for vector in vectors] == lines


@pytest.mark.parametrize("case", REJECTED)
def test_what_must_be_rejected_is_at_its_place_and_with_its_code(case: str) -> None:
    file = rejected_file(case)
    with pytest.raises(VectorProblem) as caught:
        read_vectors(file)
    problem = caught.value
    told = {"code": problem.code, "line": problem.line, "pointer": problem.pointer}
    assert told == REJECTED[case]
    assert str(file) in str(problem)
    assert f"line {problem.line}" in str(problem)


def test_every_rejected_file_is_expected_and_every_code_is_shown() -> None:
    assert {path.name for path in (META / "reject").iterdir()} == {*REJECTED, "expected.json"}
    documented = set(re.findall(r"``([a-z0-9_]+)``", reader.__doc__ or ""))
    assert {entry["code"] for entry in REJECTED.values()} == documented - {"wrong_manifest"}


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in REJECTED
        if REJECTED[case]["code"] in OF_THE_SCHEMA and case not in BEYOND_A_SCHEMA
    ],
)
def test_the_published_schema_rejects_what_a_schema_can(case: str) -> None:
    document = json.loads(rejected_file(case).read_bytes())
    assert not jsonschema.Draft202012Validator(vector_schema()).is_valid(document)


def test_the_published_schema_accepts_what_the_reader_does() -> None:
    jsonschema.Draft202012Validator.check_schema(vector_schema())
    validator = jsonschema.Draft202012Validator(vector_schema())
    documents = [json.loads(line) for file in ACCEPTED for line in file.read_bytes().splitlines()]
    documents += [json.loads(vector_line(story)) for story in stories.STORIES]
    assert [error.message for d in documents for error in validator.iter_errors(d)] == []


@pytest.mark.parametrize("story", stories.STORIES, ids=lambda story: story.id)
def test_a_vector_survives_being_written_and_read(story: Any) -> None:
    assert parse_vector(vector_line(story)) == story


def test_a_suite_is_read_as_it_was_written_and_equal_bytes_come_of_equal_vectors(
    tmp_path: Path,
) -> None:
    manifest = write_suite(tmp_path / "one", stories.STORIES)
    write_suite(tmp_path / "two", reversed(stories.STORIES))
    held = sorted(stories.STORIES, key=lambda story: story.id)
    assert sorted(read_suite(tmp_path / "one"), key=lambda story: story.id) == held
    for file in (tmp_path / "one").rglob("*.json*"):
        assert (
            file.read_bytes()
            == (tmp_path / "two" / file.relative_to(tmp_path / "one")).read_bytes()
        )
    assert manifest.vectors == len(stories.STORIES)
    assert manifest.steps == sum(len(story.steps) for story in stories.STORIES)
    assert manifest.coverage.operations["reserve"] == 1
    assert manifest.coverage.refusals["journey_not_found"] == 1
    assert manifest.coverage.clauses["reservation-01"] == 1


def test_a_glob_selects_by_id(tmp_path: Path) -> None:
    write_suite(tmp_path, stories.STORIES)
    assert [vector.id for vector in read_suite(tmp_path, "hand/re*")] == [
        "hand/replayed/0001",
        "hand/reserved/0001",
    ]


def test_only_what_is_wanted_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_suite(tmp_path, stories.STORIES)
    lines: list[bytes] = []

    def parse(line: bytes) -> Vector:
        lines.append(line)
        return parse_vector(line)

    monkeypatch.setattr(stored, "parse_vector", parse)
    assert len(find_suite(tmp_path).vectors) == len(stories.STORIES)
    assert lines == []
    assert read_suite(tmp_path, "hand/child/0001") == (stories.CHILD,)
    assert lines == [vector_line(stories.CHILD)]


def test_reading_a_suite_tells_how_far_it_is(tmp_path: Path) -> None:
    write_suite(tmp_path, stories.STORIES)
    told: list[tuple[str, int, int]] = []
    read_suite(tmp_path, "hand/re*", lambda *progress: told.append(progress))
    assert told == [("reading vectors", 0, 2), ("reading vectors", 1, 2)]


def test_an_id_in_a_request_is_not_taken_for_the_vectors_own(tmp_path: Path) -> None:
    constants = {**stories.CHILD.config.constants, "decoy": {"id": "hand/child/0002"}}
    config = replace(stories.CHILD.config, constants=constants)
    write_suite(tmp_path, [replace(stories.CHILD, config=config)])
    assert [found.id for found in find_suite(tmp_path).vectors] == ["hand/child/0001"]
    (found,) = find_suite(tmp_path).vectors
    with pytest.raises(VectorProblem, match="line 1, /id: misplaced_id: hand/child/0001 stands"):
        replace(found, id="hand/child/0002").read()


def test_a_sketch_says_what_the_vector_is_about(tmp_path: Path) -> None:
    write_suite(tmp_path, stories.STORIES)
    held = {story.id: story for story in stories.STORIES}
    for found in find_suite(tmp_path).vectors:
        sketch = found.sketch()
        assert sketch.at_stake == held[found.id].at_stake
        assert sketch.labels == held[found.id].origin.labels


def test_writing_a_suite_removes_what_is_no_longer_in_it(tmp_path: Path) -> None:
    write_suite(tmp_path, stories.STORIES)
    write_suite(tmp_path, [stories.CHILD])
    assert [vector.id for vector in read_suite(tmp_path)] == ["hand/child/0001"]


@pytest.mark.parametrize("damage", ["changed", "added", "removed"])
def test_a_manifest_that_does_not_fit_its_files_is_found(tmp_path: Path, damage: str) -> None:
    write_suite(tmp_path, stories.STORIES)
    if damage == "changed":
        file = tmp_path / "hand" / "child.jsonl"
        file.write_bytes(file.read_bytes() * 2)
    elif damage == "added":
        (tmp_path / "hand" / "more.jsonl").write_bytes(b"{}\n")
    else:
        (tmp_path / "hand" / "late.jsonl").unlink()
    with pytest.raises(VectorProblem) as caught:
        read_suite(tmp_path)
    assert (caught.value.code, caught.value.file) == ("wrong_manifest", tmp_path / MANIFEST_FILE)


def test_a_suite_has_each_id_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one id"):
        write_suite(tmp_path, [stories.CHILD, stories.CHILD])


values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "$J", "~/"]),
    lambda inner: (
        st.lists(inner, max_size=12)
        | st.dictionaries(st.sampled_from(["a", "b", "~", "/", "0", "10"]), inner, max_size=4)
    ),
    max_leaves=30,
)


@given(values, values)
def test_changes_lead_from_one_state_to_the_other(before: Any, after: Any) -> None:
    before, after = {"J": before}, {"J": after}
    changes = changes_between(before, after)
    assert canonical_json(apply_changes(before, changes)) == canonical_json(after)
    assert (changes == {}) == (canonical_json(before) == canonical_json(after))


def test_a_number_is_no_truth_value_in_a_change() -> None:
    assert changes_between({"a": 1}, {"a": True}) == {"/a": True}
    assert changes_between({"a": 1}, {"a": 1.0}) == {"/a": 1.0}


def test_applying_changes_leaves_the_state_before_as_it_was() -> None:
    before = {"J": {"runs": [1]}}
    assert apply_changes(before, {"/J/runs/1": 2}) == {"J": {"runs": [1, 2]}}
    assert before == {"J": {"runs": [1]}}


@pytest.mark.parametrize("pointer", ["/K/runs", "/J/runs/2", "/J/runs/x", "/J/runs/0/y"])
def test_a_change_in_nothing_does_not_fit(pointer: str) -> None:
    with pytest.raises(UnfittingChange):
        apply_changes({"J": {"runs": [1]}}, {pointer: 0})


def test_ten_list_entries_are_added_in_their_order() -> None:
    numbers = list(range(12))
    changes = changes_between({"J": []}, {"J": numbers})
    assert apply_changes({"J": []}, dict(sorted(changes.items()))) == {"J": numbers}


@given(values)
def test_a_literal_value_is_sent_as_it_was_meant(value: Any) -> None:
    assert list(referenced(literal(value))) == []
    assert substitute(literal(value), {}) == value


def test_names_are_replaced_whole_and_unknown_ones_are_told() -> None:
    assert substitute({"to": ["$J", "x$J", "$$J"]}, {"J": {"id": 1}}) == {
        "to": [{"id": 1}, "x$J", "$J"]
    }
    assert substitute({"$number": "1.5"}, {}) == 1.5
    with pytest.raises(UnknownName, match=r"\$K"):
        substitute("$K", {"J": 1})


def test_what_stands_at_a_pointer() -> None:
    assert value_at({"a/b": [{"~": 1}]}, "/a~1b/0/~0") == 1
