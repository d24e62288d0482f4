"""One whole check: the vectors that are wanted, fresh sequences, and what they come to."""

import fnmatch
import os
import secrets
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from wayproof.conformance.protocol.backend import Hello
from wayproof.conformance.protocol.load import Synchronous, UnknownBackendError, check_name
from wayproof.conformance.report.known import (
    KnownFailuresError,
    read_known_failures,
    with_known,
)
from wayproof.conformance.report.summary import Summary, summarize
from wayproof.conformance.report.words import did_you_mean
from wayproof.conformance.run.handshake import judge_handshake
from wayproof.conformance.run.suite import CouldNotRunError, WrongInputError, run_suite
from wayproof.conformance.run.verdict import Result, Verdict
from wayproof.conformance.run.worker import FRESH, Fresh, Task
from wayproof.conformance.vectors import VECTORS
from wayproof.conformance.vectors.format import Vector
from wayproof.conformance.vectors.reader import VectorProblem
from wayproof.conformance.vectors.suite import (
    MANIFEST_FILE,
    StoredSuite,
    find_suite,
    globs_like,
    write_suite,
)

PATIENCE_SECONDS: Final = 2.0
"""How long a run may take before its progress is shown."""

FRESH_AT_ONCE: Final = 20
"""How many fresh sequences a worker is given at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What is to be checked, and how."""

    backend: str
    contract: str = "journey"
    only: str = "*"
    fresh: int = 0
    seed: int | None = None
    synchronous: Synchronous = "NORMAL"
    jobs: int | None = None
    seconds: float = 60.0
    vectors: Path = VECTORS
    known: Path | None = None
    fail_fast: bool = False
    save: Path | None = None
    """Where fresh sequences that fail are written as a suite of their own; a new folder, or an
    empty one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What is known of a check before its first result."""

    hello: Hello
    contract: str
    ids: tuple[str, ...]
    """Of every vector and fresh sequence that is to be played."""
    fresh: int
    seed: int | None
    replay: str
    """The command that a result's own arguments are added to."""


class Listener(Protocol):
    """Who is told of a check while it goes on."""

    def begin(self, check: Check, begun: Begun) -> None:
        """Told once, before all results."""

    def hear(self, result: Result, vector: Vector | None) -> None:
        """Told of each result as it comes; of one that diverged with what was played."""


def carry_out(check: Check, progress: Console, listener: Listener | None = None) -> Summary:
    """Carry out a check, showing on ``progress``, if that is a terminal, how far it has come.

    ``listener`` is told what comes of it, while it goes on.

    Raises:
        WrongInputError: if the input cannot be used. A vector is read when its turn comes: if one
            cannot be, there is no verdict either.
        CouldNotRunError: if no verdict can be come to.
    """
    seed = secrets.randbelow(2**31) if check.seed is None else check.seed
    try:
        check_name(check.backend)
        suite = _find(check)
        revision = int(suite.contract.split("/")[1])
        known = read_known_failures(check.known, revision) if check.known else ()
    except (UnknownBackendError, VectorProblem, KnownFailuresError, OSError) as error:
        raise WrongInputError(str(error)) from error
    if check.save is not None and check.save.exists() and any(check.save.iterdir()):
        raise WrongInputError(f"{check.save} is not empty")
    if check.fresh and find_spec(FRESH) is None:
        raise WrongInputError("this installation cannot make fresh sequences")
    fresh = [s for s in range(seed, seed + check.fresh) if _wanted(f"fresh/{s}", check.only)]
    tasks: list[Task] = [*suite.vectors, *chunks(fresh)]
    if not tasks:
        raise WrongInputError(f"no vector's id fits {check.only!r}.{_what_would_fit(check)}")
    started = time.monotonic()
    stored = {vector.id: vector for vector in suite.vectors}
    begun: Begun | None = None
    results: list[Result] = []
    cut_short = False

    def take(result: Result) -> Result:
        results.append(told := with_known(result, known))
        if listener is not None:
            vector = told.vector
            if vector is None and told.divergence is not None and told.id in stored:
                vector = stored[told.id].read()
            listener.hear(told, vector)
        return told

    messages = run_suite(
        tasks,
        backend=check.backend,
        synchronous=check.synchronous,
        jobs=check.jobs or len(os.sched_getaffinity(0)),
        seconds=check.seconds,
    )
    with closing(messages), _progress(progress) as bar:
        shown = bar.add_task("playing", total=len(stored) + len(fresh), visible=False)
        for message in messages:
            if isinstance(message, Hello):
                begun = Begun(
                    hello=message,
                    contract=suite.contract,
                    ids=(*stored, *(f"fresh/{s}" for s in fresh)),
                    fresh=len(fresh),
                    seed=seed if fresh else None,
                    replay=_replay(check),
                )
                if listener is not None:
                    listener.begin(check, begun)
                if (wrong := judge_handshake(message)) is not None:
                    take(wrong)
                continue
            result = take(message)
            visible = time.monotonic() - started > PATIENCE_SECONDS
            bar.update(shown, advance=1, visible=visible)
            if check.fail_fast and result.verdict in (Verdict.FAIL, Verdict.HARNESS_FAULT):
                cut_short = True
                break
    if begun is None:
        raise CouldNotRunError("the backend never introduced itself")
    found = [result.vector for result in results if result.vector is not None]
    if check.save is not None and found:
        write_suite(check.save / check.contract, found)
    return summarize(
        results,
        backend=check.backend,
        only=check.only,
        hello=begun.hello,
        contract=begun.contract,
        seconds=time.monotonic() - started,
        cut_short=cut_short,
        fresh=begun.fresh,
        seed=begun.seed,
        replay=begun.replay,
    )


def _what_would_fit(check: Check) -> str:
    family, _, seed = check.only.partition("/")
    if family == "fresh" and seed.isdecimal():
        return f" That sequence is told by: --only {check.only} --fresh 1 --seed {seed}"
    return did_you_mean(globs_like(check.vectors / check.contract, check.only))


def _find(check: Check) -> StoredSuite:
    folder = check.vectors / check.contract
    if not (folder / MANIFEST_FILE).is_file():
        there = [file.parent.name for file in check.vectors.glob(f"*/{MANIFEST_FILE}")]
        alike = did_you_mean(get_close_matches(check.contract, there))
        raise WrongInputError(
            f"there are no vectors of the contract {check.contract} in {folder}.{alike}"
        )
    return find_suite(folder, check.only)


def _wanted(name: str, only: str) -> bool:
    return fnmatch.fnmatchcase(name, only)


def chunks(seeds: Sequence[int]) -> Iterator[Fresh]:
    """Runs of consecutive seeds. With a glob there may be gaps between them."""
    first = 0
    for index in range(1, len(seeds) + 1):
        if (
            index == len(seeds)
            or seeds[index] != seeds[index - 1] + 1
            or index - first == FRESH_AT_ONCE
        ):
            yield Fresh(seed=seeds[first], count=index - first)
            first = index


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _replay(check: Check) -> str:
    words = ["wayproof", "check", "--backend", check.backend]
    if check.contract != "journey":
        words += ["--contract", check.contract]
    if check.vectors != VECTORS:
        words += ["--vectors", str(check.vectors)]
    return shlex.join(words)
