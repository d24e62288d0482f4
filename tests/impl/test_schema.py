"""What the tables refuse by themselves, should a statement ever be wrong."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.impl.clients import begun, serving

from wayproof.impl.journey import schema
from wayproof.spec.journey.vocabulary import (
    AccountingStatus,
    Counter,
    LifecycleState,
    ReservationState,
    WorkflowRunState,
)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE journeys SET task_attempt_starts = 4",
        "UPDATE journeys SET reserved_tokens = -1",
        "UPDATE journeys SET reserved_tokens = 'many'",
        "UPDATE journeys SET lifecycle_state = 'paused'",
        "UPDATE journeys SET lifecycle_state = 'completed'",
        "UPDATE journeys SET terminal_reason = 'journey_completed'",
        "UPDATE journeys SET accounting_status = 'settled'",
        "UPDATE journeys SET cancellation_reason = 'caller_requested'",
        "UPDATE journeys SET definition_digest = 'none'",
        "UPDATE reservations SET state = 'reconciled'",
        "UPDATE reservations SET state = 'released_untransmitted'",
        "UPDATE reservations SET actual_tokens = 5",
        "UPDATE reservations SET workflow_run_id = 'none'",
        "UPDATE workflow_runs SET state = 'completed'",
        "UPDATE workflow_runs SET superseded = 1",
        "INSERT INTO reservations SELECT * FROM reservations",
        "INSERT INTO starts SELECT 2, namespace, creation_scope, idempotency_key, '', ''"
        " FROM starts",
        "DELETE FROM journeys",
        "DELETE FROM definitions",
    ],
)
def test_a_wrong_statement_is_refused(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        begun(service, max_task_attempt_starts=3).reserve("t")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(statement)


def test_the_tables_know_the_words_of_the_contract() -> None:
    """The words stand in the schema as text, because a migration never changes."""
    text = " ".join(statement for migration in schema.MIGRATIONS for statement in migration)
    for words in (LifecycleState, AccountingStatus, ReservationState, WorkflowRunState):
        assert all(f"'{word}'" in text for word in words)
    assert all(f"max_{counter} INTEGER" in text for counter in Counter)


def test_every_table_is_strict(tmp_path: Path) -> None:
    with serving(tmp_path / "store.db") as service:
        tables = service._connection.execute("PRAGMA table_list").fetchall()
    ours = [table for table in tables if not table[1].startswith("sqlite_")]
    assert len(ours) == 7
    assert all(table[5] == 1 for table in ours)
