"""The state machine passes SQLite, and shrinks what diverges to a vector that can be played."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from wayproof.conformance.differential.machine import Diverged, compare
from wayproof.conformance.protocol.load import load_backend
from wayproof.conformance.run.player import play
from wayproof.conformance.run.verdict import Verdict
from wayproof.conformance.vectors.format import CallStep, Vector
from wayproof.conformance.vectors.suite import read_suite

ROOT = Path(__file__).parents[2]
PLANTED = "python:tests.conformance.disallowed:releases_while_the_token_lives"


def verdict(vector: Vector, name: str) -> Verdict:
    backend = load_backend(name)
    try:
        return play(vector, backend, backend.hello().capabilities).verdict
    finally:
        backend.close()


def test_sqlite_agrees_with_the_model(tmp_path: Path) -> None:
    compare("sqlite", tmp_path / "diverging", examples=40)
    assert not (tmp_path / "diverging").exists()


def test_a_planted_fault_is_found_and_shrunk(tmp_path: Path) -> None:
    with pytest.raises(Diverged) as raised:
        compare(PLANTED, tmp_path / "diverging")
    (vector,) = read_suite(tmp_path / "diverging" / "journey")
    operations = [step.operation for step in vector.steps if isinstance(step, CallStep)]
    assert operations == ["start", "claim_lease", "begin_journey", "reserve"]
    assert len(vector.steps) == len(operations)
    assert verdict(vector, PLANTED) is Verdict.FAIL
    assert verdict(vector, "model") is verdict(vector, "sqlite") is Verdict.PASS

    message = str(raised.value)
    assert str(tmp_path / "diverging" / "journey" / "fresh" / "differential.jsonl") in message
    program, *arguments = shlex.split(message.splitlines()[-1].removeprefix("  replay"))
    again = subprocess.run(
        [Path(sys.executable).with_name(program), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert again.returncode == 1
    assert "1 vector, " in again.stdout and "1 fail" in again.stdout


def test_what_is_in_the_folder_stays(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("mine")
    with pytest.raises(FileExistsError):
        compare("model", tmp_path, examples=1)
    assert kept.read_text() == "mine"
