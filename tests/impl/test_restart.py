"""A process may be replaced between any two commands, and may die inside any of them."""

import os
import secrets
import shutil
import signal
import sqlite3
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.impl.clients import Client, begun, contents, rows, serving
from tests.impl.script import STEPS

from wayproof.impl.journey.connection import Turns
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.vocabulary import DiscrepancyKind, ReservationState, WorkflowRunState

Act = Callable[[Client], Any]


@pytest.fixture(autouse=True)
def _predictable_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda size: f"{next(IDS[0]):032x}")
    predict_ids()


IDS = [count()]


def predict_ids() -> None:
    """From here on ids come in the same order again, so that two stores can be compared."""
    IDS[0] = count()


def test_the_script_covers_every_operation_and_every_state(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    asked = set()
    with serving(path) as service:
        call = service.call

        def listen(operation: str, arguments: object, *, now: int) -> Any:
            asked.add(operation)
            return call(operation, arguments, now=now)

        service.call = listen  # type: ignore[method-assign]
        client = Client(service)
        for _, act in STEPS:
            act(client)
    mutating = {name for name, operation in OPERATIONS.items() if operation.mutates}
    assert mutating - asked == {"complete_journey", "fail_journey"}
    states = {state for (state,) in rows(path, "SELECT state FROM reservations")}
    assert states == {
        ReservationState.RECONCILED,
        ReservationState.RELEASED_UNTRANSMITTED,
        ReservationState.EXPIRED_CONSERVATIVELY,
    }
    runs = {state for (state,) in rows(path, "SELECT state FROM workflow_runs")}
    assert runs == {WorkflowRunState.FAILED, WorkflowRunState.STOPPED}
    kinds = {kind for (kind,) in rows(path, "SELECT kind FROM discrepancies")}
    assert kinds == set(DiscrepancyKind) - {DiscrepancyKind.USAGE_OVER_RESERVATION}
    assert rows(path, "SELECT accounting_status FROM journeys") == [("settlement_failed",)]


def test_a_restart_before_every_command_changes_nothing(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.db", tmp_path / "parts.db"
    with serving(whole) as service:
        client = Client(service)
        answers = [act(client) for _, act in STEPS]
    predict_ids()
    for (name, act), answer in zip(STEPS, answers, strict=True):
        with serving(parts) as service:
            client = client.elsewhere(service) if name != "start" else Client(service)
            assert act(client) == answer, name
    assert contents(parts) == contents(whole)


Arm = Callable[[sqlite3.Connection], None]


def at_statement(number: int) -> Arm:
    """Die before the statement of that number is executed."""

    def arm(connection: sqlite3.Connection) -> None:
        statements = count()

        def die(statement: str) -> None:
            if next(statements) == number:
                os.kill(os.getpid(), signal.SIGKILL)

        connection.set_trace_callback(die)

    return arm


def inside_statements(number: int) -> Arm:
    """Die inside a statement, after so many times 40 instructions of SQLite's machine."""

    def arm(connection: sqlite3.Connection) -> None:
        calls = count()

        def die() -> None:
            if next(calls) == number:
                os.kill(os.getpid(), signal.SIGKILL)

        connection.set_progress_handler(die, 40)

    return arm


def acknowledges(path: Path, client: Client, act: Act, arm: Arm | None = None) -> bool:
    """Whether another process lives to acknowledge one step."""
    process = os.fork()
    if not process:
        status = 1
        try:
            with serving(path) as service:
                if arm is not None:
                    arm(service._connection)
                act(client.elsewhere(service))
                status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0
    return True


def what_is_left(path: Path, client: Client, act: Act, way: Callable[[int], Arm]) -> list[str]:
    """Of one step, killed earlier and later until it is not: what each process left behind."""
    trial = path.with_name("trial.db")
    before = contents(path)
    copy_store(path, trial)
    assert acknowledges(trial, client, act)
    after = contents(trial)
    left = []
    for number in count():
        copy_store(path, trial)
        acknowledged = acknowledges(trial, client, act, way(number))
        found = contents(trial)
        left.append("all" if found == after else "nothing" if found == before else "a part")
        if acknowledged:
            break
    assert left[-1] == "all", "what was acknowledged is gone"
    return left


def copy_store(path: Path, copy: Path) -> None:
    for suffix in ("-wal", "-shm"):
        copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    shutil.copyfile(path, copy)


@pytest.mark.parametrize("way", [at_statement, inside_statements])
def test_a_process_that_is_killed_leaves_all_or_nothing(
    tmp_path: Path, way: Callable[[int], Arm]
) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = Client(service)
    deaths = 0
    for name, act in STEPS:
        left = what_is_left(path, client, act, way)
        assert "a part" not in left, name
        assert "nothing" in left, name
        deaths += len(left) - 1
        with serving(path) as service:
            client = client.elsewhere(service)
            act(client)
    assert deaths > 3 * len(STEPS)


def test_a_store_without_transactions_would_be_seen_to_leave_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service)
    monkeypatch.setattr(Turns, "write", lambda self, work: work())
    left = what_is_left(path, client, lambda client: client.reserve("t"), at_statement)
    assert "a part" in left


def test_a_log_that_a_loss_of_power_tore_holds_all_or_nothing(tmp_path: Path) -> None:
    path, torn = tmp_path / "store.db", tmp_path / "torn.db"
    log, torn_log = tmp_path / "store.db-wal", tmp_path / "torn.db-wal"
    with serving(path) as service:
        client = begun(service)
        before, size = contents(path), log.stat().st_size
        client.reserve("t")
        after, content = contents(path), log.read_bytes()
        found = []
        for length in (*range(size, len(content), 128), len(content)):
            copy_store(path, torn)
            # Behind the tear lies what an earlier use of the log left there.
            torn_log.write_bytes(content[:length] + b"\x5a" * (len(content) - length))
            with serving(torn):
                found.append(contents(torn))
    assert all(each in (before, after) for each in found)
    assert found[0] == before and found[-1] == after
