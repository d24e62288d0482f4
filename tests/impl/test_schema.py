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
    DispatchCause,
    DispatchState,
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
        "UPDATE workflow_runs SET state = 'queued', finished_at = NULL",
        "UPDATE workflow_runs SET state = 'waiting'",
        "UPDATE workflow_runs SET pending_input_request_id = 'none'",
        "UPDATE workflow_runs SET chosen_option_id = 'none'",
        "UPDATE workflow_runs SET started_at = NULL WHERE state = 'active'",
        "UPDATE workflow_runs SET workflow_id = NULL WHERE state = 'active'",
        "UPDATE journeys SET unfinished_runs = -1",
        "UPDATE journeys SET stage_unfinished_runs = -1",
        "UPDATE dispatch_intents SET state = 'delivered'",
        "UPDATE dispatch_intents SET input_request_id = NULL",
        "UPDATE dispatch_intents SET workflow_run_id = 'none'",
        "INSERT INTO dispatch_intents SELECT * FROM dispatch_intents",
        "UPDATE input_requests SET answered_at = NULL, option_id = 'none'",
        "UPDATE input_requests SET workflow_run_id = 'none'",
        "INSERT INTO route_choices SELECT journey + 1, 'transition', 'option' FROM journeys",
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
        client = begun(service, max_task_attempt_starts=3)
        client.reserve("t")
        client.submit(client.runs[1], client.pause(client.runs[1], "pause"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(statement)


_WORDS = (
    *(LifecycleState, AccountingStatus, ReservationState, WorkflowRunState),
    *(DispatchState, DispatchCause),
)


def test_the_tables_know_the_words_of_the_contract() -> None:
    """The words stand in the schema as text, because a migration never changes."""
    text = " ".join(statement for migration in schema.MIGRATIONS for statement in migration)
    for words in _WORDS:
        assert all(f"'{word}'" in text for word in words)
    assert all(f"max_{counter} INTEGER" in text for counter in Counter)


def test_every_table_is_strict(tmp_path: Path) -> None:
    with serving(tmp_path / "store.db") as service:
        tables = service._connection.execute("PRAGMA table_list").fetchall()
    ours = [table for table in tables if not table[1].startswith("sqlite_")]
    assert len(ours) == 10
    assert all(table[5] == 1 for table in ours)
