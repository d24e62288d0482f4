"""Playing the suite against mutants, one process for each.

The processes are forked, so that a mutant costs a fork and not a reading of the whole suite, and
so that nothing of one mutant is left for the next. Nothing here has threads or open stores.
"""

import gc
import os
import sys
import tempfile
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Final, Literal

from wayproof.conformance.mutants.catalogue import Candidate
from wayproof.conformance.mutants.load import MutantError
from wayproof.conformance.protocol.load import load_backend
from wayproof.conformance.run.exchange import HarnessFault
from wayproof.conformance.run.player import play
from wayproof.conformance.run.verdict import Result, Verdict
from wayproof.conformance.run.worker import introduction
from wayproof.conformance.vectors.format import Vector

SECONDS: Final = 20.0
"""How long a mutant may take to open its store, and for each vector: a thousand times what a
sound backend takes."""

How = Literal["fail", "fault", "silence"]
"""How a mutant is killed: it diverged, it raised or ended its process, or it never answered. Only
the first is a verdict on a clause; a sound backend does none of the three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """One vector that a mutant did not pass."""

    vector: str
    how: How
    clauses: tuple[str, ...] = ()
    """What is broken by the step that diverged."""
    rests_on: tuple[int, ...] = ()
    step: int = -1
    """Index of the step that diverged."""
    note: str = ""
    """What diverged, or how it came to no verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one mutant."""

    candidate: Candidate
    kills: tuple[Kill, ...] = ()
    """In the order of play; the first alone, unless more were wanted."""
    played: int = 0
    """How many vectors, the killing one included."""
    unsound: tuple[str, ...] = ()
    """Vectors that the sound backend does not pass either: they kill nothing."""
    problem: str = ""
    """Why nothing is known of it: it does not fit the source, or cannot be made."""
    seconds: float = 0.0

    @property
    def kill(self) -> Kill | None:
        """The first vector that it did not pass."""
        return self.kills[0] if self.kills else None

    @property
    def share(self) -> float:
        """The part of the vectors played that it did not pass."""
        return len(self.kills) / self.played if self.played else 0.0


def tags_of(vector: Vector) -> frozenset[str]:
    """Every clause that a vector or one of its steps is about."""
    return frozenset(vector.clauses).union(*(step.clauses for step in vector.steps))


def in_order(candidate: Candidate, vectors: Iterable[Vector]) -> list[Vector]:
    """The vectors about the clause that a mutant was made for first, then those about its other
    clauses, then the rest. Those that are themselves about a clause come before those of which
    only a step is; of alike ones first the shortest of every topic, then the next of each."""
    first, every = {candidate.clauses[0]}, set(candidate.clauses)

    def distance(vector: Vector) -> int:
        own, tags = set(vector.clauses), tags_of(vector)
        told = (first & own, first & tags, every & own, every & tags)
        return next((place for place, found in enumerate(told) if found), len(told))

    ranked: list[tuple[int, int, int, str, Vector]] = []
    before: Counter[tuple[int, str]] = Counter()
    for vector in sorted(vectors, key=lambda vector: (len(vector.steps), vector.id)):
        place = distance(vector), vector.id.rpartition("/")[0]
        ranked.append((place[0], before[place], len(vector.steps), vector.id, vector))
        before[place] += 1
    return [entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:-1])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Game:
    """A mutant, and the vectors to play on it in this order."""

    candidate: Candidate
    vectors: Sequence[Vector]
    enough: Callable[[Sequence[Kill]], bool] = bool
    """Whether such kills are all that is wanted; asked after each of them."""


@dataclass(frozen=True, slots=True)
class _Unsound:
    """Said of the vector that was played last."""


@dataclass(slots=True, kw_only=True)
class _Table:
    """A process that plays a game."""

    game: Game
    process: ForkProcess
    began: float
    heard: float
    playing: str = ""
    played: int = 0
    kills: list[Kill] = field(default_factory=list)
    unsound: list[str] = field(default_factory=list)


def play_games(
    games: Iterable[Game], *, jobs: int = 1, seconds: float = SECONDS
) -> Iterator[Outcome]:
    """Play all games, ``jobs`` at a time, and yield what became of each mutant as it is known.

    Closing the iterator early ends the processes.
    """
    waiting = deque(games)
    tables: dict[Connection, _Table] = {}
    with tempfile.TemporaryDirectory(prefix="wayproof-", ignore_cleanup_errors=True) as scratch:
        try:
            while waiting or tables:
                while waiting and len(tables) < jobs:
                    connection, table = _begin(waiting.popleft(), scratch)
                    tables[connection] = table
                ready = wait(list(tables), timeout=0.5)
                for connection in list(tables):
                    table = tables[connection]
                    if connection in ready:
                        outcome = _hear(connection, table)
                    elif time.monotonic() - table.heard > seconds:
                        outcome = _silent(table, "silence", f"no answer within {seconds:g} seconds")
                    else:
                        continue
                    if outcome is not None:
                        del tables[connection]
                        _end(connection, table)
                        yield outcome
        finally:
            for connection, table in tables.items():
                _end(connection, table)


def _begin(game: Game, scratch: str) -> tuple[Connection, _Table]:
    context = get_context("fork")
    connection, others = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(others, game, scratch), daemon=True)
    process.start()
    others.close()
    now = time.monotonic()
    return connection, _Table(game=game, process=process, began=now, heard=now)


def _hear(connection: Connection, table: _Table) -> Outcome | None:
    """Take the next message; the outcome, if it was the last."""
    table.heard = time.monotonic()
    try:
        message: object = connection.recv()
    except EOFError:
        table.process.join()
        return _silent(table, "fault", f"its process ended with {table.process.exitcode}")
    if isinstance(message, str):
        table.playing = message
        table.played += 1
        return None
    if isinstance(message, Kill):
        table.kills.append(message)
        return None
    if isinstance(message, _Unsound):
        table.unsound.append(table.playing)
        return None
    assert message is None or isinstance(message, MutantError)
    return _outcome(table, "" if message is None else str(message))


def _silent(table: _Table, how: How, note: str) -> Outcome:
    """The outcome of a game whose process will not say anything more."""
    if not table.playing:
        return _outcome(table, f"{table.game.candidate.name} cannot be opened: {note}")
    table.kills.append(Kill(vector=table.playing, how=how, note=note))
    return _outcome(table)


def _outcome(table: _Table, problem: str = "") -> Outcome:
    return Outcome(
        candidate=table.game.candidate,
        kills=tuple(table.kills),
        played=table.played,
        unsound=tuple(table.unsound),
        problem=problem,
        seconds=time.monotonic() - table.began,
    )


def _end(connection: Connection, table: _Table) -> None:
    connection.close()
    table.process.kill()
    table.process.join()


def _work(connection: Connection, game: Game, scratch: str) -> None:
    """What the process does. It says the id of each vector before it plays it, every kill, and
    None, or a ``MutantError``, at the end."""
    gc.freeze()  # the suite is shared with the parent as long as nobody touches it
    os.dup2(2, 1)  # stdout belongs to the report
    sys.stdout = sys.stderr
    tempfile.tempdir = scratch
    kills: list[Kill] = []
    try:
        backend = game.candidate.load()
        sound = load_backend(game.candidate.sound)
        capabilities = introduction(backend).capabilities
        for vector in game.vectors:
            connection.send(vector.id)
            kill = kill_of(play(vector, backend, capabilities))
            if kill is None:
                continue
            if play(vector, sound, capabilities).verdict is not Verdict.PASS:
                connection.send(_Unsound())
                continue
            connection.send(kill)
            kills.append(kill)
            if game.enough(kills):
                break
    except (MutantError, HarnessFault) as error:
        connection.send(MutantError(str(error)))
    except Exception:  # the mutant's exceptions do not get here: this is a fault of our own
        connection.send(MutantError(traceback.format_exc()))
    else:
        connection.send(None)


def kill_of(result: Result) -> Kill | None:
    """The kill that a verdict is, if it is one."""
    if result.verdict is Verdict.FAIL and result.divergence is not None:
        divergence = result.divergence
        return Kill(
            vector=result.id,
            how="fail",
            clauses=divergence.clauses,
            rests_on=divergence.rests_on,
            step=divergence.step,
            note=f"step {divergence.step + 1}, {divergence.action}: {divergence.kind}",
        )
    if result.verdict is Verdict.HARNESS_FAULT:
        last = result.trace.strip().splitlines()[-1:]
        return Kill(vector=result.id, how="fault", note=": ".join([result.note, *last]))
    return None
