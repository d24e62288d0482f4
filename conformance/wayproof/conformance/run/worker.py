"""What runs in a worker process: one backend, and one task after the other.

It is told tasks and tells results over a pipe::

    worker -> Hello                          or Failed: there is no backend
    parent -> task, worker -> Result ...     one, or several for fresh sequences; then Done
                                             or Unreadable: the vector is no vector
    parent -> None, worker -> Done           or Failed: the backend could not be closed
"""

import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from signal import SIG_IGN, SIGINT, signal
from typing import Final

from wayproof.conformance.protocol.backend import Backend, Hello
from wayproof.conformance.protocol.load import (
    BackendLoadError,
    Synchronous,
    UnknownBackendError,
    load_backend,
)
from wayproof.conformance.report.words import several
from wayproof.conformance.run.exchange import HarnessFault, guarded
from wayproof.conformance.run.player import play
from wayproof.conformance.run.verdict import Result, Verdict
from wayproof.conformance.vectors.format import Vector
from wayproof.conformance.vectors.reader import VectorProblem
from wayproof.conformance.vectors.stored import StoredVector

FRESH: Final = "wayproof.conformance.generate.fresh"
"""The module that makes fresh sequences; imported only if some are wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """Sequences that no vector file holds: one for each seed from ``seed`` on."""

    seed: int
    count: int


Task = Vector | StoredVector | Fresh


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSetup:
    """What a worker needs to make its backend."""

    backend: str
    synchronous: Synchronous
    scratch: str
    """Where temporary files go; the parent removes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The backend could not be made, introduced or closed."""

    message: str
    trace: str = ""
    wrong_input: bool = False
    """Whether its name names nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A stored vector cannot be played: it is not as the format says, or cannot be read."""

    message: str
    """With file and line."""


@dataclass(frozen=True, slots=True)
class Done:
    """The task is over."""


def work(connection: Connection, setup: WorkerSetup) -> None:
    """Serve the parent until it says None, or is gone."""
    signal(SIGINT, SIG_IGN)  # the parent ends the workers when the user interrupts it
    os.dup2(2, 1)  # stdout belongs to the report
    sys.stdout = sys.stderr
    os.environ["TMPDIR"] = tempfile.tempdir = setup.scratch
    try:
        backend = load_backend(setup.backend, synchronous=setup.synchronous)
        hello = introduction(backend)
    except BackendLoadError as error:
        unknown = isinstance(error, UnknownBackendError)
        connection.send(Failed(message=str(error), trace=error.trace, wrong_input=unknown))
        return
    except HarnessFault as fault:
        connection.send(Failed(message=fault.message, trace=fault.trace))
        return
    connection.send(hello)
    while (task := connection.recv()) is not None:
        try:
            for result in carry_out(task, backend, hello):
                connection.send(result)
        except (VectorProblem, OSError) as problem:
            connection.send(Unreadable(message=str(problem)))
            return
        connection.send(Done())
    try:
        guarded(backend.close)
    except HarnessFault as fault:
        connection.send(Failed(message=f"{fault.message}, when it was closed", trace=fault.trace))
    else:
        connection.send(Done())


def introduction(backend: Backend) -> Hello:
    """Who the backend says it is.

    Raises:
        HarnessFault: if it raises, or says what is no introduction.
    """
    hello: object = guarded(backend.hello)
    if not isinstance(hello, Hello):
        raise HarnessFault(f"hello returned {type(hello).__name__}, which is no Hello")
    texts: tuple[object, ...] = (hello.name, hello.version, *hello.capabilities)
    if not all(isinstance(text, str) for text in texts):
        raise HarnessFault("hello returned something else than strings")
    return hello


def carry_out(task: Task, backend: Backend, hello: Hello) -> Iterator[Result]:
    """Play one vector, or some fresh sequences.

    Raises:
        VectorProblem, OSError: if a stored vector is not as the format says, or cannot be read.
    """
    if isinstance(task, StoredVector):
        task = task.read()
    if isinstance(task, Vector):
        yield play(task, backend, hello.capabilities)
        return
    given = 0
    try:
        for result in _play_fresh()(backend, task.count, task.seed):
            given += 1
            yield result
    except Exception as error:  # a fault of the generator: it must not pass for silence
        yield fault(task, f"the generator raised {type(error).__name__}: {error}")
    else:
        if given != task.count:
            yield fault(
                task, f"the generator yielded {several(given, 'result')} instead of {task.count}"
            )


def _play_fresh() -> Callable[[Backend, int, int], Iterable[Result]]:
    """``wayproof.conformance.generate.fresh.play_fresh``: plays ``count`` sequences that follow
    from the seeds ``seed``, ``seed + 1`` and so on alone, and yields one result for each, with
    ``--only fresh/S --fresh 1 --seed S`` as its ``replay``."""
    module = importlib.import_module(FRESH)
    play_fresh: Callable[[Backend, int, int], Iterable[Result]] = module.play_fresh
    return play_fresh


def fault(task: Task, message: str) -> Result:
    """The result of a task that could not be carried out.

    Raises:
        VectorProblem, OSError: as :func:`carry_out`.
    """
    clauses: tuple[str, ...] = ()
    if isinstance(task, StoredVector):
        task = task.read()
    if isinstance(task, Vector):
        name, title, replay = task.id, task.title, f"--only {task.id}"
        clauses = task.at_stake
    else:
        name, title = f"fresh/{task.seed}", several(task.count, "fresh sequence")
        replay = f"--only 'fresh/*' --fresh {task.count} --seed {task.seed}"
    return Result(
        id=name,
        title=title,
        verdict=Verdict.HARNESS_FAULT,
        clauses=clauses,
        note=message,
        replay=replay,
    )
