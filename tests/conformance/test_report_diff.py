import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conformance import told
from tests.conformance.fakes import Spoilt, WrongState
from tests.conformance.test_reports import wayproof

from wayproof.conformance.report.diff import KINDS, compare, lines
from wayproof.conformance.report.ndjson import record_line
from wayproof.conformance.report.results import Report
from wayproof.conformance.run.verdict import Verdict

RIGHT = told.report_on(Spoilt())
WRONG = told.report_on(WrongState())
RESERVED = "hand/reserved/0001"


def having(verdict: Verdict | None) -> Report:
    """The right run, but for one verdict; without it where that is None."""
    entries = (
        replace(entry, verdict=verdict or entry.verdict) if entry.id == RESERVED else entry
        for entry in RIGHT.entries
        if entry.id != RESERVED or verdict is not None
    )
    return replace(RIGHT, entries=tuple(entries))


def file_of(report: Report, file: Path) -> Path:
    records = [report.header, *report.entries, report.times, report.end]
    file.write_bytes(b"".join(record_line(record) for record in records))  # type: ignore[arg-type]
    return file


@pytest.mark.parametrize(
    ("old", "new", "kind", "regression"),
    [
        (Verdict.PASS, Verdict.FAIL, "newly_failing", True),
        (Verdict.KNOWN_FAIL, Verdict.FAIL, "newly_failing", True),
        (Verdict.HARNESS_FAULT, Verdict.FAIL, "newly_failing", True),
        (None, Verdict.FAIL, "newly_failing", True),
        (Verdict.PASS, Verdict.UNDECIDED, "no_longer_judged", True),
        (Verdict.PASS, Verdict.HARNESS_FAULT, "no_longer_judged", True),
        (Verdict.KNOWN_FAIL, Verdict.NOT_APPLICABLE, "no_longer_judged", True),
        (Verdict.FAIL, Verdict.PASS, "newly_passing", False),
        (Verdict.KNOWN_FAIL, Verdict.STALE_KNOWN, "newly_passing", False),
        (Verdict.FAIL, Verdict.UNDECIDED, "changed", False),
        (Verdict.PASS, Verdict.KNOWN_FAIL, "changed", False),
        (None, Verdict.PASS, "added", False),
        (Verdict.PASS, None, "removed", False),
    ],
)
def test_each_change_is_told_once_by_its_kind(
    old: Verdict | None, new: Verdict | None, kind: str, regression: bool
) -> None:
    comparison = compare(having(old), having(new))
    found = {name: [c.id for c in getattr(comparison, name)] for name in KINDS}
    assert found == {name: [RESERVED] if name == kind else [] for name in KINDS}
    assert comparison.regression is regression


def test_equal_runs_differ_in_nothing() -> None:
    comparison = compare(RIGHT, RIGHT)
    assert not any(getattr(comparison, kind) for kind in KINDS)
    assert list(lines(comparison))[-1] == "there is no regression"


def test_the_command_exits_by_whether_there_is_a_regression(tmp_path: Path) -> None:
    right, wrong = file_of(RIGHT, tmp_path / "right"), file_of(WRONG, tmp_path / "wrong")
    worse = wayproof("report", "diff", right, wrong)
    assert worse.returncode == 1
    assert worse.stdout.splitlines()[:2] == ["1 newly failing", f"  {RESERVED}: pass -> fail"]
    better = wayproof("report", "diff", wrong, right, "--json")
    assert better.returncode == 0
    document = json.loads(better.stdout)
    assert document["newly_passing"] == [{"id": RESERVED, "old": "fail", "new": "pass"}]
    assert (document["regression"], document["newly_failing"]) == (False, [])


def test_runs_of_two_contracts_cannot_be_compared(tmp_path: Path) -> None:
    later = replace(RIGHT, header=replace(RIGHT.header, contract="journey/2"))
    done = wayproof(
        "report", "diff", file_of(RIGHT, tmp_path / "a"), file_of(later, tmp_path / "b")
    )
    assert done.returncode == 2
    assert "one judges by journey/1, the other by journey/2" in done.stderr
