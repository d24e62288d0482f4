"""The deadline of a process: the earlier of two clocks, and durable once either shows it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.impl.clients import HOUR, MINUTE, NOW
from tests.impl.elsewhere import Time, run

from wayproof.impl.journey.deadlines import (
    KEPT_MILLISECONDS,
    Clocks,
    DeadlineReachedError,
    Deadlines,
    clamped_seconds,
    derive,
    stop_at_deadline,
)

DEADLINE = NOW + HOUR


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
