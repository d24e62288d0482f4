import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from wayproof.conformance.protocol.backend import Backend
from wayproof.conformance.protocol.model_backend import ModelBackend
from wayproof.conformance.run import worker
from wayproof.conformance.run.check import FRESH_AT_ONCE, chunks
from wayproof.conformance.run.verdict import Result, Verdict
from wayproof.conformance.run.worker import Fresh

Install = Callable[[Callable[[Backend, int, int], Iterator[Result]]], None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a function into the place of the generator of fresh sequences."""

    def put(play_fresh: Callable[[Backend, int, int], Iterator[Result]]) -> None:
        module = ModuleType("fresh_for_a_test")
        module.play_fresh = play_fresh  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(worker, "FRESH", module.__name__)

    return put


def passes(backend: Backend, count: int, seed: int) -> Iterator[Result]:
    assert backend.hello().name == "model"
    for number in range(seed, seed + count):
        yield Result(id=f"fresh/{number}", title="", verdict=Verdict.PASS)


def carried_out(task: Fresh) -> list[tuple[str, Verdict, str]]:
    backend = ModelBackend()
    results = worker.carry_out(task, backend, backend.hello())
    return [(result.id, result.verdict, result.note) for result in results]


def test_fresh_sequences_are_passed_on(install: Install) -> None:
    install(passes)
    assert carried_out(Fresh(seed=7, count=2)) == [
        ("fresh/7", Verdict.PASS, ""),
        ("fresh/8", Verdict.PASS, ""),
    ]


def test_a_generator_that_yields_too_few_does_not_pass_for_silence(install: Install) -> None:
    install(lambda backend, count, seed: passes(backend, count - 1, seed))
    assert carried_out(Fresh(seed=7, count=2))[-1] == (
        "fresh/7",
        Verdict.HARNESS_FAULT,
        "the generator yielded 1 result instead of 2",
    )


def test_a_generator_that_raises_does_not_pass_for_silence(install: Install) -> None:
    def raises(backend: Backend, count: int, seed: int) -> Iterator[Result]:
        yield from passes(backend, 1, seed)
        raise LookupError("no idea")

    install(raises)
    assert carried_out(Fresh(seed=7, count=2))[-1][1:] == (
        Verdict.HARNESS_FAULT,
        "the generator raised LookupError: no idea",
    )


def test_fresh_sequences_are_given_out_by_runs_of_seeds() -> None:
    seeds = [1, 2, 3, 7, *range(100, 101 + FRESH_AT_ONCE)]
    assert list(chunks(seeds)) == [
        Fresh(seed=1, count=3),
        Fresh(seed=7, count=1),
        Fresh(seed=100, count=FRESH_AT_ONCE),
        Fresh(seed=100 + FRESH_AT_ONCE, count=1),
    ]
    assert list(chunks([])) == []
