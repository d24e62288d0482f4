"""What SQLite cannot do is refused with persistence_unavailable, and then nothing was changed."""

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.impl.clients import MINUTE, NOW, begun, contents, rows, serving, start_request, started

from wayproof.impl.journey import (
    JourneyService,
    Refused,
    SqliteJourneyStore,
    StoreUnavailableError,
    reservations,
)
from wayproof.impl.journey.connection import Turns
from wayproof.impl.journey.rows import JourneyRow
from wayproof.impl.journey.transaction import LostUpdateError
from wayproof.spec.journey.refusals import Refusal, RefusalCode


def connection_of(service: JourneyService) -> sqlite3.Connection:
    return service._connection


def test_a_locked_store_refuses_after_its_patience_and_serves_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path, patience_seconds=0.1) as service:
        client = begun(service)
        before = contents(path)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            waited = time.monotonic()
            assert client.refused("reserve", **client.reservation("t")) == "persistence_unavailable"
            assert time.monotonic() - waited >= 0.1
            reply = service.call("start", start_request("other"), now=NOW)
            assert reply == Refused(code=RefusalCode.PERSISTENCE_UNAVAILABLE)
            # A reader needs no lock.
            assert client.ask("snapshot")["lifecycle_state"] == "running"
            other.execute("ROLLBACK")
        assert contents(path) == before
        client.reserve("t")


def test_a_command_waits_for_a_lock_that_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with (
        serving(path) as service,
        closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other,
    ):
        client = begun(service)
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.2, lambda: other.execute("ROLLBACK"))
        timer.start()
        client.reserve("t")
        timer.join()


def refuse_to_write(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA query_only = ON")


def fill_the_disk(connection: sqlite3.Connection) -> None:
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")


@pytest.mark.parametrize("hinder", [refuse_to_write, fill_the_disk])
def test_a_store_that_cannot_be_written_refuses_and_changes_nothing(
    tmp_path: Path, hinder: Callable[[sqlite3.Connection], None]
) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service)
        hinder(connection_of(service))
        refused, before = 0, contents(path)
        for number in range(200):
            # A full disk shows only when a commit needs another page.
            reply = client.send("reserve", **client.reservation(f"t-{number}" + "x" * 100))
            if isinstance(reply, Refused):
                assert (reply.code.value, reply.record_version) == ("persistence_unavailable", None)
                assert not connection_of(service).in_transaction
                assert contents(path) == before
                refused += 1
            else:
                before = contents(path)
        assert refused
        assert client.ask("snapshot")["lifecycle_state"] == "running"
    (count,) = rows(path, "SELECT count(*) FROM reservations")
    assert count == (200 - refused,)


def test_a_sweep_of_a_store_that_cannot_be_written_raises_the_refusal(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = started(service)
        client.ask("cancel")
        refuse_to_write(connection_of(service))
        before = contents(path)
        with pytest.raises(Refusal) as refused:
            service.sweep(now=NOW)
        assert refused.value.code == "persistence_unavailable"
        assert contents(path) == before


def test_a_file_whose_permissions_forbid_writing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service)
    with closing(
        sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)
    ) as connection:
        service = JourneyService(
            connection,
            Turns(connection, 1.0),
            namespace="test",
            registry=service._starts._registry,
            capabilities=frozenset(),
        )
        client.service = service
        before = path.read_bytes()
        assert client.refused("reserve", **client.reservation("t")) == "persistence_unavailable"
        assert client.ask("snapshot")["lifecycle_state"] == "running"
        assert path.read_bytes() == before


def damage(path: Path, *pages: int) -> bytes:
    content = bytearray(path.read_bytes())
    size = int.from_bytes(content[16:18], "big")
    for page in pages:
        content[(page - 1) * size : page * size] = b"\xa5" * size
    path.write_bytes(content)
    return bytes(content)


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service)
    [(page,)] = rows(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'journeys'")
    damaged = damage(path, page)
    with serving(path) as client.service:
        assert client.refused("snapshot") == "persistence_unavailable"
        assert client.refused("reserve", **client.reservation("t")) == "persistence_unavailable"
    assert path.read_bytes() == damaged


def test_a_damaged_schema_cannot_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    SqliteJourneyStore(path).close()
    [(pages,)] = rows(path, "PRAGMA page_count")
    damaged = damage(path, *range(2, pages + 1))
    with pytest.raises(StoreUnavailableError, match="malformed"):
        SqliteJourneyStore(path)
    assert path.read_bytes() == damaged


def test_a_fault_of_this_software_is_no_refusal_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service)
        before = contents(path)
        monkeypatch.setattr(reservations, "_GRANT", "INSERT INTO nowhere VALUES (?)")
        with pytest.raises(sqlite3.Error, match="nowhere"):
            client.send("reserve", **client.reservation("t"))
        assert contents(path) == before


def test_a_guarded_statement_that_finds_another_state_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service, max_total_tokens=50)
        before = contents(path)
        # A ceiling check that lets everything pass meets the ceiling of the statement itself.
        monkeypatch.setattr(JourneyRow, "max_total_tokens", 10**9)
        with pytest.raises(LostUpdateError):
            client.send("reserve", **client.reservation("t", max_output_tokens=60))
        assert contents(path) == before


def test_a_sweep_that_is_interrupted_keeps_what_it_has_committed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        for number in range(4):
            client = started(service, f"key-{number}")
            client.ask("cancel")
        commits = 0

        def interrupt(statement: str) -> None:
            nonlocal commits
            commits += statement == "COMMIT"
            if commits == 3 and statement == "COMMIT":
                connection_of(service).interrupt()

        connection_of(service).set_trace_callback(interrupt)
        with pytest.raises(Refusal):
            service.sweep(now=NOW + MINUTE)
        connection_of(service).set_trace_callback(None)
        states = rows(path, "SELECT lifecycle_state FROM journeys ORDER BY journey")
        assert states == [("cancelled",), ("cancelled",), ("cancelling",), ("cancelling",)]
        service.sweep(now=NOW + MINUTE)
        assert set(rows(path, "SELECT lifecycle_state FROM journeys")) == {("cancelled",)}
