"""How a wait learns that it should look at its journey again.

A thread asks SQLite at short intervals for its ``data_version``, which changes with every commit
of any other connection, in whichever process. That costs a few microseconds, reads no page of the
file and holds no lock between two looks. Only when it has changed are the awaited journeys read,
three columns of each, and only a waiter for whom there is something to do is woken: its journey
has got there, or something in it is due.

What is promised: a waiter is woken within one interval of the commit that it waits for, or of the
moment at which something falls due, plus the time that its process needs to get its turn. While
nobody waits, nothing runs; while somebody does and nothing happens, the cost does not depend on
how large the store is.

Watching the log file instead (inotify and its like) would cost nothing while nothing happens, but
it tells of a commit's bytes before the commit can be read, so whoever is woken must then ask again
and again all the same; and the log is deleted with the last connection.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Condition, Thread
from typing import Final, Literal, NamedTuple, Self

from wayproof.impl.journey.connection import connect

Goal = Literal["terminal", "settled"]
"""What is waited for: the end of execution, or final accounting."""

_STATE: Final = "SELECT finished_at, settled_at, due_at FROM journeys WHERE journey_id = ?"


class _State(NamedTuple):
    """What of a journey can concern a waiter. Moments are milliseconds since 1970 UTC."""

    finished_at: int | None
    settled_at: int | None
    due_at: int | None

    def concerns(self, goal: Goal, now: int) -> bool:
        """Whether a waiter has something to do: to read its answer, or to sweep."""
        reached = self.finished_at if goal == "terminal" else self.settled_at
        return reached is not None or (self.due_at is not None and self.due_at <= now)


class Bell:
    """Rings for one waiter, in the event loop in which it was made."""

    def __init__(self, journey_id: str, goal: Goal) -> None:
        self.journey_id = journey_id
        self.goal = goal
        self._loop = asyncio.get_running_loop()
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wake the waiter, from whichever thread."""
        with suppress(RuntimeError):  # the loop is closed, and its waiters are gone with it
            self._loop.call_soon_threadsafe(self._rung.set)

    def silence(self) -> None:
        """Forget earlier rings. To be called before looking, so that nothing is missed after."""
        self._rung.clear()

    async def heard(self) -> None:
        """Return once it has rung since it was last silenced."""
        await self._rung.wait()


class Watch:
    """Rings the bells of all waiters of one port, from a thread with a connection of its own.

    ``now`` is the moment at which a look at one journey is served, see ``deadlines.py``.

    To be entered before bells are asked for, which fails with SQLite's error if the file cannot be
    opened once more; leaving it rings all that are left.
    """

    def __init__(self, path: Path, now: Callable[[str], int], interval_seconds: float) -> None:
        self._path = path
        self._now = now
        self._interval_seconds = interval_seconds
        self._bells: set[Bell] = set()
        self._changed = Condition()
        self._opened: Future[None] = Future()
        self._thread = Thread(target=self._run, name="wayproof-journey-watch", daemon=True)
        self.ended = False
        """Whether no bell will ring any more for a change."""

    @contextmanager
    def bell(self, journey_id: str, goal: Goal) -> Iterator[Bell]:
        """A bell for one waiter, for as long as it waits."""
        bell = Bell(journey_id, goal)
        with self._changed:
            self._bells.add(bell)
            if len(self._bells) == 1:
                self._changed.notify()
        try:
            yield bell
        finally:
            with self._changed:
                self._bells.discard(bell)

    def __enter__(self) -> Self:
        self._thread.start()
        self._opened.result()
        return self

    def __exit__(self, *error: object) -> None:
        with self._changed:
            self.ended = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        try:
            database = connect(self._path)
        except sqlite3.Error as error:
            self._opened.set_exception(error)
            return
        self._opened.set_result(None)
        try:
            self._watch(database.conn)
        finally:
            database.close()
            with self._changed:
                self.ended = True
                bells = list(self._bells)
            for bell in bells:
                bell.ring()

    def _watch(self, connection: sqlite3.Connection) -> None:
        seen: int | None = None
        known: dict[str, _State] = {}
        while bells := self._next_bells():
            try:
                # The version comes first: a commit after it is at worst seen twice.
                (version,) = connection.execute("PRAGMA data_version").fetchone()
                if version != seen:
                    seen, known = version, {}
                known = {
                    journey_id: known.get(journey_id) or _state(connection, journey_id)
                    for journey_id in {bell.journey_id for bell in bells}
                }
            except sqlite3.Error:
                # Whatever it is, each waiter hears of it when it looks for itself.
                seen = None
                for bell in bells:
                    bell.ring()
                continue
            for bell in bells:
                if known[bell.journey_id].concerns(bell.goal, self._now(bell.journey_id)):
                    bell.ring()

    def _next_bells(self) -> list[Bell]:
        """The bells at the next moment to look; none once there is nothing left to do."""
        with self._changed:
            if self._bells:
                self._changed.wait_for(lambda: self.ended, self._interval_seconds)
            self._changed.wait_for(lambda: self.ended or self._bells)
            return [] if self.ended else list(self._bells)


def _state(connection: sqlite3.Connection, journey_id: str) -> _State:
    found = connection.execute(_STATE, (journey_id,)).fetchone()
    return _State(*found) if found else _State(None, None, None)
