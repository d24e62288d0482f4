import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.conformance import stories, told
from tests.conformance.fakes import Lacking, Raises, Spoilt, Unavailable, WrongCode, WrongState

from wayproof.conformance.report import html, junit, markdown, matrix, ndjson
from wayproof.conformance.report.known import KnownFailure
from wayproof.conformance.report.lifecycle import PLACES, lines
from wayproof.conformance.report.ndjson import (
    Record,
    Recorder,
    ResultsProblem,
    read_report,
    record_line,
)
from wayproof.conformance.report.results import Report, Times
from wayproof.conformance.run.check import Begun, Check
from wayproof.conformance.run.player import play
from wayproof.conformance.run.verdict import Result, Verdict
from wayproof.conformance.vectors.suite import write_suite
from wayproof.spec.journey.vocabulary import LIFECYCLE_TRANSITIONS, LifecycleState

WAYPROOF = Path(sys.executable).with_name("wayproof")
ROOT = Path(__file__).parents[2]
FORMATS = ("--html", "--junit", "--markdown")


def wayproof(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [WAYPROOF, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every report of one real check of a wrong backend."""
    folder = tmp_path_factory.mktemp("run")
    write_suite(folder / "vectors" / "journey", stories.STORIES)
    backend = "python:tests.conformance.fakes:WrongState"
    files = [part for name in ("--ndjson", *FORMATS) for part in (name, folder / name[2:])]
    done = wayproof(
        "check", "--vectors", folder / "vectors", "--backend", backend, "--fresh", 3, "--seed", 4,
        *files,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    return folder


def lines_of(report: Report) -> list[bytes]:
    records: list[Record] = [report.header, *report.entries, report.times, report.end]
    return [record_line(record) for record in records]


@pytest.fixture
def written(tmp_path: Path) -> list[bytes]:
    return lines_of(told.report_on(WrongState()))


def problem(file: Path, lines: list[bytes]) -> ResultsProblem:
    file.write_bytes(b"".join(lines))
    with pytest.raises(ResultsProblem) as caught:
        read_report(file)
    return caught.value


# From one document


def test_rendering_the_results_gives_the_bytes_that_check_wrote(run: Path, tmp_path: Path) -> None:
    files = [part for name in FORMATS for part in (name, tmp_path / name[2:])]
    done = wayproof("report", "render", run / "ndjson", *files)
    assert (done.returncode, done.stderr) == (0, "")
    for name in FORMATS:
        made = (tmp_path / name[2:]).read_bytes()
        assert made == (run / name[2:]).read_bytes()
        assert len(made) > 500


def test_equal_results_give_equal_files_but_for_the_times() -> None:
    results = told.judged(WrongState())
    one = told.report_of(results, WrongState().hello(), seconds=1)
    again = told.report_of(results[::-1], WrongState().hello(), seconds=70)
    assert lines_of(one) != lines_of(again)
    other = replace(again, times=one.times)
    assert lines_of(one) == lines_of(other)
    for document in (html.html_document, junit.junit_document, markdown.markdown_document):
        assert document(again) != document(one) == document(other)


@pytest.mark.parametrize(
    ("document", "place"),
    [
        (html.html_document, r'<dd id="times">.*</dd>'),
        (lambda report: junit.junit_document(report).decode(), r' time="[^"]*"'),
        (markdown.markdown_document, r"<sub>.*</sub>"),
    ],
)
def test_times_stand_in_one_place(document: Any, place: str) -> None:
    report = told.report_on(WrongState())
    late = Times(finished="2031-02-03T04:05:06.000Z", milliseconds=987_654)
    one, another = document(report), document(replace(report, times=late))
    assert len(re.findall(place, one)) == 1
    assert one != another
    assert re.sub(place, "", one) == re.sub(place, "", another)


# NDJSON


def test_results_stand_in_the_order_of_their_ids_between_header_and_end(run: Path) -> None:
    records = [json.loads(line) for line in (run / "ndjson").read_bytes().splitlines()]
    kinds = [record["record"] for record in records]
    results = [record for record in records if record["record"] == "result"]
    assert kinds == ["header", *["result"] * len(results), "times", "end"]
    ids = [record["id"] for record in results]
    assert ids == sorted(ids) and len(ids) == len(stories.STORIES) + 3
    assert {f"fresh/{seed}" for seed in (4, 5, 6)} < set(ids)
    assert records[-1]["counts"]["pass"] == sum(r["verdict"] == "pass" for r in results)
    assert (records[-1]["exit_code"], records[0]["seed"]) == (1, 4)


def test_a_failure_is_told_whole(run: Path) -> None:
    report = read_report(run / "ndjson")
    failed = next(entry for entry in report.entries if entry.id == "hand/reserved/0001")
    assert failed.divergence is not None and failed.story is not None
    (place,) = failed.divergence.differences
    assert place.pointer == "/J/snapshot/tokens/reserved_tokens"
    assert (place.before, place.expected, place.observed) == (0, 30, 31)
    assert [step.action for step in failed.story.steps][-1] == failed.divergence.action
    assert len(failed.story.steps) + failed.story.unplayed == len(stories.RESERVED.steps)
    assert failed.replay.endswith("--only hand/reserved/0001")
    told_again = wayproof(*failed.replay.split()[1:], "--fresh", 0)
    assert "observed  31" in told_again.stdout


def test_the_rule_of_the_model_is_named_with_its_place(run: Path) -> None:
    entries = read_report(run / "ndjson").entries
    fresh = [e for e in entries if e.id.startswith("fresh/") and e.divergence]
    rules = [rule for entry in fresh if entry.divergence for rule in entry.divergence.rules]
    assert rules, "no fresh sequence fails: another seed is needed"
    for rule in rules:
        file, _, line = rule.place.partition(":")
        source = (ROOT / "model" / file).read_text(encoding="utf-8").splitlines()
        assert f'"{rule.label}"' in "\n".join(source[int(line) - 1 : int(line) + 8]), rule


def test_each_result_is_written_when_its_turn_comes() -> None:
    file = io.BytesIO()
    recorder = Recorder(file)
    begun = Begun(
        hello=Spoilt().hello(),
        contract="journey/1",
        ids=("a/a/0001", "a/a/0002", "b/b/0001"),
        fresh=0,
        seed=None,
        replay="",
    )

    def seen() -> list[str]:
        return re.findall(r'"id":"([^"]*)"', file.getvalue().decode())

    def hear(name: str) -> None:
        recorder.hear(Result(id=name, title="t", verdict=Verdict.PASS), None)

    recorder.begin(Check(backend="model"), begun)
    assert b'"header"' in file.getvalue()
    hear("b/b/0001")
    hear("a/a/0002")
    assert seen() == []
    hear("a/a/0001")
    assert seen() == ["a/a/0001", "a/a/0002", "b/b/0001"]


def test_a_report_reads_as_it_was_written(tmp_path: Path, written: list[bytes]) -> None:
    file = tmp_path / "results"
    file.write_bytes(b"".join(written))
    assert lines_of(read_report(file)) == written


def test_a_run_that_was_cut_off_is_refused(tmp_path: Path, written: list[bytes]) -> None:
    for length in range(1, len(written)):
        assert problem(tmp_path / "cut", written[:length]).code == "no_end"
    assert problem(tmp_path / "cut", [written[0], written[1][:-40]]).code == "not_json"
    assert problem(tmp_path / "cut", []).code == "no_end"
    for command in (("diff", tmp_path / "cut", tmp_path / "cut"), ("render", tmp_path / "cut")):
        done = wayproof("report", *command, *(["--html", "/dev/null"] * (command[0] == "render")))
        assert done.returncode == 2
        assert "cut, line 1: no_end: the end is missing" in done.stderr


@pytest.mark.parametrize(
    ("code", "line", "spoil"),
    [
        ("no_header", 1, lambda lines: lines[1:]),
        ("out_of_order", 3, lambda lines: [lines[0], lines[2], lines[1], *lines[3:]]),
        ("out_of_order", 3, lambda lines: [lines[0], lines[1], *lines[1:]]),
        ("out_of_order", 2, lambda lines: [lines[0], *lines]),
        ("out_of_order", None, lambda lines: [*lines, lines[-1]]),
        ("wrong_counts", None, lambda lines: [*lines[:2], *lines[3:]]),
        ("not_utf8", 2, lambda lines: [lines[0], b"\xff" + lines[1], *lines[2:]]),
        ("not_json", 2, lambda lines: [lines[0], b"{", *lines[1:]]),
        ("bad_record", 2, lambda lines: [lines[0], b'{"record":"remark"}\n', *lines[1:]]),
        ("bad_record", 2, lambda lines: [lines[0], lines[1].replace(b'"title"', b'"tit"')]),
        ("bad_record", 2, lambda lines: [lines[0], lines[1].replace(b'"pass"', b'"passed"')]),
        ("unsupported_format", 1, lambda lines: [lines[0].replace(b"1.0", b"9.0"), *lines[1:]]),
    ],
)
def test_what_is_no_results_document_is_refused(
    tmp_path: Path, written: list[bytes], code: str, line: int | None, spoil: Any
) -> None:
    found = problem(tmp_path / "spoilt", spoil(written))
    assert found.code == code
    assert line in (None, found.line)


# JUnit


def junit_of(report: Report) -> ElementTree.Element:
    return ElementTree.fromstring(junit.junit_document(report))


def test_junit_has_a_suite_for_each_topic_and_counts_right() -> None:
    root = junit_of(told.report_on(WrongState()))
    assert root.get("name", "").endswith("does not conform: it breaks the contract (1 vector)")
    suites = {suite.get("name"): suite for suite in root}
    assert set(suites) == {"/".join(v.id.split("/")[:2]) for v in stories.STORIES} | {"hand/scoped"}
    for name, tag in {"failures": "failure", "errors": "error", "skipped": "skipped"}.items():
        found = len(root.findall(f".//{tag}"))
        assert int(root.get(name, "")) == sum(int(s.get(name, "")) for s in root) == found
    assert (
        int(root.get("tests", "")) == len(root.findall(".//testcase")) == len(stories.STORIES) + 1
    )
    (failure,) = suites["hand/reserved"].iterfind("testcase/failure")
    assert failure.get("type") == "state"
    assert "observed  31" in (failure.text or "")
    assert "reservation-01" in failure.get("message", "")
    (skipped,) = suites["hand/scoped"].iterfind("testcase/skipped")
    assert "needs" in skipped.get("message", "")


@pytest.mark.parametrize(("backend", "verdict"), [(Raises, "harness-fault"), (Unavailable, "unde")])
def test_what_could_not_be_judged_is_an_error_in_junit(backend: Any, verdict: str) -> None:
    errors = junit_of(told.report_on(backend())).findall(".//error")
    assert errors
    assert all(error.get("message", "").startswith(verdict) for error in errors)


def test_a_declared_failure_does_not_make_junit_red_and_a_stale_one_does() -> None:
    declared = [KnownFailure(vector="hand/reserved/*", reason="we know")]
    root = junit_of(told.report_on(WrongState(), declared))
    assert (root.get("failures"), root.get("skipped")) == ("0", "2")
    assert (
        "known-fail: we know"
        in junit.junit_document(told.report_on(WrongState(), declared)).decode()
    )
    stale = junit_of(told.report_on(Spoilt(), declared))
    assert stale.get("failures") == "1"


def test_junit_holds_nothing_that_xml_cannot() -> None:
    text = junit.junit_document(told.report_on(told.Hostile())).decode()
    root = ElementTree.fromstring(text)
    assert "\\x00\\x1b[31m\\x0b\\ufffe" in root.get("name", "")
    assert not re.search("[\x00-\x08\x0b-\x1f\ufffe\uffff]", text)
    assert "<script>" not in text


# Markdown


def test_markdown_begins_with_the_verdict_and_ends_with_what_failed() -> None:
    first, *rest = markdown.markdown_document(told.report_on(WrongState())).splitlines()
    assert first == "❌ **model journey/1 does not conform: it breaks the contract (1 vector)**"
    assert markdown.markdown_document(told.report_on(Spoilt())).startswith("✅ **")
    assert markdown.markdown_document(told.report_on(Lacking())).startswith("⚠️ **")
    page = "\n".join(rest)
    rows = [line for line in rest if line.startswith("| **")]
    assert rows and all(re.fullmatch(r"\| .* \|( [\d·]+ \|){5}", row) for row in rows)
    assert page.count("<details>") == page.count("</details>") == 1
    assert "<summary>fail: hand/reserved/0001" in page
    assert "left out" not in page


def test_markdown_is_no_longer_than_a_comment_may_be() -> None:
    (failed,) = told.report_on(WrongState()).having(Verdict.FAIL)
    many = tuple(
        replace(failed, id=f"hand/reserved/{n:04d}", message="x" * 2900) for n in range(100)
    )
    report = replace(told.report_on(WrongState()), entries=many)
    page = markdown.markdown_document(report)
    assert len(page) <= 65_536
    left_out = re.search(r"^\*\*(\d+) more were left out", page, re.MULTILINE)
    assert left_out is not None
    assert int(left_out[1]) + page.count("<details>") == 100
    assert page.count("<details>") > 15


def test_markdown_shows_one_failure_of_each_clause_before_a_second() -> None:
    (failed,) = told.report_on(WrongState()).having(Verdict.FAIL)
    assert failed.divergence is not None
    other = replace(failed, id="z/z/0001", divergence=replace(failed.divergence, clauses=("z-01",)))
    ordered = matrix.spread([failed, replace(failed, id="i/i/0001"), other])
    assert [entry.id for entry in ordered] == ["hand/reserved/0001", "z/z/0001", "i/i/0001"]


def test_markdown_lets_nothing_out_of_its_place() -> None:
    page = markdown.markdown_document(told.report_on(told.Hostile()))
    first = page.splitlines()[0]
    assert first.startswith("❌ **&lt;/script&gt;") and first.endswith("**")
    assert "@everyone" not in first
    outside = re.sub(r"^(`{3,})text\n.*?\n\1$", "", page, flags=re.MULTILINE | re.DOTALL)
    assert outside.count("<details>") == outside.count("</details>") > 0
    assert "<script>" not in outside and "<img" not in outside


def test_markdown_quotes_what_contains_quotes() -> None:
    report = told.report_on(WrongState())
    (failed,) = report.having(Verdict.FAIL)
    spoilt = replace(failed, message="```\n</details>\n````\n# Conforms")
    page = markdown.markdown_document(replace(report, entries=(spoilt,)))
    assert f"\n`````text\n{spoilt.message}\n`````\n" in page


# What is known of clauses and transitions


def test_clauses_are_counted_by_what_breaks_them() -> None:
    rows = {
        row.clause.id: row
        for section in matrix.sections(told.report_on(WrongState()))
        for row in section.rows
    }
    broken = rows["reservation-01"]
    assert (broken.passed, broken.failed, broken.verdict) == (0, 1, matrix.FAILED)
    about = sum("lifecycle-01" in story.at_stake for story in stories.STORIES)
    assert rows["lifecycle-01"].passed == about - 1  # the one that fails fails by another clause
    assert rows["lifecycle-01"].unjudged == 2  # that one, and the one that does not apply
    assert rows["deadline-01"].verdict == matrix.SILENT
    planned = next(row for row in rows.values() if row.clause.status == "planned")
    assert planned.why_silent == "judged by a later revision"


def test_declared_failures_are_counted_apart() -> None:
    report = told.report_on(WrongState(), [KnownFailure(vector="*", reason="we know")])
    rows = [row for section in matrix.sections(report) for row in section.rows]
    (row,) = (row for row in rows if row.declared)
    assert (row.clause.id, row.failed, row.verdict) == ("reservation-01", 0, matrix.DECLARED)


def test_a_play_tells_the_transitions_that_it_saw() -> None:
    backend = Spoilt()
    result = play(stories.COMPLETED, backend, backend.hello().capabilities)
    assert result.transitions == (("pending", "running"), ("running", "completed"))
    assert result.clauses == stories.COMPLETED.at_stake


def test_a_wrong_transition_is_told_with_the_right_one() -> None:
    rows = matrix.transitions(told.report_on(told.NeverEnds()))
    found = {(row.source, row.target): row for row in rows}
    assert found["running", "completed"].verdict == matrix.FAILED
    assert found["running", "cancelling"].failed == 1
    assert found["pending", "running"].verdict == matrix.PASSED
    page = html.html_document(told.report_on(told.NeverEnds()))
    assert '<path class="line failed"' in page


def test_every_state_and_every_legal_transition_is_drawn() -> None:
    assert set(PLACES) == set(LifecycleState)
    drawn = {(line.row.source, line.row.target) for line in lines(matrix.transitions(REPORT))}
    legal = {(s, t) for s, targets in LIFECYCLE_TRANSITIONS.items() for t in targets}
    assert drawn == legal


REPORT = told.report_on(Spoilt())


# The page


def test_the_page_escapes_whatever_a_backend_says() -> None:
    page = html.html_document(told.report_on(told.Hostile()))
    assert page.count("<script>") == 1 and page.count("</script>") == 1
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert "\\x00\\x1b[31m" in page and not re.search("[\x00-\x08\x0b-\x1f]", page)


def test_the_page_of_many_passes_stays_small() -> None:
    (passed, *_) = REPORT.having(Verdict.PASS)
    many = tuple(replace(passed, id=f"hand/many/{n:04d}") for n in range(8000))
    page = html.html_document(replace(REPORT, entries=many))
    assert len(page) < 400_000
    assert "8000 pass" in page


def test_the_page_of_many_failures_stays_bounded() -> None:
    (failed,) = told.report_on(WrongState()).having(Verdict.FAIL)
    many = tuple(replace(failed, id=f"hand/many/{n:04d}") for n in range(8000))
    page = html.html_document(replace(REPORT, entries=many))
    assert page.count('<details class="entry') == html.MOST_DETAILED
    assert f"{8000 - html.MOST_DETAILED} more, by name" in page
    assert len(page) < 5_000_000


def test_the_page_tells_a_refusal_from_the_closest_that_is_allowed() -> None:
    (failed, *_) = told.report_on(WrongCode()).having(Verdict.FAIL)
    assert failed.divergence is not None
    right = failed.divergence.expected
    several = replace(failed.divergence, expected={"one_of": [{"ok": None}, right]})
    assert html.answer_differences(several) == html.answer_differences(failed.divergence)
    assert html.answer_differences(several) == (
        ("/err/code", "journey_terminal", "journey_cancelling"),
    )


def test_a_file_that_cannot_be_written_is_told_before_anything_is_played(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere" / "report"
    for option in ("--ndjson", *FORMATS):
        done = wayproof("check", "--only", "access/nearly/0001", "--fresh", 0, option, nowhere)
        assert (done.returncode, done.stdout) == (2, "")
        assert "No such file" in done.stderr


# The documentation


def test_the_page_on_reports_names_every_option_and_code() -> None:
    text = (ROOT / "docs/reports.md").read_text(encoding="utf-8")
    example = (ROOT / "examples/github-actions.yml").read_text(encoding="utf-8")
    for option in ("--ndjson", *FORMATS):
        assert f"`{option}`" in text and f"{option} " in example
    source = Path(ndjson.__file__).read_text(encoding="utf-8")
    codes = set(re.findall(r'ResultsProblem\(\s*"(\w+)"', source))
    assert len(codes) == 8
    for code in codes:
        assert f"`{code}`" in text and f"``{code}``" in source
