"""The port: what it answers, to whom, how long its waits last and what they cost."""

import asyncio
import inspect
import math
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any, cast

import pytest
from tests.impl.clients import (
    HOUR,
    Client,
    begun,
    contents,
    serving,
)
from tests.impl.elsewhere import (
    SCOPE,
    Hands,
    completed,
    counted_looks,
    ported,
    request,
    run,
    serving_elsewhere,
)

from wayproof.impl.journey import (
    ADVERTISED,
    ForeignFileError,
    JourneyHandle,
    SqliteJourneyPort,
    port,
)
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.ports import (
    JourneyExecutionHandle,
    JourneyExecutionPort,
    WaitTimeoutError,
)
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.vocabulary import Capability, LifecycleState, WorkflowRunState

STRANGER = replace(SCOPE, owner_id="somebody-else")


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
            handle = await made.start(request())
            code, _ = await refusal_of(handle.cancel("for_no_reason"))
            assert code == "unsupported_cancellation_reason"
            assert (await handle.snapshot()).lifecycle_state is LifecycleState.PENDING

    run(work())


def test_a_capability_that_is_withheld_refuses_what_needs_it(tmp_path: Path) -> None:
    kept = set(ADVERTISED) - {Capability.DURABLE_DISPATCH}

    async def work() -> None:
        async with ported(tmp_path / "store.db", capabilities=kept) as made:
            code, detail = await refusal_of(made.start(request(sequence="long")))
            assert code == "journey_execution_capability_unavailable"
            assert detail["missing"] == ["durable_dispatch"]
            await made.start(request())

    run(work())


def test_a_run_that_waits_tells_for_what(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def work() -> None:
        async with ported(path) as made:
            handle = await made.start(request(sequence="long"))
            with serving(path) as service:
                client = Client(service, handle.journey_id)
                client.begin()
                asked = client.pause(client.runs[0], "pause")
                (waiting,) = await handle.list_workflow_runs()
                assert waiting.state is WorkflowRunState.WAITING
                assert waiting.pending_input_request_id == asked
                client.submit(client.runs[0], asked)
                client.owner("claim_dispatched_run", workflow_run_id=client.runs[0])
                client.finish(client.runs[0])
            first, second = await handle.list_workflow_runs()
            assert (first.state, first.pending_input_request_id) == ("completed", None)
            assert (second.state, second.started_at) == (WorkflowRunState.QUEUED, None)
            assert second.parent_workflow_run_id == first.workflow_run_id
            assert (await handle.snapshot()).current_stage == "draw"

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
