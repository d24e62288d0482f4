"""What ends a wait, what a wait lets end, and what it leaves alone."""

import asyncio
import inspect
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from tests.impl.clients import (
    HOUR,
    MINUTE,
    NOW,
    REGISTRY,
    Client,
    begun,
    contents,
    rows,
    serving,
    started,
)
from tests.impl.elsewhere import (
    SCOPE,
    Hands,
    completed,
    forked,
    ported,
    request,
    run,
    serving_elsewhere,
)

from wayproof.impl.journey import (
    JourneyService,
    PortClosedError,
    SqliteJourneyPort,
    SystemClock,
    open_port,
    waiting,
)
from wayproof.spec.journey.constraints import format_moment, from_milliseconds, to_milliseconds
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.ports import WaitTimeoutError
from wayproof.spec.journey.vocabulary import LifecycleState, WorkflowRunState


def wakes_for_another_process(path: Path, patience_seconds: float = 10) -> list[float]:
    """How long each of some waiters sleeps on after its journey was completed elsewhere."""
    with serving_elsewhere(path) as service:
        clients = [begun(service, f"key-{number}") for number in range(5)]

        async def work() -> list[float]:
            delays = []
            async with ported(path) as made:
                for client in clients:
                    waiter = asyncio.create_task(
                        made.wait_terminal(client.journey_id, SCOPE, patience_seconds)
                    )
                    await asyncio.sleep(0.05)
                    assert not waiter.done()
                    completed(client)
                    since = time.monotonic()
                    outcome = await waiter
                    delays.append(time.monotonic() - since)
                    assert outcome.execution_state is LifecycleState.COMPLETED
            return delays

        return run(work())


def ends_by_its_deadline(path: Path, patience_seconds: float = 10) -> None:
    """Nobody but a waiter looks after a journey whose deadline passes."""

    async def work() -> None:
        clock = Hands()
        async with ported(path, now=clock) as made:
            handle = await made.start(request())
            waiter = asyncio.create_task(handle.wait_terminal(patience_seconds))
            await asyncio.sleep(0.05)
            clock.now = NOW + HOUR - 1
            await asyncio.sleep(0.05)
            assert not waiter.done()
            clock.now = NOW + HOUR
            assert (await waiter).execution_state is LifecycleState.TIMED_OUT

    run(work())


def leaves_the_journey_alone(path: Path, patience_seconds: float = 10) -> None:
    """Waiters that are cancelled, or time out, or lose their port, change nothing."""

    async def work() -> None:
        async with ported(path) as made:
            handle = await made.start(request())
            before = contents(path)
            for seconds in (0, 0.05):  # during its first look, and asleep
                waiter = asyncio.create_task(handle.wait_terminal(patience_seconds))
                await asyncio.sleep(seconds)
                waiter.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiter
                await handle.snapshot()  # after all that was asked before
                assert contents(path) == before
            with pytest.raises(WaitTimeoutError):
                await handle.wait_settled(0.05)
            waiter = asyncio.create_task(handle.wait_terminal(patience_seconds))
            await asyncio.sleep(0.05)
            assert contents(path) == before
        with pytest.raises(PortClosedError):
            await waiter
        with pytest.raises(PortClosedError):
            await handle.snapshot()
        assert contents(path) == before

    run(work())


def test_a_commit_of_another_process_wakes_its_waiter(tmp_path: Path) -> None:
    assert max(wakes_for_another_process(tmp_path / "store.db")) < 2


def test_a_journey_that_somebody_waits_for_ends_by_its_deadline(tmp_path: Path) -> None:
    ends_by_its_deadline(tmp_path / "store.db")


def test_a_wait_that_ends_early_leaves_the_journey_alone(tmp_path: Path) -> None:
    leaves_the_journey_alone(tmp_path / "store.db")


def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is ever woken."""
    monkeypatch.setattr(waiting._State, "concerns", lambda *_: False)


def blind_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the watch has once read of a journey stays as it was."""
    execute = "PRAGMA user_version"
    source = inspect.getsource(waiting.Watch._watch).replace("PRAGMA data_version", execute)
    namespace = dict(vars(waiting))
    exec(inspect.cleandoc("\n" + source), namespace)
    monkeypatch.setattr(waiting.Watch, "_watch", namespace["_watch"])


def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is due is left to others."""
    monkeypatch.setattr(JourneyService, "sweep_one", lambda *_, **__: None)


def meddling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever stops waiting cancels the journey."""
    wait = SqliteJourneyPort._wait

    async def meddle(self: SqliteJourneyPort, goal: Any, arguments: Any, timeout: Any) -> Any:
        try:
            return await wait(self, goal, arguments, timeout)
        except asyncio.CancelledError:
            self._executor.submit(self._service.call, "cancel", arguments, now=NOW)
            raise

    monkeypatch.setattr(SqliteJourneyPort, "_wait", meddle)


@pytest.mark.parametrize(
    ("plant", "scenario", "seen_as"),
    [
        (deaf, wakes_for_another_process, WaitTimeoutError),
        (deaf, ends_by_its_deadline, WaitTimeoutError),
        (blind_to_others, wakes_for_another_process, WaitTimeoutError),
        (idle, ends_by_its_deadline, WaitTimeoutError),
        (meddling, leaves_the_journey_alone, AssertionError),
    ],
)
def test_these_scenarios_find_planted_faults(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plant: Callable[[pytest.MonkeyPatch], None],
    scenario: Callable[[Path, float], object],
    seen_as: type[Exception],
) -> None:
    plant(monkeypatch)
    with pytest.raises(seen_as):
        scenario(tmp_path / "store.db", 0.4)


def test_a_journey_whose_owner_was_killed_ends_by_its_deadline(tmp_path: Path) -> None:
    path, clock = tmp_path / "store.db", SystemClock()
    deadline = clock.now() + 1500

    def own(pipe: Connection) -> None:
        async def start() -> str:
            async with open_port(path, namespace="test", registry=REGISTRY) as made:
                moment = format_moment(from_milliseconds(deadline))
                return (await made.start(request(deadline_utc=moment))).journey_id

        journey_id = run(start())
        with serving(path) as service:
            Client(service, journey_id, now=clock.now()).begin()
            pipe.send(journey_id)
            signal.pause()

    with forked(own) as (pipe, owner):
        journey_id = pipe.recv()
        assert owner.pid is not None
        os.kill(owner.pid, signal.SIGKILL)
        owner.join()
    assert owner.exitcode == -signal.SIGKILL

    async def wait() -> Any:
        async with open_port(path, namespace="test", registry=REGISTRY) as made:
            handle = made.handle(journey_id, SCOPE)
            assert (await handle.snapshot()).lifecycle_state is LifecycleState.RUNNING
            return await handle.wait_terminal()

    outcome = run(wait())
    assert outcome.execution_state is LifecycleState.TIMED_OUT
    assert {each.state for each in outcome.workflow_runs} == {WorkflowRunState.QUARANTINED}
    assert deadline <= to_milliseconds(outcome.finished_at) < deadline + 5000


def test_a_process_that_is_killed_while_it_waits_leaves_the_journey_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service)

    def wait(pipe: Connection) -> None:
        async def work() -> None:
            async with ported(path) as made:
                waiter = asyncio.create_task(made.wait_settled(client.journey_id, SCOPE))
                await asyncio.sleep(0.1)
                pipe.send("waiting")
                await waiter

        run(work())

    before = contents(path)
    with forked(wait) as (pipe, waiter):
        assert pipe.recv() == "waiting"
    assert waiter.exitcode == -signal.SIGKILL
    assert contents(path) == before


def test_every_due_moment_takes_effect_while_somebody_waits(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving_elsewhere(path) as service:
        client = begun(service)
        client.transmit("t")  # its lease lasts ten minutes, longer than all that follows

        async def work() -> None:
            clock = Hands()
            async with ported(path, now=clock) as made:
                handle = made.handle(client.journey_id, SCOPE)
                ended = asyncio.create_task(handle.wait_terminal())
                settled = asyncio.create_task(handle.wait_settled())
                await handle.cancel("operator_requested")
                clock.now = NOW + MINUTE - 1
                await asyncio.sleep(0.1)
                assert not ended.done()
                clock.now = NOW + MINUTE  # the cutoff of the cancellation
                outcome = await ended
                assert outcome.terminal_reason == "operator_requested"
                assert to_milliseconds(outcome.finished_at) == clock.now
                await asyncio.sleep(0.1)
                assert not settled.done()
                clock.now += 2 * MINUTE  # the accounting deadline
                result = await settled
                assert result.outcome == outcome
                assert result.accounting_status.value == "settlement_failed"
                assert to_milliseconds(result.settled_at) == clock.now

        run(work())


def test_a_lapsed_lease_ends_a_journey_that_somebody_waits_for(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving_elsewhere(path) as service:
        client = begun(service)

        async def work() -> None:
            clock = Hands()
            async with ported(path, now=clock) as made:
                waiter = asyncio.create_task(made.wait_terminal(client.journey_id, SCOPE))
                await asyncio.sleep(0.05)
                client.transmit("t")  # the waiter's next due moment is now sooner
                clock.now = NOW + 10 * MINUTE
                assert (await waiter).terminal_reason == "provider_transmission_ambiguous"

        run(work())


def test_waiters_of_several_processes_end_a_journey_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        journeys = [started(service, f"key-{number}").journey_id for number in range(20)]

    async def wait() -> list[Any]:
        async with ported(path, now=Hands(NOW + HOUR)) as made:
            waits = (made.wait_terminal(journey_id, SCOPE) for journey_id in journeys)
            return await asyncio.gather(*waits)

    with forked(lambda pipe: pipe.send(encode(tuple(run(wait()))))) as (pipe, _):
        here = run(wait())
        assert pipe.recv() == encode(tuple(here))
    assert {outcome.terminal_reason for outcome in here} == {"deadline_expired"}
    assert len(set(rows(path, "SELECT record_version, settled_at FROM journeys"))) == 1


def test_many_waiters_wait_at_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving_elsewhere(path) as service:
        clients = [begun(service, f"key-{number}") for number in range(20)]

        async def work() -> None:
            async with ported(path) as made:
                handles = [made.handle(client.journey_id, SCOPE) for client in clients]
                ended = [asyncio.create_task(h.wait_terminal()) for h in handles * 10]
                settled = [asyncio.create_task(h.wait_settled()) for h in handles * 5]
                await asyncio.sleep(0.2)
                assert not any(task.done() for task in [*ended, *settled])
                for client in clients:
                    completed(client)
                outcomes = await asyncio.gather(*ended)
                results = await asyncio.gather(*settled)
                assert outcomes == outcomes[:20] * 10
                assert [result.outcome for result in results] == outcomes[:20] * 5
                assert len({outcome.journey_id for outcome in outcomes}) == 20

        run(work())


def test_no_connection_is_used_by_two_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    def strict(*args: Any, **options: Any) -> sqlite3.Connection:
        return connect(*args, **{**options, "check_same_thread": True})

    monkeypatch.setattr(sqlite3, "connect", strict)
    ends_by_its_deadline(tmp_path / "store.db")
    leaves_the_journey_alone(tmp_path / "other.db")


def test_a_watch_that_breaks_ends_every_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    async def work() -> None:
        clock = Hands()
        async with ported(tmp_path / "store.db", now=clock) as made:
            handle = await made.start(request())
            waiter = asyncio.create_task(handle.wait_terminal())
            await asyncio.sleep(0.05)

            def broken(_: str) -> int:
                if threading.current_thread().name == "wayproof-journey-watch":
                    raise OSError("no clock")
                return NOW

            made._watch._now = broken
            with pytest.raises(PortClosedError):
                await waiter
            assert await handle.terminal_outcome() is None

    run(work())


def test_waits_go_on_through_a_passing_error_of_the_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [sqlite3.OperationalError("busy")] * 3
    state = waiting._state

    def failing(connection: sqlite3.Connection, journey_id: str) -> Any:
        if failures:
            raise failures.pop()
        return state(connection, journey_id)

    monkeypatch.setattr(waiting, "_state", failing)
    ends_by_its_deadline(tmp_path / "store.db")
    assert not failures
