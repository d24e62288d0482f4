"""The deadline of a process: the earlier of two clocks, and durable once either shows it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.impl.clients import ACCESS, HOUR, MINUTE, NOW, Client, begun, rows, serving
from tests.impl.elsewhere import SCOPE, Hands, counted_looks, forked, ported, request, run

from wayproof.impl.journey import Refused, deadlines
from wayproof.impl.journey.deadlines import (
    KEPT_MILLISECONDS,
    Clocks,
    DeadlineReachedError,
    Deadlines,
    ProcessDeadline,
    clamped_seconds,
    derive,
    stop_at_deadline,
)
from wayproof.spec.journey.constraints import to_milliseconds
from wayproof.spec.journey.ports import WaitTimeoutError

DEADLINE = NOW + HOUR


class Time:
    """Both clocks of a process, moved by hand."""

    def __init__(self) -> None:
        self.utc, self.monotonic = Hands(), Hands(5000)
        self.clocks = Clocks(utc=self.utc, monotonic=self.monotonic)

    def passes(self, milliseconds: int) -> None:
        self.utc.now += milliseconds
        self.monotonic.now += milliseconds

    def is_set(self, milliseconds: int) -> None:
        """UTC alone is set, by that much."""
        self.utc.now += milliseconds


# Deriving and comparing


def test_time_that_passes_is_seen_on_both_clocks() -> None:
    time = Time()
    deadline = derive(DEADLINE, time.clocks)
    time.passes(HOUR - 1)
    assert not deadline.reached(time.clocks) and deadline.remaining(time.clocks) == 1
    time.passes(1)
    assert deadline.reached(time.clocks) and deadline.moment(time.clocks) == DEADLINE
    time.passes(MINUTE)
    assert deadline.remaining(time.clocks) == 0
    assert deadline.moment(time.clocks) == DEADLINE + MINUTE


def test_setting_utc_back_gains_nothing_and_expiry_is_served_at_the_deadline() -> None:
    time = Time()
    deadline = derive(DEADLINE, time.clocks)
    time.is_set(-HOUR // 2)
    assert deadline.remaining(time.clocks) == HOUR
    time.passes(HOUR - 1)
    assert not deadline.reached(time.clocks)
    assert deadline.moment(time.clocks) == time.utc.now < DEADLINE
    time.passes(1)
    assert time.utc.now < DEADLINE
    assert deadline.reached(time.clocks) and deadline.moment(time.clocks) == DEADLINE


def test_setting_utc_forward_is_believed() -> None:
    time = Time()
    deadline = derive(DEADLINE, time.clocks)
    time.is_set(HOUR - 1)
    assert deadline.remaining(time.clocks) == 1
    time.is_set(1)
    assert deadline.reached(time.clocks) and deadline.moment(time.clocks) == DEADLINE


@given(st.lists(st.tuples(st.sampled_from(["passes", "is_set"]), st.integers(0, HOUR))))
def test_no_setting_of_the_clock_extends_what_really_remains(steps: list[tuple[str, int]]) -> None:
    time, passed = Time(), 0
    known = Deadlines(time.clocks)
    for kind, amount in [("passes", 0), *steps]:
        if kind == "passes":
            time.passes(amount)
            passed += amount
        else:
            time.is_set(HOUR // 2 - amount)
        deadline = known.meet("journey", DEADLINE)
        assert deadline.remaining(time.clocks) <= max(0, HOUR - passed)
        if passed >= HOUR:
            assert deadline.reached(time.clocks) and known.moment("journey") >= DEADLINE


def test_a_delay_between_the_two_readings_makes_the_deadline_earlier() -> None:
    time = Time()

    def slow() -> int:
        time.passes(MINUTE)
        return time.utc.now

    derived = derive(DEADLINE, Clocks(utc=slow, monotonic=time.monotonic))
    assert derived.monotonic == 5000 + HOUR - MINUTE


def test_a_deadline_that_has_passed_is_reached_at_once() -> None:
    time = Time()
    time.passes(2 * HOUR)
    assert derive(DEADLINE, time.clocks).monotonic == time.monotonic.now


def test_a_journey_that_ended_is_forgotten_and_an_old_one_at_last() -> None:
    time = Time()
    known = Deadlines(time.clocks)
    known.meet("ended", DEADLINE)
    known.forget("ended")
    known.forget("never met")
    for number in range(1024):
        known.meet(f"old-{number}", DEADLINE)
    time.passes(HOUR + KEPT_MILLISECONDS - 1)
    known.meet("other", time.utc.now + HOUR)
    assert len(known._known) == 1025
    time.passes(1)
    for number in range(1024):
        known.meet(f"new-{number}", time.utc.now + HOUR)
    assert len(known._known) == 1025 and "old-0" not in known._known


# Timeouts


@pytest.mark.parametrize(
    ("own", "left", "clamped"),
    [
        (None, 2500, 2.5),
        (10, 2500, 2.5),
        (2.5, 2500, 2.5),
        (1, 2500, 1),
        (0, 2500, 0),
        (1, 0, 0),
        (None, 0, 0),
        (float("inf"), 1, 0.001),
    ],
)
def test_a_timeout_is_cut_to_what_is_left(own: float | None, left: int, clamped: float) -> None:
    time = Time()
    deadline = derive(NOW + left, time.clocks)
    assert clamped_seconds(own, deadline, time.clocks) == clamped


def test_a_timeout_is_cut_by_the_monotonic_clock_too() -> None:
    time = Time()
    deadline = derive(DEADLINE, time.clocks)
    time.passes(HOUR - 2000)
    time.is_set(-HOUR)
    assert clamped_seconds(None, deadline, time.clocks) == 2


@pytest.mark.parametrize("own", [-1, -0.001, float("nan")])
def test_a_timeout_that_is_none_is_no_timeout(own: float) -> None:
    time = Time()
    with pytest.raises(ValueError, match="not negative"):
        clamped_seconds(own, derive(DEADLINE, time.clocks), time.clocks)


# An owner's work


@dataclass
class Attempt:
    """What became of one piece of work, and when its expiry was made durable."""

    begun: bool = False
    ended: str = ""
    durable_at: int | None = None

    async def work(self, seconds: float) -> str:
        self.begun = True
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self.ended = "stopped"
            raise
        self.ended = "done"
        return "result"

    async def make_durable(self, moment: int) -> None:
        self.durable_at = moment


def bounded(time: Time, attempt: Attempt, seconds: float, change: Callable[[], object]) -> str:
    """Work that takes some seconds, while something happens to the clocks soon after it began."""

    async def work() -> str:
        asyncio.get_running_loop().call_later(0.03, change)
        deadline = derive(DEADLINE, time.clocks)
        doing = attempt.work(seconds)
        return await stop_at_deadline(doing, deadline, time.clocks, attempt.make_durable, 0.005)

    return run(work())


def test_work_that_is_done_before_its_deadline_hands_back_its_result() -> None:
    attempt = Attempt()
    assert bounded(Time(), attempt, 0.06, lambda: None) == "result"
    assert attempt == Attempt(begun=True, ended="done")


def test_work_stops_when_only_the_monotonic_clock_shows_expiry() -> None:
    time, attempt = Time(), Attempt()

    def set_back() -> None:
        time.is_set(-2 * HOUR)
        time.passes(HOUR)

    with pytest.raises(DeadlineReachedError):
        bounded(time, attempt, 10, set_back)
    assert attempt == Attempt(begun=True, ended="stopped", durable_at=DEADLINE)


def test_work_stops_when_only_utc_shows_expiry() -> None:
    time, attempt = Time(), Attempt()
    with pytest.raises(DeadlineReachedError):
        bounded(time, attempt, 10, lambda: time.is_set(HOUR + MINUTE))
    assert attempt == Attempt(begun=True, ended="stopped", durable_at=DEADLINE + MINUTE)


def test_a_result_that_comes_with_the_deadline_is_too_late() -> None:
    time, attempt = Time(), Attempt()

    async def work() -> str:
        time.passes(HOUR)
        return await attempt.work(0)

    async def asked() -> None:
        deadline = derive(DEADLINE, time.clocks)
        await stop_at_deadline(work(), deadline, time.clocks, attempt.make_durable)

    with pytest.raises(DeadlineReachedError):
        run(asked())
    assert attempt == Attempt(begun=True, ended="done", durable_at=DEADLINE)


def test_nothing_is_begun_after_the_deadline() -> None:
    time, attempt = Time(), Attempt()
    deadline = derive(DEADLINE, time.clocks)
    time.passes(HOUR)
    time.is_set(-HOUR)
    with pytest.raises(DeadlineReachedError):
        run(stop_at_deadline(attempt.work(0), deadline, time.clocks, attempt.make_durable))
    assert attempt == Attempt(durable_at=DEADLINE)


def test_an_error_of_the_work_is_the_works_own() -> None:
    time, attempt = Time(), Attempt()

    async def failing() -> None:
        raise OSError("lost")

    with pytest.raises(OSError, match="lost"):
        deadline = derive(DEADLINE, time.clocks)
        run(stop_at_deadline(failing(), deadline, time.clocks, attempt.make_durable))
    assert attempt.durable_at is None


# Two processes on one store


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
    path, time, attempt = tmp_path / "store.db", Time(), Attempt()
    with serving(path) as service:
        client = begun(service)

        async def make_durable(moment: int) -> None:
            service.sweep_one(SCOPE, client.journey_id, now=moment)

        async def work() -> None:
            now = time.utc()
            persisted = service.deadline_of(SCOPE, client.journey_id, now=now)
            deadline = derive(persisted, time.clocks)
            time.is_set(-HOUR)
            time.passes(HOUR)
            await stop_at_deadline(attempt.work(5), deadline, time.clocks, make_durable)

        with pytest.raises(DeadlineReachedError):
            run(work())
        assert not attempt.begun
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
