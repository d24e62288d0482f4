"""The port: waits of several processes on one store, and what they leave alone."""

import asyncio
import inspect
import math
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta, timezone
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

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
from tests.impl.elsewhere import SCOPE, Hands, forked, ported, request, run, serving_elsewhere

from wayproof.impl.journey import (
    ForeignFileError,
    JourneyHandle,
    JourneyService,
    PortClosedError,
    SqliteJourneyPort,
    SystemClock,
    open_port,
    port,
    waiting,
)
from wayproof.spec.journey.constraints import format_moment, from_milliseconds, to_milliseconds
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.ports import (
    JourneyExecutionHandle,
    JourneyExecutionPort,
    WaitTimeoutError,
)
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.vocabulary import LifecycleState, WorkflowRunState

STRANGER = replace(SCOPE, owner_id="somebody-else")


def completed(client: Client) -> None:
    """Let a journey that runs complete."""
    for run_id in client.runs:
        client.owner("finish_workflow_run", workflow_run_id=run_id, outcome="completed")
    client.owner("complete_journey")


async def refusal_of(asked: Awaitable[object]) -> tuple[str, Any]:
    with pytest.raises(Refusal) as refused:
        await asked
    return refused.value.code.value, dict(refused.value.detail)


# What it answers


def methods(protocol: type) -> Iterator[tuple[str, inspect.Signature]]:
    for name, member in vars(protocol).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            yield name, inspect.signature(member)


def test_the_port_and_its_handle_have_every_method_of_the_contract(tmp_path: Path) -> None:
    async def work() -> None:
        async with ported(tmp_path / "store.db") as made:
            typed: JourneyExecutionPort = made
            handle: JourneyExecutionHandle = await typed.start(request())
            assert handle.journey_id

    run(work())
    for protocol, made in (
        (JourneyExecutionPort, SqliteJourneyPort),
        (JourneyExecutionHandle, JourneyHandle),
    ):
        found = dict(methods(protocol))
        assert len(found) >= 7
        for name, signature in found.items():
            method = getattr(made, name)
            assert inspect.iscoroutinefunction(method)
            assert inspect.signature(method).parameters == signature.parameters, name


def test_every_method_answers_what_the_service_answers(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving_elsewhere(path) as service:
        client = begun(service)
        completed(client)

        async def work() -> None:
            async with ported(path) as made:
                handle = made.handle(client.journey_id, SCOPE)
                snapshot = client.ask("snapshot")
                runs = await handle.list_workflow_runs()
                outcome, result = client.ask("terminal_outcome"), client.ask("settled_result")
                assert encode(await handle.snapshot()) == snapshot
                assert encode(runs) == client.ask("list_workflow_runs")["workflow_runs"]
                assert len(runs) == 2
                assert encode(await handle.terminal_outcome()) == outcome
                assert encode(await handle.wait_terminal(0)) == outcome
                assert encode(await handle.settled_result()) == result
                assert encode(await handle.wait_settled()) == result
                assert encode(await handle.cancel()) == snapshot

        run(work())


def test_a_handle_that_is_lost_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def work() -> None:
        async with ported(path) as made:
            handle = await made.start(request())
            journey_id, snapshot = handle.journey_id, await handle.snapshot()
            assert (await made.start(request())).journey_id == journey_id
            del handle
        before = contents(path)
        async with ported(path) as made:
            again = made.handle(journey_id, replace(SCOPE))
            assert await again.snapshot() == snapshot
            assert await again.terminal_outcome() is None
        assert contents(path) == before

    run(work())


def test_what_is_refused_names_the_field(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    deadline = request().policy.deadline_utc
    moments = (
        deadline.replace(tzinfo=None),
        deadline.astimezone(timezone(timedelta(hours=2))),
        deadline + timedelta(microseconds=1),
    )

    async def work() -> None:
        async with ported(path) as made:
            for moment in moments:
                wrong = replace(request(), policy=replace(request().policy, deadline_utc=moment))
                code, detail = await refusal_of(made.start(wrong))
                assert (code, detail["pointer"]) == ("invalid_request", "/policy/deadline_utc")
            # Planned: this store dispatches no second stage.
            code, detail = await refusal_of(made.start(request(sequence="long")))
            assert code == "journey_execution_capability_unavailable"
            assert detail["missing"]
            handle = await made.start(request())
            code, _ = await refusal_of(handle.cancel("for_no_reason"))
            assert code == "unsupported_cancellation_reason"
            assert (await handle.snapshot()).lifecycle_state is LifecycleState.PENDING

    run(work())


def test_a_file_that_is_no_store_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_text("something else" * 100)
    threads = threading.active_count()

    async def work() -> None:
        with pytest.raises(ForeignFileError):
            async with ported(path):
                pass
        with pytest.raises(ValueError, match="capability"):
            async with ported(tmp_path / "other.db", capabilities=["unheard_of"]):
                pass

    run(work())
    until = time.monotonic() + 10
    while threading.active_count() > threads and time.monotonic() < until:
        time.sleep(0.01)
    assert threading.active_count() == threads


# Who may ask


def asked(made: SqliteJourneyPort, journey_id: str, access: Any) -> list[Awaitable[object]]:
    return [
        made.snapshot(journey_id, access),
        made.list_workflow_runs(journey_id, access),
        made.wait_terminal(journey_id, access),
        made.wait_terminal(journey_id, access, 0),
        made.terminal_outcome(journey_id, access),
        made.wait_settled(journey_id, access, 0),
        made.settled_result(journey_id, access),
        made.cancel(journey_id, access),
    ]


@pytest.mark.parametrize("ended", [False, True])
def test_a_stranger_is_told_that_there_is_no_such_journey(tmp_path: Path, ended: bool) -> None:
    path = tmp_path / "store.db"

    async def work() -> None:
        clock = Hands()
        async with ported(path, now=clock) as made:
            handle = await made.start(request())
            clock.now += 2 * HOUR  # so that a sweep would find something to do
            if ended:
                await handle.wait_terminal()
            before = contents(path)
            journeys = (handle.journey_id, STRANGER), ("journey-unknown", SCOPE)
            for journey_id, access in journeys:
                for each in asked(made, journey_id, access):
                    assert await refusal_of(each) == ("journey_not_found", {})
            assert contents(path) == before

    run(work())


# What ends a wait, and what a wait lets end


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


# Timeouts


def test_a_timeout_of_zero_looks_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = counted_looks(monkeypatch)

    async def work() -> None:
        clock = Hands()
        async with ported(tmp_path / "store.db", now=clock) as made:
            handle = await made.start(request())
            for timeout in (0, 0.0, 1e-9):
                with pytest.raises(WaitTimeoutError):
                    await handle.wait_terminal(timeout)
            assert looks() == 3
            clock.now += HOUR
            assert (await handle.wait_terminal(0)).terminal_reason == "deadline_expired"

    run(work())


def test_a_wait_takes_no_longer_than_its_timeout(tmp_path: Path) -> None:
    async def work() -> None:
        async with ported(tmp_path / "store.db") as made:
            handle = await made.start(request())
            since = time.monotonic()
            with pytest.raises(WaitTimeoutError):
                await handle.wait_terminal(0.3)
            assert 0.3 <= time.monotonic() - since < 5
            for longest in (10**400, 1e300, None):
                waiter = asyncio.create_task(handle.wait_terminal(longest))
                await asyncio.sleep(0.05)
                assert not waiter.done()
                waiter.cancel()

    run(work())


@pytest.mark.parametrize(
    ("timeout", "problem"),
    [
        (-1, "out_of_bounds"),
        (-0.001, "out_of_bounds"),
        (math.inf, "out_of_bounds"),
        (math.nan, "out_of_bounds"),
        (True, "wrong_type"),
        ("1", "wrong_type"),
    ],
)
def test_a_timeout_that_is_none_is_refused(tmp_path: Path, timeout: Any, problem: str) -> None:
    async def work() -> None:
        async with ported(tmp_path / "store.db") as made:
            handle = await made.start(request())
            expected = ("invalid_request", {"pointer": "/timeout_seconds", "problem": problem})
            assert await refusal_of(handle.wait_terminal(timeout)) == expected
            assert await refusal_of(handle.wait_settled(timeout)) == expected
            # In the order of the contract: a schema version comes before, access after it.
            other = replace(SCOPE, schema_version=cast(Any, "other"))
            code, _ = await refusal_of(made.wait_terminal(handle.journey_id, other, timeout))
            assert code == "unsupported_schema_version"
            stranger = made.wait_terminal(handle.journey_id, STRANGER, timeout)
            assert await refusal_of(stranger) == expected

    run(work())


# What waiting costs


def counted_looks(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    looks: list[str] = []
    sweep_one = JourneyService.sweep_one

    def counting(self: JourneyService, access: Any, journey_id: str, *, now: int) -> None:
        looks.append(journey_id)
        sweep_one(self, access, journey_id, now=now)

    monkeypatch.setattr(JourneyService, "sweep_one", counting)
    return lambda: len(looks)


def test_a_waiter_sleeps_while_nothing_concerns_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, looks = tmp_path / "store.db", counted_looks(monkeypatch)
    with serving_elsewhere(path) as service:
        client, other = begun(service), begun(service, "other")

        async def work() -> None:
            async with ported(path) as made:
                handle = made.handle(client.journey_id, SCOPE)
                waiters = [asyncio.create_task(handle.wait_terminal()) for _ in range(50)]
                await asyncio.sleep(0.3)
                assert looks() == 50
                used = time.process_time()
                await asyncio.sleep(0.5)
                # Busy waiting would take all of it.
                assert time.process_time() - used < 0.2
                for number in range(5):
                    other.reserve(f"t-{number}")
                    client.reserve(f"t-{number}")
                    await asyncio.sleep(0.03)
                assert looks() == 50
                completed(client)
                await asyncio.gather(*waiters)
                assert looks() == 100

        run(work())


def test_the_event_loop_goes_on_while_another_writer_holds_the_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def work() -> None:
        async with ported(path, patience_seconds=0.4) as made:
            handle = await made.start(request())
            with closing(sqlite3.connect(path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                cancelling = asyncio.create_task(refusal_of(handle.cancel()))
                turns = 0
                while not cancelling.done():
                    await asyncio.sleep(0.01)
                    turns += 1
                assert await cancelling == ("persistence_unavailable", {})
                assert turns >= 10
            assert (await handle.cancel()).lifecycle_state is LifecycleState.CANCELLING

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

            def broken() -> int:
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


# The page


def test_the_example_of_the_page_prints_what_the_page_says(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/port.md").read_text(encoding="utf-8")
    program = page.partition("```python\n")[2].partition("```")[0]
    printed = page.partition("```text\n")[2].partition("```")[0]
    found = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert program and found.stdout == printed
    assert (tmp_path / "journeys.db").exists()


def test_every_name_of_the_port_that_the_page_names_is_there() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/port.md").read_text(encoding="utf-8")
    for name in ("look_interval_seconds", "patience_seconds", "now"):
        assert f"`{name}`" in page
        assert name in inspect.signature(port.open_port).parameters
