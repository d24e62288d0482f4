"""The vectors take every branch of the model's rules, but for those that are excused here."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "model" / "wayproof" / "model" / "journey"

NOT_RULES = {
    "configuration.py",
    "configurations.py",
    "example.py",
    "explore.py",
    "relation.py",
    "simulate.py",
    "staged.py",
}
"""Modules that drive or explore the rules: the model as a backend never enters them."""

EXCUSED: dict[tuple[str, str], str] = {
    ("transition.py", "if label in RULES:"): "a rule is registered once, when it is imported",
    ("transition.py", 'raise ValueError(f"two rules are labelled {label}")'): "the same",
    ("views.py", "case requests.ListDiscrepanciesRequest(after=after, limit=limit):"): (
        "every other request was dealt with before"
    ),
    ("views.py", 'raise TypeError(f"not a read: {type(request).__name__}")'): "the same",
    (
        "world.py",
        'return Served(world=world, reply=refusal, labels=(f"decode.{refusal.code}",), '
        "journey_id=None)",
    ): "a backend decodes before it enters the model",
}
"""File and source line at which a branch is never taken -> why no vector can take it."""

PLAY = """
from wayproof.conformance.protocol.load import load_backend
from wayproof.conformance.run.player import play
from wayproof.conformance.vectors import VECTORS
from wayproof.conformance.vectors.suite import read_suite

backend = load_backend("model")
capabilities = backend.hello().capabilities
for vector in read_suite(VECTORS / "journey"):
    assert play(vector, backend, capabilities).verdict == "pass", vector.id
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("coverage")
    script = folder / "play.py"
    script.write_text(PLAY, encoding="utf-8")
    data = f"--data-file={folder / 'data'}"
    run = [sys.executable, "-m", "coverage", "run", data, "--branch", f"--include={RULES}/*"]
    subprocess.run([*run, str(script)], check=True, cwd=folder)
    written = [sys.executable, "-m", "coverage", "json", data, "-q", "-o", "report.json"]
    subprocess.run(written, check=True, cwd=folder)
    loaded: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return loaded


def missed(report: dict[str, Any]) -> set[tuple[str, str]]:
    """Every line that is never run, and every line that has a branch which is never taken."""
    found = set()
    for name, measured in report["files"].items():
        path = Path(name)
        if path.parent != RULES or path.name in NOT_RULES:
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        numbers = {*measured["missing_lines"], *(a for a, _ in measured["missing_branches"])}
        found |= {(path.name, lines[abs(number) - 1].strip()) for number in numbers}
    return found


def test_every_branch_is_taken(report: dict[str, Any]) -> None:
    assert missed(report) - EXCUSED.keys() == set()


def test_every_excuse_is_needed(report: dict[str, Any]) -> None:
    assert EXCUSED.keys() - missed(report) == set()


def test_every_rule_module_was_measured(report: dict[str, Any]) -> None:
    measured = {Path(name).name for name in report["files"]}
    rules = {path.name for path in RULES.glob("*.py")} - NOT_RULES - {"__init__.py"}
    assert rules <= measured
