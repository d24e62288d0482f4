import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ONLY = "lease/claim-lease/001*"


class Pytest:
    """Pytest in a folder with one test of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", "-v"]
        return subprocess.run(
            [*command, *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )


@pytest.fixture
def played(tmp_path: Path) -> Pytest:
    (tmp_path / "test_own.py").write_text("def test_of_the_backend_itself(): pass\n")
    return Pytest(tmp_path)


def fake(name: str) -> str:
    return f"--wayproof-backend=python:tests.conformance.fakes:{name}"


def test_each_vector_is_an_item_of_its_own(played: Pytest) -> None:
    done = played(fake("Spoilt"), f"--wayproof-only={ONLY}")
    assert done.returncode == 0, done.stdout
    assert "wayproof::lease/claim-lease/0016 PASSED" in done.stdout
    assert "test_own.py::test_of_the_backend_itself PASSED" in done.stdout
    assert "11 passed" in done.stdout
    assert "without fresh sequences" in done.stdout


def test_a_vector_that_fails_says_what_it_breaks(played: Pytest) -> None:
    done = played(fake("WrongState"), f"--wayproof-only={ONLY}")
    assert done.returncode == 1
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAIL  lease/")]
    assert failed and "2 failed, 9 passed" in done.stdout
    assert "  breaks      deadline-12: " in done.stdout
    assert "Traceback" not in done.stdout and "player.py" not in done.stdout


def test_what_does_not_apply_is_skipped_and_what_breaks_fails(played: Pytest) -> None:
    done = played(fake("Lacking"), f"--wayproof-only={ONLY}")
    assert done.returncode == 0
    assert "1 passed, 10 skipped" in done.stdout
    done = played(fake("Raises"), f"--wayproof-only={ONLY}")
    assert done.returncode == 1
    assert "10 failed, 1 passed" in done.stdout
    assert "HARNESS-FAULT" in done.stdout


def test_a_declared_failure_is_expected_and_a_stale_one_is_not(played: Pytest) -> None:
    known = played.folder / "known.toml"
    known.write_text('[[known]]\nvector = "lease/claim-lease/001[68]"\nreason = "we know"\n')
    options = (f"--wayproof-only={ONLY}", f"--wayproof-known={known}")
    assert "9 passed, 2 xfailed" in played(fake("WrongState"), *options).stdout
    stale = played(fake("Spoilt"), *options)
    assert (stale.returncode, "2 failed, 9 passed" in stale.stdout) == (1, True)


def test_vectors_are_chosen_like_other_tests(played: Pytest) -> None:
    done = played(fake("Spoilt"), f"--wayproof-only={ONLY}", "-k", "0016", "-n", "2")
    assert "1 passed" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--wayproof-backend=sqlit"], "no backend is called 'sqlit'"),
        (["--wayproof-backend=python:nothing:X"], "there is no module nothing"),
        (["--wayproof-backend=model", "--wayproof-only=x/*"], "no vector's id fits 'x/*'"),
        (["--wayproof-backend=model", "--wayproof-known=none"], "No such file"),
    ],
)
def test_a_wrong_option_is_told_on_one_line(
    played: Pytest, options: list[str], message: str
) -> None:
    done = played(*options)
    assert done.returncode == 4
    assert message in done.stderr.strip().splitlines()[0]


def test_nothing_happens_unless_it_is_asked_for(played: Pytest) -> None:
    assert "wayproof" in {point.name for point in entry_points(group="pytest11")}
    (played.folder / "test_own.py").write_text(
        "import sys\ndef test_it(): assert 'wayproof.spec' not in sys.modules\n"
    )
    done = played()
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout and "wayproof::" not in done.stdout
