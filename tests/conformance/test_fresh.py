"""Fresh sequences: the same for one seed, deep enough, and shrunk when they fail."""

import json
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.conformance import disallowed, stories

from wayproof.conformance.generate.fresh import play_fresh
from wayproof.conformance.generate.recorder import record
from wayproof.conformance.generate.scripts import (
    Call,
    Draft,
    Restart,
    Script,
    Sweep,
    Tick,
)
from wayproof.conformance.generate.shrink import shrink
from wayproof.conformance.generate.tales import tell
from wayproof.conformance.generate.unfolding import MOST_WORLDS, Unfolding
from wayproof.conformance.protocol.load import load_backend
from wayproof.conformance.protocol.model_backend import ModelBackend
from wayproof.conformance.report.failure import failure_text
from wayproof.conformance.run.player import play
from wayproof.conformance.run.verdict import Result, Verdict
from wayproof.conformance.vectors.format import CallStep
from wayproof.conformance.vectors.reader import parse_vector
from wayproof.conformance.vectors.suite import write_suite
from wayproof.conformance.vectors.writer import seal, vector_line
from wayproof.spec.journey.vocabulary import LifecycleState

ROOT = Path(__file__).parents[2]
WAYPROOF = Path(sys.executable).with_name("wayproof")


def tales(count: int) -> list[Unfolding]:
    return [tell(Random(seed)) for seed in range(count)]


def test_one_seed_tells_one_tale() -> None:
    assert tell(Random(7)).script == tell(Random(7)).script
    assert len({repr(tale.script) for tale in tales(50)}) == 50


def test_tales_go_everywhere() -> None:
    told = tales(300)
    taken = [each for tale in told for each in tale.taken]
    kinds = Counter(type(each.action) for each in taken)
    assert min(kinds[kind] for kind in (Call, Tick, Sweep, Restart)) > 100
    operations = {each.action.operation for each in taken if isinstance(each.action, Call)}
    assert len(operations) == 27
    labels = {label for each in taken for label in each.labels}
    assert len(labels) > 55
    assert max(len(each.after.worlds) for each in taken) in range(5, MOST_WORLDS + 1)
    assert sum(len(tale.roles) == 2 for tale in told) > 30


def test_most_commands_keep_the_journey_alive() -> None:
    """Of the commands that a living journey was asked, about nine in ten left it alive."""
    live = (LifecycleState.PENDING, LifecycleState.RUNNING)
    asked = ended = 0
    for tale in tales(200):
        if len(tale.roles) > 1:
            continue
        for each in tale.taken[1:]:
            before, after = (
                moment.world.journeys[0].state.lifecycle for moment in (each.before, each.after)
            )
            if isinstance(each.action, Call) and before in live:
                asked += 1
                ended += after not in live
    assert asked > 1000
    assert 0.02 < ended / asked < 0.15


def test_a_tale_is_a_vector_that_every_reader_accepts() -> None:
    for number, tale in enumerate(tales(20)):
        draft = Draft(
            family="fresh",
            topic="test",
            setting=tale.setting,
            script=tale.script,
            focus=0,
            title="a tale",
        )
        vector = seal(record(draft, number, tale.taken))
        assert parse_vector(vector_line(vector)) == vector
        assert vector == seal(record(draft, number))


def test_sqlite_passes_fresh_sequences_quickly() -> None:
    backend = load_backend("sqlite")
    started = time.process_time()
    results = list(play_fresh(backend, 100, 1))
    spent = time.process_time() - started
    backend.close()
    assert {result.verdict for result in results} == {Verdict.PASS}
    assert [result.id for result in results] == [f"fresh/{seed}" for seed in range(1, 101)]
    assert spent < 20  # some three seconds when nothing else is going on


def first_failure(backend: Any, seeds: int) -> Result:
    for result in play_fresh(backend, seeds, 1):
        if result.verdict is Verdict.FAIL:
            return result
    raise AssertionError("no sequence fails")


def test_a_failure_is_shrunk_to_a_vector_that_runs() -> None:
    failed = first_failure(disallowed.releases_while_the_token_lives(), 50)
    vector = failed.vector
    assert vector is not None
    operations = [step.operation for step in vector.steps if isinstance(step, CallStep)]
    assert operations == ["start", "claim_lease", "begin_journey", "reserve"]
    assert len(vector.steps) == len(operations)
    assert parse_vector(vector_line(vector)) == vector
    model = ModelBackend()
    names = model.hello().capabilities
    assert play(vector, model, names).verdict is Verdict.PASS
    again = play(vector, disallowed.releases_while_the_token_lives(), names)
    assert again.verdict is Verdict.FAIL


def test_a_failure_tells_its_story_and_how_to_see_it_again() -> None:
    failed = first_failure(disallowed.times_out_a_millisecond_early(), 200)
    told = failure_text(failed, "wayproof check --backend mine")
    assert "  story       1. start {" in told
    seed = failed.id.removeprefix("fresh/")
    last = told.splitlines()[-1]
    assert last.endswith(
        f"wayproof check --backend mine --only {failed.id} --fresh 1 --seed {seed}"
    )


def test_the_first_of_many_failures_is_shrunk() -> None:
    failed = [
        result
        for result in play_fresh(disallowed.versions_rise_with_reads(), 10, 1)
        if result.verdict is Verdict.FAIL
    ]
    assert len(failed) > 5
    lengths = [len(result.vector.steps) for result in failed if result.vector is not None]
    assert len(lengths) == len(failed)
    assert lengths[0] < max(lengths[1:])


def test_failures_are_saved_as_a_suite(tmp_path: Path) -> None:
    name = "python:tests.conformance.disallowed:versions_rise_with_reads"
    folder = tmp_path / "failed"
    common = ["--backend", name, "--json"]

    def check(*arguments: str) -> tuple[Any, str]:
        done = subprocess.run(
            [WAYPROOF, "check", *common, *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 1, done.stderr
        return json.loads(done.stdout), done.stderr

    write_suite(tmp_path / "suite" / "journey", stories.STORIES)
    suite = ("--vectors", str(tmp_path / "suite"), "--only", "fresh/*")
    fresh = (*suite, "--fresh", "4", "--seed", "1", "--save", str(folder))
    told, said = check(*fresh)
    assert f"--vectors {folder} --fresh 0" in said
    saved, _ = check("--vectors", str(folder), "--fresh", "0")
    assert saved["counts"]["fail"] == told["counts"]["fail"] == saved["vectors"] > 0
    written = {result["vector"]["id"] for result in told["results"]}
    assert written == {result["id"] for result in saved["results"]}

    refused = subprocess.run(
        [WAYPROOF, "check", *common, *fresh],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "is not empty" in refused.stderr


@dataclass(frozen=True, slots=True, kw_only=True)
class Fails:
    script: Script


def test_shrinking_leaves_what_is_needed_in_its_order() -> None:
    needed = (Tick(3), Tick(17))

    def attempt(script: Script) -> Fails | None:
        return Fails(script=script) if [a for a in script if a in needed] == [*needed] else None

    long = tuple(Tick(n) for n in range(40))
    assert shrink(Fails(script=long), attempt).script == needed


def test_shrinking_keeps_what_cannot_be_told_shorter() -> None:
    whole = tuple(Tick(n) for n in range(7))
    assert shrink(Fails(script=whole), lambda _script: None).script == whole


@pytest.mark.parametrize("seed", [1, 2])
def test_the_generator_reports_a_fault_of_the_adapter_as_such(seed: int) -> None:
    backend = load_backend("python:tests.conformance.fakes:Raises")
    (result,) = play_fresh(backend, 1, seed)
    assert (result.verdict, result.vector) == (Verdict.HARNESS_FAULT, None)
