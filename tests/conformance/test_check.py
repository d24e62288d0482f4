import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conformance import stories
from typer.testing import CliRunner

from wayproof.conformance.cli import app
from wayproof.conformance.protocol.backend import Hello
from wayproof.conformance.report.summary import conclusion, summarize
from wayproof.conformance.run.verdict import Divergence, Result, Verdict
from wayproof.conformance.run.worker import fault
from wayproof.conformance.vectors.reader import VectorProblem
from wayproof.conformance.vectors.suite import find_suite, write_suite

WAYPROOF = Path(sys.executable).with_name("wayproof")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the hand-written vectors as the journey's suite."""
    folder = tmp_path_factory.mktemp("vectors")
    write_suite(folder / "journey", [*stories.STORIES, stories.SCOPED])
    return folder


DECLARED = '[[known]]\nvector = "x"\nreason = "y"\n'


def wayproof(*arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    if arguments[:1] == ("check",) and "--fresh" not in arguments:
        arguments = (*arguments, "--fresh", "0")
    return subprocess.run(
        [WAYPROOF, *arguments],
        cwd=options.get("cwd", ROOT),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=options.get("env"),
    )


def report(vectors: Path, backend: str, *arguments: str) -> tuple[int, Any]:
    """The exit code and the JSON document of a check, which must be all that stdout holds."""
    done = wayproof("check", "--vectors", str(vectors), "--json", "--backend", backend, *arguments)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def fake(name: str) -> str:
    return f"python:tests.conformance.fakes:{name}"


def test_the_sqlite_backend_conforms(vectors: Path) -> None:
    code, told = report(vectors, "sqlite", "--synchronous", "FULL")
    assert code == told["exit_code"] == 0
    assert told["counts"] == {
        "pass": len(stories.STORIES),
        "fail": 0,
        "known-fail": 0,
        "stale-known": 0,
        "not-applicable": 1,
        "undecided": 0,
        "harness-fault": 0,
    }
    assert told["commands"] == sum(len(story.steps) for story in stories.STORIES)
    assert told["conclusion"].endswith("conforms to the contract")
    assert "shared_token_reservation" in told["backend"]["capabilities"]


def test_a_wrong_backend_does_not(vectors: Path) -> None:
    code, told = report(vectors, fake("WrongState"))
    assert code == told["exit_code"] == 1
    assert told["counts"]["fail"] == 1
    assert told["conclusion"].endswith("does not conform: it breaks the contract (1 vector)")
    (failed,) = (result for result in told["results"] if result["verdict"] == "fail")
    assert failed["divergence"]["differences"] == {
        "/J/snapshot/tokens/reserved_tokens": {"expected": 30, "observed": 31}
    }
    assert "reservation-01" in [suspect["clause"] for suspect in told["suspects"]]


def test_the_command_in_a_failure_plays_just_that_again(vectors: Path) -> None:
    _, told = report(vectors, fake("WrongState"))
    (failed,) = (result for result in told["results"] if result["verdict"] == "fail")
    program, *arguments = failed["replay"].split()
    assert program == "wayproof"
    again = wayproof(*arguments)
    assert again.returncode == 1
    assert again.stdout.count("1 vector, ") == 1
    assert "none is fresh: --only chooses among fresh sequences (fresh/SEED) too" in again.stdout
    assert "observed  31" in again.stdout


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("Raises", len(stories.STORIES)),
        ("Exits", len(stories.STORIES)),
        ("Garbage", len(stories.STORIES)),
        ("Dies", 1),
    ],
)
def test_an_adapter_that_breaks_never_exits_with_0(vectors: Path, name: str, faults: int) -> None:
    code, told = report(vectors, fake(name))
    assert code == told["exit_code"] == 3
    assert told["counts"]["harness-fault"] == faults
    assert "could not be judged" in told["conclusion"]


def test_an_adapter_that_hangs_is_given_up(vectors: Path) -> None:
    code, told = report(vectors, fake("Hangs"), "--seconds", "1")
    assert (code, told["counts"]["harness-fault"]) == (3, 1)
    assert told["counts"]["pass"] == len(stories.STORIES) - 1
    notes = [result["note"] for result in told["results"] if result["verdict"] == "harness-fault"]
    assert notes == ["no answer within 1 second"]


def test_what_a_backend_prints_does_not_break_the_report(vectors: Path) -> None:
    code, told = report(vectors, fake("Prints"))
    assert (code, told["counts"]["pass"]) == (0, len(stories.STORIES))


@pytest.mark.parametrize("name", ["NoHello", "Unclosable", "unmakeable"])
def test_a_backend_that_cannot_be_used_exits_with_3(vectors: Path, name: str) -> None:
    done = wayproof("check", "--vectors", str(vectors), "--json", "--backend", fake(name))
    assert (done.returncode, done.stdout) == (3, "")
    assert "could not be run" in done.stderr


def test_what_was_given_as_the_backend_is_told(vectors: Path, tmp_path: Path) -> None:
    given = fake("Prints")
    done = wayproof("check", "--vectors", str(vectors), "--backend", given)
    assert f"--backend {given} advertises durable_lifecycle" in done.stdout
    done = wayproof("check", "--vectors", str(vectors), "--backend", fake("absent"))
    assert done.stderr.startswith(f"error: {fake('absent')}: ")
    (tmp_path / "breaks.py").write_text("import no_such_module\n")
    given = "python:breaks:Backend"
    done = wayproof("check", "--vectors", str(vectors), "--backend", given, cwd=tmp_path)
    assert done.returncode == 3
    assert "breaks.py" in done.stderr
    assert f"error: {given} could not be run: breaks cannot be imported" in done.stderr


def test_a_backend_to_which_nothing_applies_is_not_called_conforming(vectors: Path) -> None:
    code, told = report(vectors, fake("Lacking"))
    assert (code, told["counts"]["not-applicable"]) == (3, len(stories.STORIES) + 1)


def test_an_undecided_vector_is_not_called_conforming(vectors: Path) -> None:
    code, told = report(vectors, fake("Unavailable"))
    assert code == 3
    assert told["counts"]["undecided"] > 0
    assert told["counts"]["fail"] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--backend", "nobody"],
        ["--backend", "python:no colon"],
        ["--backend", "python:no_such_module:Backend"],
        ["--backend", "python:tests.conformance.fakes:absent"],
        ["--only", "no/such/*"],
        ["--contract", "nothing"],
        ["--vectors", "/does/not/exist"],
        ["--jobs", "0"],
        ["--nonsense"],
    ],
)
def test_wrong_usage_exits_with_2(vectors: Path, arguments: list[str]) -> None:
    done = wayproof("check", "--vectors", str(vectors), *arguments)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_damaged_vector_exits_with_2_and_says_where(tmp_path: Path) -> None:
    write_suite(tmp_path / "journey", [stories.CHILD])
    (tmp_path / "journey" / "hand" / "child.jsonl").write_text("{}\n")
    done = wayproof("check", "--vectors", str(tmp_path))
    assert done.returncode == 2
    assert "wrong_manifest" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["--only", "hand/reservd/0001"], "Did you mean hand/reserved/0001"),
        (["--only", "hand/childs/*"], "Did you mean hand/child/*"),
        (["--only", "fresh/7"], "told by: --only fresh/7 --fresh 1 --seed 7"),
        (["--contract", "journy"], "Did you mean journey?"),
        (["--backend", "sqllite"], "Did you mean sqlite?"),
    ],
)
def test_a_misspelt_value_is_answered_with_the_closest(
    vectors: Path, arguments: list[str], meant: str
) -> None:
    done = wayproof("check", "--vectors", str(vectors), *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert meant in done.stderr


def break_line_2(folder: Path) -> Path:
    """Spoil the second of three vectors, and let the manifest fit the file all the same."""
    copies = [stories.story(f"copy/{n:04d}", *stories.RESERVED.steps) for n in (1, 2, 3)]
    write_suite(folder / "journey", copies)
    file = folder / "journey" / "hand" / "copy.jsonl"
    old = hashlib.sha256(file.read_bytes()).hexdigest()
    lines = file.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"do":"call"', b'"do":"ask"', 1)
    file.write_bytes(b"".join(lines))
    new = hashlib.sha256(file.read_bytes()).hexdigest()
    manifest = folder / "journey" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(old, new))
    return file


def test_a_vector_that_is_found_broken_when_its_turn_comes_exits_with_2(tmp_path: Path) -> None:
    file = break_line_2(tmp_path)
    done = wayproof("check", "--vectors", str(tmp_path), "--jobs", "2")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {file}, line 2, /steps/0")
    assert "not_allowed" in done.stderr
    code, told = report(tmp_path, "sqlite", "--only", "hand/copy/000[13]")
    assert (code, told["vectors"]) == (0, 2)


def test_a_vector_that_cannot_be_read_is_no_fault_of_a_backend_that_dies(tmp_path: Path) -> None:
    break_line_2(tmp_path)
    task = find_suite(tmp_path / "journey").vectors[1]
    with pytest.raises(VectorProblem, match="line 2"):
        fault(task, "the process of the backend ended")


def test_fail_fast_stops_at_the_first_failure(vectors: Path) -> None:
    code, told = report(vectors, fake("RestlessVersion"), "--fail-fast", "--jobs", "1")
    assert (code, told["cut_short"], told["counts"]["fail"]) == (1, True, 1)


def test_many_failures_are_told_by_what_they_point_at(tmp_path: Path) -> None:
    copies = [
        stories.story(f"copy/{number:04d}", *stories.RESERVED.steps) for number in range(1, 9)
    ]
    write_suite(tmp_path / "journey", copies)
    done = wayproof("check", "--vectors", str(tmp_path), "--backend", fake("WrongReply"))
    assert done.returncode == 1
    assert done.stdout.count("FAIL ") == 5
    assert "What the 8 failures point at, the likeliest clause first" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("it breaks the contract (8 vectors)")


def test_declared_failures_deviate_as_declared_and_stale_ones_are_an_error(
    vectors: Path, tmp_path: Path
) -> None:
    known = tmp_path / "known-failures.toml"
    known.write_text('[[known]]\nvector = "hand/reserved/*"\nstep = 4\nreason = "we round up"\n')
    code, told = report(vectors, fake("WrongState"), "--known", str(known))
    assert (code, told["counts"]["known-fail"]) == (0, 1)
    assert told["conclusion"].endswith("deviates as declared (1 vector)")
    code, told = report(vectors, "model", "--known", str(known))
    assert (code, told["counts"]["stale-known"]) == (1, 1)
    known.write_text('[[known]]\nvector = "hand/reserved/*"\nstep = 3\nreason = "another"\n')
    code, told = report(vectors, fake("WrongState"), "--known", str(known))
    assert (code, told["counts"]["fail"]) == (1, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "known: it is missing"),
        ("known = 1", "known: it must be a list"),
        ('[[known]]\nvector = "x"', "entry 1, reason: it is missing"),
        ('[[known]]\nvector = "x"\nreason = 1', "entry 1, reason: it must be a text"),
        (DECLARED + "more = 1", "entry 1, more: nothing has that name"),
        (DECLARED + "step = 0", "entry 1, step: it must be 1 or more"),
        (DECLARED + 'step = "x"', "entry 1, step: it must be a whole number"),
        (DECLARED + 'kind = "repli"', "entry 1, kind: there is no kind 'repli'; there are reply, "),
        (DECLARED + "until = 0", "x was declared until revision 0"),
    ],
)
def test_unusable_declarations_exit_with_2(
    vectors: Path, tmp_path: Path, text: str, said: str
) -> None:
    known = tmp_path / "known.toml"
    known.write_text(text)
    done = wayproof("check", "--vectors", str(vectors), "--known", str(known))
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {known}: {said}")


def test_a_backend_in_the_working_directory_is_found(vectors: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from wayproof.conformance.protocol.model_backend import ModelBackend as Backend\n"
    )
    done = wayproof(
        "check", "--vectors", str(vectors), "--backend", "python:mine:Backend", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


def test_help_loads_little_and_shows_an_example() -> None:
    done = wayproof("--help")
    assert done.returncode == 0
    assert "check" in done.stdout
    assert "Example: wayproof check" in done.stdout
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", WAYPROOF, "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    assert "typer" in loaded
    assert [name for name in ("pydantic", "hypothesis", "sqlite_utils") if name in loaded] == []


def test_each_command_shows_an_example() -> None:
    assert "Example: wayproof check" in wayproof("check", "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chek"], "No such command 'chek'. Did you mean check?"),
        (["vectors", "biuld"], "No such command 'biuld'. Did you mean 'build'?"),
        (["check", "--jobs", "0"], "'--jobs': it must be 1 or more"),
        (["check", "--jobs", "x"], "'--jobs': it must be a whole number"),
        (["check", "--seconds", "x"], "'--seconds': it must be a number"),
        (["check", "--seed", "-1"], "'--seed': it must be 0 or more"),
        (["check", "--synchronous", "maybe"], "'maybe' is not one of 'NORMAL', 'FULL'."),
        (["explore", "ceilng"], "Did you mean ceiling?"),
        (["variants", "sweeps-twise"], "Did you mean sweeps-twice"),
    ],
)
def test_wrong_usage_is_told_in_our_own_words(arguments: list[str], said: str) -> None:
    done = CliRunner(env={"COLUMNS": "500"}).invoke(app, arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Input should" not in done.stderr and "Value error" not in done.stderr


def test_help_promises_nothing_that_is_not_there() -> None:
    promised = wayproof("--help").stdout
    assert "show the vectors" not in promised
    listed = wayproof("vectors", "--help").stdout
    assert "show" not in listed and "build" in listed and "verify" in listed
    narrow = " ".join(wayproof("check", "--help").stdout.replace("│", " ").split())
    assert "It chooses among fresh sequences too" in narrow


def test_version() -> None:
    assert wayproof("--version").stdout.startswith("wayproof ")


def test_shell_completion_completes_commands_and_options() -> None:
    environment = {"_WAYPROOF_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    done = wayproof(env={**environment, "COMP_WORDS": "wayproof ch"})
    assert done.stdout.split() == ["check"]
    done = wayproof(env={**environment, "COMP_WORDS": "wayproof check --fai", "COMP_CWORD": "2"})
    assert done.stdout.split() == ["--fail-fast"]


def failure(number: int, rulings: tuple[int, ...]) -> Result:
    return Result(
        id=f"a/b/{number:04d}",
        title="",
        verdict=Verdict.FAIL,
        divergence=Divergence(
            step=0,
            action="sweep",
            kind="state",
            expected=None,
            observed=None,
            clauses=("access-01", "reservation-01")[-number:],
            rests_on=rulings,
        ),
    )


def test_breaking_the_contract_and_differing_from_a_ruling_are_told_apart() -> None:
    def said(*results: Result) -> str:
        hello = Hello(name="x", version="1", capabilities=())
        return conclusion(
            summarize(results, backend="x", hello=hello, contract="journey/1", seconds=1)
        )

    assert said(failure(1, (5,)), failure(2, (20, 5))) == (
        "x 1 does not conform to this profile: it differs from rulings 5, 20"
    )
    assert said(failure(1, ()), failure(2, (20,))) == (
        "x 1 does not conform: it breaks the contract (1 vector); it differs from ruling 20 too"
    )
    assert said() == "x 1 could not be judged: nothing was played"


def test_failures_point_at_what_is_at_stake_wherever_something_fails() -> None:
    """Not at what most vectors put at stake, whether they fail or not."""
    passes = [
        Result(id=f"p/p/{n:04d}", title="", verdict=Verdict.PASS, clauses=("access-01",))
        for n in range(3)
    ]
    told = summarize(
        [failure(1, ()), failure(2, ()), *passes],
        backend="x",
        hello=Hello(name="x", version="1", capabilities=()),
        contract="journey/1",
        seconds=1,
    )
    assert [(s.clause, s.failed, s.passed) for s in told.suspects] == [
        ("reservation-01", 2, 0),
        ("access-01", 1, 3),
    ]
    assert [s.suspicion for s in told.suspects] == pytest.approx([1.0, 1 / 8**0.5])
    named = [result.divergence.clauses for result in told.failures if result.divergence]
    assert all(clauses[0] == "reservation-01" for clauses in named)
    assert any("access-01" in clauses for clauses in named)


def test_faults_of_the_harness_point_at_clauses_too() -> None:
    broke = replace(failure(1, ()), verdict=Verdict.HARNESS_FAULT, divergence=None)
    told = summarize(
        [replace(broke, at_stake=("counter-01",)), replace(broke, id="a/b/0002")],
        backend="x",
        hello=Hello(name="x", version="1", capabilities=()),
        contract="journey/1",
        seconds=1,
    )
    assert [(s.clause, s.failed) for s in told.suspects] == [("counter-01", 1)]


# Who runs the tests in the background of a script has them, and all that they start, ignore these.
HEEDING_INTERRUPTS = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_an_interrupted_run_is_no_verdict_and_leaves_no_process(
    vectors: Path, tmp_path: Path
) -> None:
    arguments = ["check", "--vectors", str(vectors), "--fresh", "0"]
    arguments += ["--jobs", "1", "--backend", fake("Hangs"), "--only", "hand/reserved/*"]
    started = subprocess.Popen(
        [sys.executable, "-c", HEEDING_INTERRUPTS, WAYPROOF, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "HANGING": str(tmp_path / "hanging")},
    )
    try:
        while not (tmp_path / "hanging").exists():
            assert started.poll() is None
            time.sleep(0.05)
        os.killpg(started.pid, signal.SIGINT)
        # Returns only when no process holds stderr any more, the workers included.
        out, err = started.communicate(timeout=60)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
            started.communicate()
    assert (started.returncode, out) == (3, "")
    assert "interrupted: there is no verdict" in err
    assert [path.name for path in tmp_path.iterdir()] == ["hanging"]
