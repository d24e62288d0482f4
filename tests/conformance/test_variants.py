"""Allowed variants pass, and backends that only look like one do not."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from multiprocessing import active_children
from operator import attrgetter
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.conformance import disallowed
from typer.testing import CliRunner

from wayproof.conformance.cli import app
from wayproof.conformance.generate.fresh import play_fresh
from wayproof.conformance.generate.menus import Scope, start
from wayproof.conformance.generate.phrases import (
    BEGUN,
    LAPSE,
    ambiguous,
    begin,
    child,
    deliver,
    finish,
    lease,
    pause,
    reserve,
    submit,
    take_over,
    transmit,
    unsent,
)
from wayproof.conformance.generate.recorder import record
from wayproof.conformance.generate.scripts import Draft, Restart, Script, Sweep, Tick, owned
from wayproof.conformance.generate.settings import DEADLINE, MIDNIGHT, ORDINARY, SECOND
from wayproof.conformance.protocol import backend as protocol
from wayproof.conformance.protocol.backend import Backend, JsonValue, Reply, World
from wayproof.conformance.protocol.model_backend import ModelBackend
from wayproof.conformance.run.player import play
from wayproof.conformance.run.verdict import Result, Verdict
from wayproof.conformance.variants import variant as registry
from wayproof.conformance.variants.judge import COULD_NOT_RUN, FALSE_ALARM, PASSED, judge, judge_one
from wayproof.conformance.variants.variant import Variant, variants
from wayproof.conformance.variants.wrapping import PassingWorld, WrappedBackend
from wayproof.conformance.vectors.format import Vector
from wayproof.conformance.vectors.suite import write_suite
from wayproof.spec.journey.clauses import clauses
from wayproof.spec.journey.rulings import load_rulings

LOOK = owned("snapshot")
BEAT = owned("heartbeat", fencing_token="$F1", lease_milliseconds=SECOND)

STORIES: dict[str, Script] = {
    "a reservation waits": (*BEGUN, reserve(1, 30), LOOK, transmit(1), *LAPSE),
    "a reservation outlives its token": (
        start(Scope()),
        lease(lasts=SECOND),
        begin(),
        reserve(1, 30),
        Tick(MIDNIGHT + SECOND),
        LOOK,
        *LAPSE,
    ),
    "two leases lapse while nobody looks": (
        *BEGUN,
        reserve(1, 20),
        reserve(2, 20),
        transmit(1),
        transmit(2),
        Tick(MIDNIGHT + 3 * SECOND),
        Restart(),
        LOOK,
        Tick(MIDNIGHT + 4 * SECOND),
        owned("list_reservations"),
        Sweep(),
        LOOK,
    ),
    "a request while a lease has lapsed": (
        *BEGUN,
        reserve(1, 30),
        Tick(MIDNIGHT + 2 * SECOND),
        reserve(2, 30),
        LOOK,
    ),
    "the last millisecond": (*BEGUN, Tick(MIDNIGHT + DEADLINE - 1), BEAT, LOOK),
    "the deadline": (*BEGUN, Tick(MIDNIGHT + DEADLINE), LOOK, BEAT, LOOK, Sweep()),
    "a lease and the deadline at one moment": (
        *BEGUN,
        reserve(1, 30, lease_milliseconds=DEADLINE),
        transmit(1),
        Tick(MIDNIGHT + DEADLINE),
        Sweep(),
        LOOK,
    ),
    "a cancellation waits for its run": (
        *BEGUN,
        reserve(1, 30),
        owned("cancel"),
        LOOK,
        finish(1, "completed"),
        LOOK,
        Sweep(),
    ),
    "a cancellation is cut off": (
        *BEGUN,
        owned("cancel"),
        Tick(MIDNIGHT + 5 * SECOND),
        LOOK,
        Tick(MIDNIGHT + 7 * SECOND),
        LOOK,
        Sweep(),
    ),
    "accounting waits for its deadline": (
        *BEGUN,
        reserve(1, 30),
        reserve(2, 30),
        transmit(1),
        ambiguous(1),
        Tick(MIDNIGHT + 10 * SECOND - 1),
        LOOK,
        Tick(MIDNIGHT + 10 * SECOND),
        LOOK,
        Sweep(),
        owned("settled_result"),
    ),
    "everything falls due while nobody looks": (
        *BEGUN,
        reserve(1, 30, lease_milliseconds=2 * DEADLINE),
        transmit(1),
        Tick(MIDNIGHT + 10 * DEADLINE),
        owned("settled_result"),
        owned("terminal_outcome"),
        Sweep(),
        owned("settled_result"),
    ),
    "a repeated request finds the journey overdue": (
        *BEGUN,
        reserve(1, 30),
        unsent(1),
        Tick(MIDNIGHT + DEADLINE),
        unsent(1),
        Sweep(),
    ),
    "children of one moment": (
        *BEGUN,
        child(1, 1, "decomposition"),
        child(2, 1, "decomposition"),
        child(3, 2, "refinement"),
        owned("list_workflow_runs"),
    ),
    "pauses": (
        *BEGUN,
        pause(1, 1),
        owned("complete_journey", fencing_token="$F1"),
        submit(1, 1),
        owned("list_workflow_runs"),
        LOOK,
        take_over(1),
        take_over(1),
        pause(2, 1),
        submit(1, 1),
        submit(2, 1),
        deliver(1),
        owned("list_dispatch_intents", open_only=True),
    ),
    "refusals": (
        *BEGUN,
        owned("snapshot", access="$stranger"),
        owned("complete_journey", fencing_token="one"),
        owned("complete_journey", fencing_token=999),
        owned("cancel"),
        transmit(9),
    ),
}


@cache
def told() -> tuple[Vector, ...]:
    return tuple(
        record(
            Draft(
                family="deadline",
                topic="test",
                setting=ORDINARY,
                script=script,
                focus=0,
                title=title,
            ),
            number,
        )
        for number, (title, script) in enumerate(STORIES.items(), start=1)
    )


def failing(make: Callable[[], Backend], fresh: int, seed: int = 1) -> list[Result]:
    backend = make()
    names = backend.hello().capabilities
    try:
        results = [play(vector, backend, names) for vector in told()]
        results += play_fresh(backend, fresh, seed)
    finally:
        backend.close()
    return [result for result in results if result.verdict is not Verdict.PASS]


each_variant = pytest.mark.parametrize(
    "variant", variants().values(), ids=[variant.name for variant in variants().values()]
)


def test_there_are_enough_variants() -> None:
    assert len(variants()) >= 50
    assert sum(v.name.startswith("sqlite") for v in variants().values()) >= 5


@each_variant
def test_a_variant_says_what_allows_it(variant: Variant) -> None:
    assert variant.why.endswith(".") and len(variant.why) > 40
    assert variant.clauses or variant.rulings or variant.protocol
    assert set(variant.clauses) <= set(clauses())
    assert set(variant.rulings) <= {ruling.number for ruling in load_rulings()}
    for part in variant.protocol:
        attrgetter(part)(protocol)


@each_variant
def test_a_variant_passes(variant: Variant) -> None:
    assert failing(variant.make, fresh=3) == []


class Overheard(PassingWorld):
    """A world whose replies are written down."""

    replies: list[str]

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        reply = self.inner.call(operation, arguments)
        self.replies.append(repr(reply))
        return reply


def replies(make: Callable[[], Backend]) -> list[str]:
    heard: list[str] = []

    def wrap(inner: World) -> World:
        world = Overheard(inner)
        world.replies = heard
        return world

    backend = WrappedBackend(make(), wrap)
    for vector in told():
        play(vector, backend, backend.hello().capabilities)
    return heard


SAME_REPLIES = {
    "sweeps-twice": "the second sweep finds nothing",
    "arguments-are-consumed": "what happens to the arguments shows in no reply",
    "dies-after-each-request": "a restart shows in no reply",
    "advertises-dispatch": "shows in its introduction alone",
    "advertises-everything": "shows in its introduction alone",
}
"""Variants of the model that answer as it does; those of SQLite never make an id twice."""


@pytest.mark.parametrize(
    "variant", [v for v in variants().values() if "sqlite" not in v.name], ids=lambda v: v.name
)
def test_a_variant_is_not_the_same_as_the_model(variant: Variant) -> None:
    same = replies(variant.make) == replies(ModelBackend)
    assert same == (variant.name in SAME_REPLIES)


each_disallowed = pytest.mark.parametrize(
    "make", disallowed.DISALLOWED, ids=[make.__name__ for make in disallowed.DISALLOWED]
)


@each_disallowed
def test_what_is_not_allowed_fails(make: Callable[[], Backend]) -> None:
    assert Verdict.FAIL in {result.verdict for result in failing(make, fresh=0)}


def test_a_false_alarm_is_reported() -> None:
    claimed = disallowed.as_variant(disallowed.releases_while_the_token_lives)
    judgement = judge_one(claimed, told(), seconds=60)
    assert judgement.exit_code == FALSE_ALARM
    assert judgement.counts[Verdict.FAIL] == len(judgement.others) > 0
    assert judgement.counts[Verdict.PASS] > 0


def test_a_variant_that_passes_is_judged_so() -> None:
    judgement = judge_one(variants()["has-exact-timers"], told(), seconds=60)
    assert judgement.exit_code == PASSED
    assert judgement.counts == {Verdict.PASS: len(told())}


def test_a_variant_that_cannot_be_made_is_not_judged() -> None:
    absent = replace(variants()["ids-descend"], place="python:tests.conformance.disallowed:nothing")
    judgement = judge_one(absent, told(), seconds=60)
    assert judgement.exit_code == COULD_NOT_RUN
    assert "nothing" in judgement.problem


def test_what_is_broken_off_is_not_judged() -> None:
    stop = Event()
    stop.set()
    judgement = judge_one(variants()["sweeps-twice"], told(), 60, stop)
    assert judgement.exit_code == COULD_NOT_RUN
    assert judgement.counts[Verdict.PASS] < len(told())


def test_closing_the_judge_early_ends_what_is_being_played() -> None:
    chosen = list(variants().values())[:3]
    absent = replace(chosen[0], place="python:tests.conformance.disallowed:nothing")
    judgements = judge([absent, *chosen], told() * 500, jobs=2)
    assert next(judgements).exit_code == COULD_NOT_RUN  # and the next is being judged
    begun = time.monotonic()
    judgements.close()
    assert time.monotonic() - begun < 30  # to the end it would take minutes
    assert not active_children()


@pytest.fixture
def claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command finds one allowed variant, and one that only claims to be."""
    wrong = disallowed.as_variant(disallowed.times_out_a_millisecond_early)
    right = variants()["versions-rise-by-seven"]
    monkeypatch.setattr(registry, "variants", lambda: {v.name: v for v in (right, wrong)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    write_suite(folder / "journey", told())
    return folder


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["variants", *arguments, "--fresh", "0"])


@pytest.mark.usefixtures("claimed")
def test_the_command_prints_the_vector_and_what_diverged(folder: Path) -> None:
    done = run("--vectors", str(folder))
    assert done.exit_code == FALSE_ALARM
    assert "deadline/test/0005" in done.stdout
    assert "the last millisecond" in done.stdout
    assert "replay      wayproof check --backend python:tests.conformance.disallowed" in done.stdout
    assert "of 2 variants 1 raises a false alarm" in done.stdout


@pytest.mark.usefixtures("claimed")
def test_the_command_writes_one_document(folder: Path) -> None:
    done = run("--vectors", str(folder), "--json")
    written = json.loads(done.stdout)
    assert written["exit_code"] == done.exit_code == FALSE_ALARM
    right, wrong = written["variants"]
    assert (right["exit_code"], right["results"]) == (PASSED, [])
    assert right["counts"]["pass"] == len(told())
    assert wrong["exit_code"] == FALSE_ALARM
    assert {"deadline/test/0005"} <= {result["id"] for result in wrong["results"]}


@pytest.mark.usefixtures("claimed")
def test_the_command_passes_what_passes(folder: Path) -> None:
    done = run("versions-*", "--vectors", str(folder))
    assert done.exit_code == PASSED
    assert "no false alarm: 1 variant passes everything that applies" in done.stdout


@pytest.mark.parametrize("arguments", [("nothing-*",), ("--only", "no/such/*")])
def test_wrong_input_is_refused(folder: Path, arguments: tuple[str, ...]) -> None:
    done = run(*arguments, "--vectors", str(folder))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")


def test_a_misspelt_name_or_glob_is_answered_with_the_closest(folder: Path) -> None:
    assert "Did you mean sweeps-twice" in run("sweeps-twise").stderr
    done = run("sweeps-twice", "--only", "deadlin/test/0005", "--vectors", str(folder))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Did you mean deadline/test/0005" in done.stderr
