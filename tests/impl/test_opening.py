import sqlite3
import threading
from contextlib import closing
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path

import pytest
from tests.impl.clients import Client, begun, contents, rows, serving

from wayproof.impl.journey import (
    ADVERTISED,
    ForeignFileError,
    SqliteJourneyStore,
    StoreUnavailableError,
    StoreVersionError,
    migrations,
    schema,
    store,
)
from wayproof.spec.journey.definitions import Registry
from wayproof.spec.journey.vocabulary import Capability


def bytes_of(path: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in sorted(path.parent.glob(path.name + "*"))}


def test_a_new_store_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    SqliteJourneyStore(path).close()
    header = path.read_bytes()[:100]
    assert int.from_bytes(header[68:72], "big") == schema.APPLICATION_ID
    assert int.from_bytes(header[60:64], "big") == len(schema.MIGRATIONS)
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    with serving(path) as service:
        begun(service)


@pytest.mark.parametrize("content", [b"x", b"not a database" * 100, b"SQLite format 3\x00"])
def test_another_file_is_refused_and_not_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    with pytest.raises(ForeignFileError):
        SqliteJourneyStore(path)
    assert bytes_of(path) == {"store.db": content}


def test_the_database_of_another_application_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE journeys (journey_id TEXT)")
        connection.commit()
    before = bytes_of(path)
    with pytest.raises(ForeignFileError):
        SqliteJourneyStore(path)
    assert bytes_of(path) == before


def test_a_later_version_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        begun(service)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = bytes_of(path)
    with pytest.raises(StoreVersionError) as refused:
        SqliteJourneyStore(path)
    assert (refused.value.found, refused.value.known) == (99, len(schema.MIGRATIONS))
    assert bytes_of(path) == before


def test_a_later_version_that_only_the_log_holds_is_refused_and_not_touched(
    tmp_path: Path,
) -> None:
    original, path = tmp_path / "original.db", tmp_path / "store.db"
    SqliteJourneyStore(original).close()
    with closing(sqlite3.connect(original)) as connection:
        connection.execute("PRAGMA user_version = 99")
        # What a crash would leave: the file as it was, the later version in the log.
        for suffix in ("", "-wal"):
            copied = (tmp_path / f"original.db{suffix}").read_bytes()
            (tmp_path / f"store.db{suffix}").write_bytes(copied)
    assert int.from_bytes(path.read_bytes()[60:64], "big") == len(schema.MIGRATIONS)
    before = bytes_of(path)
    with pytest.raises(StoreVersionError):
        SqliteJourneyStore(path)
    after = bytes_of(path)
    after.pop("store.db-shm", None)  # an index of the log that SQLite makes for every reader
    assert after == before


def test_an_older_store_is_migrated_with_all_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service)
        before = client.ask("snapshot")
    later = (*schema.MIGRATIONS, ("CREATE TABLE notes (note TEXT NOT NULL) STRICT",))
    monkeypatch.setattr(store, "MIGRATIONS", later)
    with serving(path) as service:
        assert Client(service, client.journey_id).ask("snapshot") == before
    assert rows(path, "PRAGMA user_version") == [(len(later),)]
    assert rows(path, "SELECT count(*) FROM notes") == [(0,)]


def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    SqliteJourneyStore(path).close()
    before = contents(path)
    broken = (*schema.MIGRATIONS, ("CREATE TABLE notes (note TEXT) STRICT", "CREATE NONSENSE"))
    monkeypatch.setattr(store, "MIGRATIONS", broken)
    with pytest.raises(StoreUnavailableError):
        SqliteJourneyStore(path)
    assert contents(path) == before
    assert rows(path, "PRAGMA user_version") == [(len(schema.MIGRATIONS),)]


def test_a_store_that_another_process_migrates_meanwhile_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    SqliteJourneyStore(path).close()
    looked_at = migrations._version

    def overtaken(connection: sqlite3.Connection) -> int:
        found = looked_at(connection)
        with closing(sqlite3.connect(path)) as other:
            if not connection.in_transaction:
                other.execute("PRAGMA user_version = 99")
        return found

    monkeypatch.setattr(migrations, "_version", overtaken)
    monkeypatch.setattr(store, "MIGRATIONS", (*schema.MIGRATIONS, ("SELECT 1",)))
    with pytest.raises(StoreVersionError):
        SqliteJourneyStore(path)
    assert rows(path, "PRAGMA user_version") == [(99,)]


def test_a_locked_file_cannot_be_opened_anew(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreUnavailableError):
            SqliteJourneyStore(path, patience_seconds=0.05)


def test_a_folder_that_does_not_exist_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError):
        SqliteJourneyStore(tmp_path / "absent" / "store.db")


def open_and_begin(path: Path, key: str) -> None:
    with serving(path) as service:
        begun(service, key)


def test_processes_that_create_one_store_at_once_all_get_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    context = get_context("fork")
    processes = [
        context.Process(target=open_and_begin, args=(path, f"key-{number}")) for number in range(6)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 6
    assert rows(path, "SELECT count(*) FROM journeys") == [(6,)]


def test_a_store_is_made_while_another_process_looks_at_the_file(tmp_path: Path) -> None:
    """A file that has no log yet can be read or be committed to, not both at once."""
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM sqlite_master").fetchall()
        timer = threading.Timer(0.3, lambda: other.execute("COMMIT"))
        timer.start()
        with serving(path) as service:
            begun(service)
        timer.join()
    assert rows(path, "SELECT count(*) FROM journeys") == [(1,)]


def look(path: Path, found: "Queue[int]") -> None:
    """Count the journeys, as another program does that opens the store and closes it again."""
    with closing(sqlite3.connect(path)) as connection:
        found.put(connection.execute("SELECT count(*) FROM journeys").fetchone()[0])


def test_who_opens_a_store_twice_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """A process drops all its locks on a file when it closes any descriptor of it. Without them
    another process takes itself for the last one, and removes the log that this one goes on with.
    """
    path = tmp_path / "store.db"
    context = get_context("spawn")
    found: Queue[int] = context.Queue()
    counts = []
    with serving(path) as service:
        begun(service, "first")
        SqliteJourneyStore(path).close()
        for key in ("second", "third"):
            other = context.Process(target=look, args=(path, found))
            other.start()
            counts.append(found.get(timeout=60))
            other.join()
            begun(service, key)
        other = context.Process(target=look, args=(path, found))
        other.start()
        counts.append(found.get(timeout=60))
        other.join()
    assert counts == [1, 2, 3]


def test_a_namespace_cannot_be_promised_what_the_store_does_not_do(tmp_path: Path) -> None:
    beyond = (*ADVERTISED, next(c for c in Capability if c not in ADVERTISED))
    with (
        SqliteJourneyStore(tmp_path / "store.db") as opened,
        pytest.raises(ValueError, match="capability"),
    ):
        opened.namespace("n", registry=Registry(), capabilities=beyond)
