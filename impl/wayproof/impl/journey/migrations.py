"""Which file may be opened, and how an older store becomes a current one.

A file is looked at before SQLite may touch it: a foreign file, or a store of a later version,
stays as it is, byte for byte. That works because a new store gets its application id and its
version while it still has a rollback journal, in one commit, before it turns to a write-ahead log.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from wayproof.impl.journey.connection import Turns
from wayproof.impl.journey.errors import (
    ForeignFileError,
    StoreUnavailableError,
    StoreVersionError,
)
from wayproof.impl.journey.schema import APPLICATION_ID


def inspect(path: Path, known: int, patience_seconds: float) -> None:
    """Refuse a file that is not a store of version 0 (empty or absent) to ``known``.

    ``patience_seconds`` bounds how long another process that is just opening or closing the store
    is waited for.

    Raises:
        ForeignFileError: it is something else.
        StoreVersionError: it is a store of a later version.
        StoreUnavailableError: it cannot be read.
    """
    try:
        if not path.exists() or path.stat().st_size == 0:
            return
        log = path.with_name(path.name + "-wal")
        logged = log.exists() and log.stat().st_size > 0
    except OSError as error:
        raise StoreUnavailableError(f"the store cannot be read: {error.strerror}") from error
    application_id, found = _header(path)
    if application_id != APPLICATION_ID:
        raise ForeignFileError("the database is not a journey store")
    if logged and found <= known:
        found = _logged_version(path, patience_seconds)
    if found > known:
        raise StoreVersionError(found, known)


def _header(path: Path) -> tuple[int, int]:
    """The application id and the version in the file itself.

    SQLite has to read them: whoever opens and closes the file beside SQLite drops every lock that
    the process holds on it, and with them the log of a store that is already open here.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            (application_id,) = connection.execute("PRAGMA application_id").fetchone()
            return application_id, _version(connection)
    except sqlite3.OperationalError as error:
        raise StoreUnavailableError(f"the store cannot be read: {error}") from error
    except sqlite3.DatabaseError as error:
        raise ForeignFileError("the file is not a SQLite database") from error


def _logged_version(path: Path, patience_seconds: float) -> int:
    """The version that the write-ahead log holds, which may be later than the header's."""
    try:
        # Read-only, because closing the last writing connection would move the log into the file.
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=patience_seconds
        )
        try:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise StoreUnavailableError(f"the store cannot be read: {error}") from error


def migrate(
    connection: sqlite3.Connection, turns: Turns, migrations: Sequence[Sequence[str]]
) -> None:
    """Bring the store to version ``len(migrations)``, in one commit; a new one gets its log.

    Raises:
        StoreVersionError: another process has meanwhile migrated it further.
        Refusal: ``persistence_unavailable``.
    """
    if turns.alone(lambda: _version(connection)) != len(migrations):
        # A table that is made anew is missed meanwhile by those that refer to it. This cannot be
        # switched inside a transaction, which therefore checks all references at its end.
        turns.alone(lambda: connection.execute("PRAGMA foreign_keys = OFF"))
        try:
            turns.write(lambda: _apply(connection, migrations))
        finally:
            turns.alone(lambda: connection.execute("PRAGMA foreign_keys = ON"))
    turns.alone(lambda: _turn_to_log(connection))


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _apply(connection: sqlite3.Connection, migrations: Sequence[Sequence[str]]) -> None:
    found = _version(connection)
    if found > len(migrations):
        raise StoreVersionError(found, len(migrations))
    for statements in migrations[found:]:
        for statement in statements:
            connection.execute(statement)
    if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise sqlite3.IntegrityError("a migration has lost what a row refers to")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {len(migrations)}")


def _turn_to_log(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.execute("PRAGMA journal_mode = WAL")
