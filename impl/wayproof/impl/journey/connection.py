"""One SQLite connection: how it is set up, how it takes its turn to write, and what its errors
mean.

SQLite lets one connection write at a time. Its own busy handler waits in steps that grow, which
starves a waiting process for seconds, so it is switched off: ``BEGIN IMMEDIATE`` is tried again,
after short pauses of random length that never grow, and nothing after it can be refused for want
of the lock, but for the commit that makes a new store.
"""

import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final, Literal, TypeVar

from sqlite_utils import Database

from wayproof.spec.journey.refusals import Refusal, RefusalCode

Synchronous = Literal["FULL", "NORMAL"]
"""FULL: an acknowledged commit outlives a loss of power. NORMAL: it outlives the process."""

Result = TypeVar("Result")

PRAGMAS: Final = (
    # Small pages, because a commit writes whole pages and a command changes a few bytes in each.
    # A row of the longest identifiers still needs no overflow page.
    "page_size = 2048",
    # Eight megabytes of log between two checkpoints.
    "wal_autocheckpoint = 4000",
    "foreign_keys = ON",
)
"""How every connection is set up, besides ``synchronous``."""

LONGEST_PAUSE_SECONDS: Final = 0.002
"""Between two attempts: who asks more often takes the processor from the one that is writing."""

_UNAVAILABLE: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOLFS,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY,
    }
)


def connect(path: Path) -> Database:
    """Open a connection that never waits by itself and never begins a transaction by itself."""
    connection = sqlite3.connect(
        path, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    return Database(connection, recursive_triggers=False, execute_plugins=False)


def set_up(connection: sqlite3.Connection, synchronous: Synchronous) -> None:
    """Set the connection's pragmas; another process that is just closing can be in the way."""
    for pragma in (*PRAGMAS, f"synchronous = {synchronous}"):
        connection.execute(f"PRAGMA {pragma}")


class Turns:
    """Transactions of one connection, one at a time, whichever thread asks.

    Every method raises :class:`Refusal` with ``persistence_unavailable`` when the store, and not
    this software, is at fault; nothing was changed then.
    """

    def __init__(self, connection: sqlite3.Connection, patience_seconds: float) -> None:
        self._connection = connection
        self._patience_seconds = patience_seconds
        self._lock = Lock()

    def write(self, work: Callable[[], Result]) -> Result:
        """Do the work in one write transaction and commit it; an exception rolls it back."""
        with self._lock:
            try:
                self._patiently(self._begin)
                result = work()
                self._patiently(self._commit)
                return result
            except sqlite3.Error as error:
                self._roll_back()
                raise _meaning(error) from error
            except BaseException:
                self._roll_back()
                raise

    def read(self, work: Callable[[], Result]) -> Result:
        """Do the work on one committed snapshot; it may be done again, so it must only read."""

        def attempt() -> Result:
            self._connection.execute("BEGIN")
            try:
                return work()
            finally:
                self._roll_back()

        return self.alone(attempt)

    def alone(self, work: Callable[[], Result]) -> Result:
        """Do work that begins its own transaction, again until nobody else is in its way."""
        with self._lock:
            try:
                return self._patiently(work)
            except sqlite3.Error as error:
                raise _meaning(error) from error

    def _begin(self) -> None:
        self._roll_back()  # nothing is open, unless an earlier rollback failed
        self._connection.execute("BEGIN IMMEDIATE")

    def _commit(self) -> None:
        # Only a store that has no log yet, a new one, can be busy now: with its readers.
        self._connection.execute("COMMIT")

    def _patiently(self, attempt: Callable[[], Result]) -> Result:
        give_up_at: float | None = None
        while True:
            try:
                return attempt()
            except sqlite3.OperationalError as error:
                if _primary_code(error) != sqlite3.SQLITE_BUSY:
                    raise
                moment = time.monotonic()
                if give_up_at is None:
                    give_up_at = moment + self._patience_seconds
                if moment >= give_up_at:
                    raise
            time.sleep(random.uniform(0.0, LONGEST_PAUSE_SECONDS))

    def _roll_back(self) -> None:
        # Some errors, such as a full disk, have already rolled back. If this fails too, nothing is
        # committed either, and the next command tries again.
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")


def _primary_code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _meaning(error: sqlite3.Error) -> Exception:
    """The contract's refusal if the store is at fault, else the error itself: a fault of ours."""
    if _primary_code(error) in _UNAVAILABLE:
        return Refusal(RefusalCode.PERSISTENCE_UNAVAILABLE)
    return error
