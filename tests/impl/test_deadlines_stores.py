"""Processes whose clocks are set: an expiry that one of them sees is durable for all."""

import asyncio
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from tests.impl.clients import ACCESS, HOUR, MINUTE, NOW, Client, begun, rows, serving
from tests.impl.elsewhere import SCOPE, Hands, Time, counted_looks, forked, ported, request, run

from wayproof.impl.journey import Refused, deadlines
from wayproof.impl.journey.deadlines import (
    DeadlineReachedError,
    Deadlines,
    ProcessDeadline,
    derive,
    stop_at_deadline,
)
from wayproof.spec.journey.constraints import to_milliseconds
from wayproof.spec.journey.ports import WaitTimeoutError

DEADLINE = NOW + HOUR


def ends_by_the_monotonic_clock(path: Path, patience_seconds: float = 10) -> None:
    """UTC is set back for everybody; the process that met the journey before ends it in time."""
    with serving(path) as service:
        client = begun(service)

    def come_later(pipe: Connection) -> None:
        """A process that starts after the clock was set back, and knows UTC alone."""

        async def work() -> None:
            pipe.recv()
            async with ported(path, now=Hands(NOW - HOUR), monotonic=Hands(0)) as made:
                with pytest.raises(WaitTimeoutError):
                    await made.wait_terminal(client.journey_id, SCOPE, 0.1)
                pipe.send("it goes on")
                outcome = await made.wait_terminal(client.journey_id, SCOPE)
                pipe.send((outcome.terminal_reason, to_milliseconds(outcome.finished_at)))

        run(work())

    with forked(come_later) as (pipe, _):

        async def work() -> None:
            time = Time()
            async with ported(path, now=time.utc, monotonic=time.monotonic) as made:
                handle = made.handle(client.journey_id, SCOPE)
                waiter = asyncio.create_task(handle.wait_terminal(patience_seconds))
                settled = asyncio.create_task(handle.wait_settled())
                settled.add_done_callback(lambda task: task.cancelled() or task.exception())
                await asyncio.sleep(0.1)
                time.is_set(-HOUR)
                time.passes(HOUR - 1)
                pipe.send("set back")
                assert await asyncio.to_thread(pipe.recv) == "it goes on"
                await asyncio.sleep(0.1)
                assert not waiter.done()
                time.passes(1)
                outcome = await waiter
                assert outcome.terminal_reason == "deadline_expired"
                assert to_milliseconds(outcome.finished_at) == DEADLINE > time.utc.now
                assert (await settled).outcome == outcome

        run(work())
        assert pipe.poll(10)
        assert pipe.recv() == ("deadline_expired", DEADLINE)
    # Durable: whoever works by UTC alone finds it ended too.
    with serving(path) as service:
        late = Client(service, client.journey_id, now=NOW, token=client.token)
        assert late.refused("complete_journey", fencing_token=late.token) == "journey_terminal"


def cancels_too_late(path: Path, _: float = 0) -> None:
    """After an expiry that only the monotonic clock shows, a cancellation finds a timed_out."""

    async def work() -> None:
        time = Time()
        async with ported(path, now=time.utc, monotonic=time.monotonic) as made:
            handle = await made.start(request())
            time.is_set(-HOUR)
            time.passes(HOUR)
            assert (await handle.snapshot()).terminal_reason is None  # a read ends nothing
            assert (await handle.cancel()).terminal_reason == "deadline_expired"

    run(work())


def test_an_expiry_that_only_one_process_sees_is_durable_for_all(tmp_path: Path) -> None:
    ends_by_the_monotonic_clock(tmp_path / "store.db")


def test_a_cancellation_after_a_monotonic_expiry_changes_nothing(tmp_path: Path) -> None:
    cancels_too_late(tmp_path / "store.db")


def test_a_clock_that_is_set_forward_ends_a_journey_at_once(tmp_path: Path) -> None:
    async def work() -> None:
        time = Time()
        async with ported(tmp_path / "store.db", now=time.utc, monotonic=time.monotonic) as made:
            waiter = asyncio.create_task((await made.start(request())).wait_terminal())
            await asyncio.sleep(0.05)
            time.is_set(HOUR)
            outcome = await waiter
            assert to_milliseconds(outcome.finished_at) == DEADLINE

    run(work())


def test_a_wait_that_goes_on_after_a_monotonic_expiry_is_not_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journey has ended by then; what is due next lies in UTC's future."""
    path, looks = tmp_path / "store.db", counted_looks(monkeypatch)
    with serving(path) as service:
        client = begun(service)
        client.transmit("t", lease_milliseconds=3 * HOUR)

    async def work() -> None:
        time = Time()
        async with ported(path, now=time.utc, monotonic=time.monotonic) as made:
            waiter = asyncio.create_task(made.wait_settled(client.journey_id, SCOPE))
            await asyncio.sleep(0.1)
            time.is_set(-HOUR)
            time.passes(HOUR)
            await asyncio.sleep(0.1)
            found = rows(path, "SELECT lifecycle_state, accounting_status FROM journeys")
            assert found == [("timed_out", "pending")]
            before = looks()
            await asyncio.sleep(0.3)
            assert looks() == before
            time.is_set(HOUR + 2 * MINUTE)
            assert (await waiter).accounting_status == "settlement_failed"

    run(work())


def test_an_owner_stops_and_makes_the_expiry_durable_over_a_store(tmp_path: Path) -> None:
    path, time = tmp_path / "store.db", Time()
    begun_late: list[bool] = []
    with serving(path) as service:
        client = begun(service)

        async def work_late() -> None:
            begun_late.append(True)

        async def make_durable(moment: int) -> None:
            service.sweep_one(SCOPE, client.journey_id, now=moment)

        async def work() -> None:
            now = time.utc()
            persisted = service.deadline_of(SCOPE, client.journey_id, now=now)
            deadline = derive(persisted, time.clocks)
            time.is_set(-HOUR)
            time.passes(HOUR)
            await stop_at_deadline(work_late(), deadline, time.clocks, make_durable)

        with pytest.raises(DeadlineReachedError):
            run(work())
        assert not begun_late
        reply = service.call(
            "complete_journey",
            {"access": ACCESS, "journey_id": client.journey_id, "fencing_token": client.token},
            now=time.utc.now,
        )
        assert isinstance(reply, Refused) and reply.code.value == "journey_terminal"


# Planted faults


def by_utc_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The monotonic clock is not asked."""
    monkeypatch.setattr(ProcessDeadline, "moment", lambda _, clocks: clocks.utc())


def at_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expiry is seen, and served at a moment at which the store does not."""
    monkeypatch.setattr(deadlines, "max", lambda now, _: now, raising=False)


def derived_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question derives a deadline of its own, from the clock as it is set then."""

    def moment(self: Deadlines, journey_id: str) -> int:
        known = self._known.get(journey_id)
        anew = None if known is None else derive(known.utc, self.clocks)
        return self.clocks.utc() if anew is None else anew.moment(self.clocks)

    monkeypatch.setattr(Deadlines, "moment", moment)


@pytest.mark.parametrize("plant", [by_utc_alone, at_utc, derived_anew])
@pytest.mark.parametrize("scenario", [ends_by_the_monotonic_clock, cancels_too_late])
def test_these_scenarios_find_planted_faults(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plant: Callable[[pytest.MonkeyPatch], None],
    scenario: Callable[[Path, float], Any],
) -> None:
    plant(monkeypatch)
    with pytest.raises((WaitTimeoutError, AssertionError)):
        scenario(tmp_path / "store.db", 2)
