"""Playing many vectors, in worker processes that share nothing.

Each worker has one backend over one store. What a backend prints goes to stderr, what it leaves
in the temporary directory is removed, and what ends its process, or keeps it from answering,
costs the task at hand a harness fault and nothing else.
"""

import tempfile
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue
from threading import Event, Thread
from typing import Final

from wayproof.conformance.protocol.backend import Hello
from wayproof.conformance.protocol.load import Synchronous
from wayproof.conformance.run.verdict import Result
from wayproof.conformance.run.worker import (
    Done,
    Failed,
    Task,
    Unreadable,
    WorkerSetup,
    fault,
    work,
)
from wayproof.conformance.vectors.reader import VectorProblem

Message = Hello | Result | Failed | Unreadable | Done
"""What a worker says."""

SECONDS_TO_BEGIN: Final = 60.0
"""How long a worker may take to make its backend and let it introduce itself."""

SECONDS_TO_CLOSE: Final = 10.0
"""How long it may take to close its store when all is over."""


class CouldNotRunError(Exception):
    """There is no verdict: the backend could not be made, introduced or closed."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.trace = trace


class WrongInputError(Exception):
    """There is no verdict: something that the user gave cannot be used; the message says what."""


class _SilenceError(Exception):
    """A worker that does not answer any more; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Worker:
    process: SpawnProcess
    connection: Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class _Board:
    """What the threads share: one for each worker, and that of the caller."""

    setup: WorkerSetup
    seconds: float
    waiting: deque[Task]
    told: "SimpleQueue[Message | None]"
    """None says that a thread has ended."""
    workers: list[_Worker]
    """All that were ever started."""
    stop: Event


def run_suite(
    tasks: Iterable[Task],
    *,
    backend: str,
    synchronous: Synchronous = "NORMAL",
    jobs: int = 1,
    seconds: float = 60.0,
) -> Generator[Hello | Result, None, None]:
    """Carry out all tasks: first who the backend says it is, then results as they come.

    ``seconds`` bounds each vector and each fresh sequence. Closing the iterator early ends the
    workers.

    Raises:
        CouldNotRunError: if the backend cannot be made, introduced or closed.
        WrongInputError: if the backend's name names nothing, or when a stored vector's turn comes
            and it cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="wayproof-", ignore_cleanup_errors=True) as scratch:
        board = _Board(
            setup=WorkerSetup(backend=backend, synchronous=synchronous, scratch=scratch),
            seconds=seconds,
            waiting=deque(tasks),
            told=SimpleQueue(),
            workers=[],
            stop=Event(),
        )
        number = max(1, min(jobs, len(board.waiting)))
        threads = [Thread(target=_drive, args=(board,)) for _ in range(number)]
        for thread in threads:
            thread.start()
        try:
            yield from _messages(board, len(threads))
        except KeyboardInterrupt:
            for worker in board.workers:
                worker.process.kill()
            raise
        finally:
            board.stop.set()
            for thread in threads:
                thread.join()


def _messages(board: _Board, running: int) -> Iterator[Hello | Result]:
    introduced = False
    while running:
        message = board.told.get()
        if message is None:
            running -= 1
        elif isinstance(message, Unreadable) or (
            isinstance(message, Failed) and message.wrong_input
        ):
            raise WrongInputError(message.message)
        elif isinstance(message, Failed):
            raise CouldNotRunError(message.message, message.trace)
        elif isinstance(message, Result):
            yield message
        elif isinstance(message, Hello) and not introduced:
            introduced = True
            yield message


def _drive(board: _Board) -> None:
    """Keep one worker busy, and replace it when it falls silent."""
    worker: _Worker | None = None
    try:
        while board.waiting and not board.stop.is_set():
            if worker is None:
                worker = _start(board)
                board.told.put(first := _receive(worker, SECONDS_TO_BEGIN))
                if isinstance(first, Failed):
                    return
            try:
                task = board.waiting.popleft()
            except IndexError:  # another thread was faster
                break
            try:
                _send(worker, task)
                while not isinstance(message := _receive(worker, board.seconds), Done):
                    board.told.put(message)
                    if isinstance(message, Unreadable):
                        return
            except _SilenceError as silence:
                worker = None
                board.told.put(fault(task, str(silence)))
        if worker is not None:
            _send(worker, None)
            if isinstance(message := _receive(worker, SECONDS_TO_CLOSE), Failed):
                board.told.put(message)
    except _SilenceError as silence:
        board.told.put(Failed(message=str(silence)))
    except (VectorProblem, OSError) as problem:  # of the task that a silent worker leaves
        board.told.put(Unreadable(message=str(problem)))
    finally:
        if worker is not None:
            _end(worker, SECONDS_TO_CLOSE)
        board.told.put(None)


def _start(board: _Board) -> _Worker:
    # Not forked: a fork of a process with threads, or with an open store, is no clean start.
    context = get_context("spawn")
    connection, others = context.Pipe()
    process = context.Process(target=work, args=(others, board.setup))
    process.start()
    others.close()
    worker = _Worker(process=process, connection=connection)
    board.workers.append(worker)
    return worker


def _send(worker: _Worker, task: Task | None) -> None:
    with suppress(BrokenPipeError):  # it is dead, and _receive will say so
        worker.connection.send(task)


def _receive(worker: _Worker, seconds: float) -> Message:
    if not worker.connection.poll(seconds):
        _end(worker, 0)
        unit = "second" if seconds == 1 else "seconds"
        raise _SilenceError(f"no answer within {seconds:g} {unit}")
    try:
        message: Message = worker.connection.recv()
    except (EOFError, OSError):
        _end(worker, SECONDS_TO_CLOSE)
        status = worker.process.exitcode
        raise _SilenceError(f"the process of the backend ended, with status {status}") from None
    return message


def _end(worker: _Worker, seconds: float) -> None:
    worker.process.join(seconds)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()
    worker.connection.close()
