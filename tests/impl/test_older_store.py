"""A store that an earlier version wrote, opened by this one: the first knew one stage, no outbox
and no inputs."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.impl import clients
from tests.impl.clients import NOW, Client, rows, serving, start_request
from tests.impl.recount import disagreements

from wayproof.impl.journey import Refused, SqliteJourneyStore, StoreUnavailableError, schema, store
from wayproof.spec.journey.definitions import (
    EntrypointDeclaration,
    OptionDeclaration,
    Registry,
    TransitionDeclaration,
)
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.validation import decode_record

VERSION_1 = Path(__file__).with_name("stores") / "version_1.sql"
REGISTRY = Registry(
    workflows=clients.REGISTRY.workflows,
    entrypoints=(EntrypointDeclaration(id="front", sequence="build", transition="style"),),
    transitions=(
        TransitionDeclaration(
            id="style", options=(OptionDeclaration(id="plain"), OptionDeclaration(id="rich"))
        ),
    ),
    workflow_sequences=clients.REGISTRY.workflow_sequences,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "store.db"
    with closing(sqlite3.connect(found)) as connection:
        connection.executescript(VERSION_1.read_text())
    assert rows(found, "PRAGMA user_version") == [(1,)]
    return found


def client_of(service: Any, path: Path, key: str) -> Client:
    """The owner of the journey of that key, which goes on."""
    [(journey_id,)] = rows(
        path,
        "SELECT journey_id FROM journeys JOIN starts USING (journey) WHERE idempotency_key = ?",
        key,
    )
    client = Client(service, journey_id, token=1, now=NOW + 1000)
    listed = client.ask("list_workflow_runs")["workflow_runs"]
    client.runs = [run["workflow_run_id"] for run in listed]
    return client


def test_its_journeys_are_read_as_they_stood(path: Path) -> None:
    before = rows(
        path,
        "SELECT workflow_run_id, state, started_at, finished_at FROM workflow_runs ORDER BY 1",
    )
    with serving(path, registry=REGISTRY) as service:
        for key, state in (
            ("running", "running"),
            ("chosen", "pending"),
            ("completed", "completed"),
            ("cancelling", "cancelling"),
        ):
            client = client_of(service, path, key)
            assert client.ask("snapshot")["lifecycle_state"] == state
            for operation in ("snapshot", "list_workflow_runs", "list_dispatch_intents"):
                decode_record(OPERATIONS[operation].reply, client.ask(operation))
    after = rows(
        path,
        "SELECT workflow_run_id, state, started_at, finished_at FROM workflow_runs"
        " WHERE created_at = started_at ORDER BY 1",
    )
    assert len(before) == 7
    assert after == before
    assert rows(path, "PRAGMA user_version") == [(len(schema.MIGRATIONS),)]
    assert disagreements(path, NOW) == []


def test_its_journeys_go_on(path: Path) -> None:
    with serving(path, registry=REGISTRY) as service:
        client = client_of(service, path, "running")
        active = [
            run["workflow_run_id"]
            for run in client.ask("list_workflow_runs")["workflow_runs"]
            if run["state"] == "active"
        ]
        begun = client.owner("begin_journey")
        assert (len(begun["workflow_run_ids"]), begun["input_request_id"]) == (2, None)
        (failed,) = set(begun["workflow_run_ids"]) - set(active)
        client.submit(active[0], client.pause(active[0], "pause"))
        client.owner("claim_dispatched_run", workflow_run_id=active[0])
        repair = client.child("mend", "repair", parent=failed)
        for run in (*active, repair):
            assert client.finish(run)["next_workflow_run_ids"] == []
            assert disagreements(path, client.now) == []
        client.owner("report_unsent", transmission_id="open")
        client.owner("complete_journey")
        assert client.ask("settled_result")["accounting_status"] == "settled"

        stopping = client_of(service, path, "cancelling")
        for run in stopping.runs:
            assert stopping.finish(run)["state"] == "stopped"
        service.sweep(now=NOW)
        assert stopping.ask("snapshot")["lifecycle_state"] == "cancelled"

        pending = client_of(service, path, "chosen")
        pending.begin()
        assert len(pending.runs) == 2
    assert disagreements(path, NOW) == []
    assert rows(path, "SELECT transition_id, option_id FROM route_choices") == [("style", "plain")]


def test_what_it_recorded_is_answered_with_the_fields_of_today(path: Path) -> None:
    with serving(path, registry=REGISTRY) as service:
        client = client_of(service, path, "running")
        parent = next(
            run["parent_workflow_run_id"]
            for run in client.ask("list_workflow_runs")["workflow_runs"]
            if run["purpose"] == "decomposition"
        )
        again = client.owner(
            "start_workflow_run",
            operation_id="child",
            parent_workflow_run_id=parent,
            workflow_id="plan",
            purpose="decomposition",
        )
        decode_record(OPERATIONS["start_workflow_run"].reply, again)
        assert again["workflow_run_ids"][0] in client.runs


def test_a_start_that_it_accepted_starts_nothing_twice(path: Path) -> None:
    """Its pinned definition has a transition, which has more fields by now, and so another digest:
    the start is no longer the same, but its key is known."""
    before = rows(path, "SELECT count(*) FROM journeys")
    with serving(path, registry=REGISTRY) as service:
        reply = service.call("start", start_request("running"), now=NOW)
        assert isinstance(reply, Refused)
        assert reply.code is RefusalCode.IDEMPOTENCY_CONFLICT
        assert client_of(service, path, "running").journey_id == reply.detail["journey_id"]
    assert rows(path, "SELECT count(*) FROM journeys") == before


def test_a_migration_that_loses_a_reference_is_not_made(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, *later = schema.MIGRATIONS
    losing = (*second, "DELETE FROM workflow_runs")
    monkeypatch.setattr(store, "MIGRATIONS", (first, losing, *later))
    before = rows(path, "SELECT * FROM workflow_runs")
    with pytest.raises(StoreUnavailableError, match="migrated"):
        SqliteJourneyStore(path)
    assert rows(path, "SELECT * FROM workflow_runs") == before
    assert rows(path, "PRAGMA user_version") == [(1,)]


def test_references_are_kept_again_once_it_is_open(path: Path) -> None:
    with serving(path, registry=REGISTRY) as service:
        assert service._connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
        with pytest.raises(sqlite3.IntegrityError):
            service._connection.execute("DELETE FROM workflow_runs")
