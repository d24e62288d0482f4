"""The build sequence from start to settled, with a worker killed at every commit point in turn.

Everything is asked through the backend protocol; a killed worker is a process that SIGKILL ends
right before or right after one of its commits.
"""

import os
import signal
import sqlite3
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.impl import building
from tests.impl.building import Builder
from tests.impl.clients import HOUR, NOW, rows

from wayproof.conformance.protocol.backend import Answer, WorldSetup
from wayproof.conformance.protocol.sqlite_backend import SqliteBackend
from wayproof.impl import journey
from wayproof.impl.journey.connection import Turns
from wayproof.impl.journey.entering import Entered, Entrance
from wayproof.impl.journey.transaction import Transaction
from wayproof.spec.journey.encoding import encode


class KeptBackend(SqliteBackend):
    """The backend over a folder that outlives it."""

    def __init__(self, folder: Path) -> None:
        self.package = journey
        self._folder = folder
        self._synchronous = "NORMAL"
        self.store = self._open_store()

    def close(self) -> None:
        self.store.close()


def build(folder: Path, sequence: str, *, lease: str = "first", now: int = NOW) -> None:
    """Let a worker build to the end."""
    backend = KeptBackend(folder)
    try:
        world = backend.open("build", WorldSetup(registry=encode(building.REGISTRY), now=now))

        def ask(operation: str, arguments: dict[str, Any]) -> Any:
            reply = world.call(operation, arguments)
            return reply.value if isinstance(reply, Answer) else None

        Builder(ask, sequence, lease=lease).work()
        world.tick(now + 2 * HOUR)
        world.sweep()
    finally:
        backend.close()


def dies(folder: Path, sequence: str, number: int, point: str) -> bool:
    """Whether a worker gets as far as its commit of that number, and is killed right before or
    after it."""
    process = os.fork()
    if not process:
        status = 1
        try:
            commit, commits = Turns._commit, count()

            def deadly(turns: Turns) -> None:
                is_last = next(commits) == number
                if is_last and point == "before":
                    os.kill(os.getpid(), signal.SIGKILL)
                commit(turns)
                if is_last:
                    os.kill(os.getpid(), signal.SIGKILL)

            pytest.MonkeyPatch().setattr(Turns, "_commit", deadly)
            build(folder, sequence)
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def left(folder: Path) -> dict[str, Any]:
    """What a store holds of its one journey, without ids and moments."""
    path = folder / "store.db"
    queries = {
        "journeys": "SELECT lifecycle_state, terminal_reason, accounting_status,"
        " workflow_run_starts, task_attempt_starts, provider_retry_attempts, reconciled_tokens,"
        " reserved_tokens, conservatively_committed_tokens, discrepancies FROM journeys",
        "runs": "SELECT sequence_position, member_ordinal, stage_id, workflow_id, purpose, state,"
        " chosen_option_id FROM workflow_runs ORDER BY 1, 2",
        "intents": "SELECT ordinal, cause, state FROM dispatch_intents ORDER BY ordinal",
        "inputs": "SELECT stage_id, option_id, answered_at IS NOT NULL FROM input_requests"
        " JOIN workflow_runs USING (journey, workflow_run_id) ORDER BY sequence_position",
        "reservations": "SELECT state, actual_tokens FROM reservations ORDER BY ordinal",
    }
    return {name: rows(path, query) for name, query in queries.items()}


@pytest.fixture(params=tuple(building.SEQUENCES))
def sequence(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_it_runs_from_start_to_settled(tmp_path: Path, sequence: str) -> None:
    build(tmp_path, sequence)
    found = left(tmp_path)
    assert found["journeys"] == [
        ("completed", "journey_completed", "settled", 7, 7, 0, 50, 0, 0, 0)
    ]
    stages = [step.stage_id for step in building.SEQUENCES[sequence]]
    members = Counter({run[2]: 0 for run in found["runs"]})
    members.update(run[2] for run in found["runs"])
    assert list(members) == stages
    assert members["DesignDocs+SubscriptionContractDesigner"] in (0, 2)
    assert {run[5] for run in found["runs"]} == {"completed"}
    assert {run[2]: run[6] for run in found["runs"] if run[6]} == building.OPTIONS
    assert Counter(intent[1:] for intent in found["intents"]) == {
        ("start", "claimed"): 7,
        ("resume", "claimed"): 1,
    }
    assert found["inputs"][-1] == ("app_review", None, 1)


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_worker_that_comes_back_at_any_commit_ends_it_as_if_it_had_never_died(
    tmp_path: Path, sequence: str, point: str
) -> None:
    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    build(undisturbed, sequence)
    expected = left(undisturbed)
    for number in count():
        folder = tmp_path / f"{number}"
        folder.mkdir()
        died = dies(folder, sequence, number, point)
        build(folder, sequence)
        assert left(folder) == expected, number
        if not died:
            break
    assert number > 50


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_stranger_that_takes_over_at_any_commit_ends_it_once_and_starts_nothing_twice(
    tmp_path: Path, point: str
) -> None:
    sequence = "build_in_parallel"
    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    build(undisturbed, sequence)
    expected = left(undisturbed)
    ends: Counter[str] = Counter()
    for number in count():
        folder = tmp_path / f"{number}"
        folder.mkdir()
        died = dies(folder, sequence, number, point)
        is_orphaned = leaves_work_behind(folder)
        build(folder, sequence, lease="stranger", now=NOW + HOUR // 2)
        after = left(folder)
        [(state, reason, accounting, *_)] = after["journeys"]
        assert accounting == "settled", (number, after)
        assert len({run[:2] for run in after["runs"]}) == len(after["runs"])
        assert len({intent[0] for intent in after["intents"]}) == len(after["intents"])
        if is_orphaned:
            # Nothing that is persisted proves that this work may be done again.
            assert (state, reason) == ("failed", "orphan_recovery_unsafe"), number
            assert {intent[2] for intent in after["intents"]} <= {"claimed", "suppressed"}
            assert not {run[5] for run in after["runs"]} & {"queued", "active", "waiting"}
        else:
            assert after == expected, number
        ends[state] += 1
        if not died:
            break
    assert min(ends["failed"], ends["completed"]) > 10


def leaves_work_behind(folder: Path) -> bool:
    """Whether a run was active when its worker was killed."""
    try:
        return (
            rows(
                folder / "store.db",
                "SELECT 1 FROM workflow_runs JOIN journeys USING (journey)"
                " WHERE state = 'active' AND lifecycle_state = 'running'",
            )
            != []
        )
    except sqlite3.OperationalError:  # it died before there was a table
        return False


def test_a_stage_that_is_entered_in_a_commit_of_its_own_would_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault that the tests above are for, planted."""
    write = Entrance.write

    def write_apart(entrance: Entrance, tx: Transaction) -> Entered:
        tx.connection.execute("COMMIT")
        if entrance.stage.stage_id == "AppGenerator":
            os.kill(os.getpid(), signal.SIGKILL)
        tx.connection.execute("BEGIN IMMEDIATE")
        return write(entrance, tx)

    with monkeypatch.context() as planted:
        planted.setattr(Entrance, "write", write_apart)
        assert dies(tmp_path, "build", -1, "after")
    build(tmp_path, "build")
    # Behind the stage that was lost there is nothing left to do.
    assert left(tmp_path)["journeys"][0][:2] == ("completed", "journey_completed")
    assert [run[2] for run in left(tmp_path)["runs"]][-1] == "AgentGenerator"
