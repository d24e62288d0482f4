"""The deadlines of journeys as one process has them: in UTC, and on its own monotonic clock.

``deadline_utc`` is persisted and holds for everybody. A process derives from it, at its first sight
of a journey, a deadline on a clock that nobody can set, and goes by whichever shows expiry first:
setting the system's clock back then gives no journey more time, and setting it forward is believed.
The derived deadline is never persisted; another process, or this one after a restart, derives its
own from what UTC shows then (clause ``deadline-15``).

All moments, lengths and clock readings here are whole milliseconds, UTC ones since 1970.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeVar

Result = TypeVar("Result")

LOOK_INTERVAL_SECONDS: Final = 0.02
"""How late, by default, :func:`stop_at_deadline` may notice an expiry."""


class DeadlineReachedError(Exception):
    """Local work was stopped, since the deadline of its journey was reached.

    Its result, if it had one, is quarantined: it was not handed back.
    """


def monotonic_milliseconds() -> int:
    """This process's monotonic clock: it never runs backwards, and nobody can set it."""
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """The two clocks of a process."""

    utc: Callable[[], int]
    monotonic: Callable[[], int] = monotonic_milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessDeadline:
    """The deadline of one journey, on both clocks of one process."""

    utc: int
    """As it is persisted."""
    monotonic: int
    """Derived; never persisted."""

    def remaining(self, clocks: Clocks) -> int:
        """What is left by the clock that shows less; 0 once it is reached."""
        left = min(self.utc - clocks.utc(), self.monotonic - clocks.monotonic())
        return max(0, left)

    def reached(self, clocks: Clocks) -> bool:
        """Whether either clock shows expiry."""
        return self.remaining(clocks) == 0

    def moment(self, clocks: Clocks) -> int:
        """The moment at which a request about this journey is to be served.

        It is UTC, or the deadline itself if UTC lies before it and the monotonic clock shows that
        it has passed: whatever is served then makes the expiry durable (rulings 30 and 65).
        """
        now = clocks.utc()
        return max(now, self.utc) if clocks.monotonic() >= self.monotonic else now


def derive(deadline_utc: int, clocks: Clocks) -> ProcessDeadline:
    """The deadline of this process, from the UTC interval that remains.

    The monotonic clock is read first: a delay between the two readings makes the derived deadline
    earlier, never later.
    """
    now = clocks.monotonic()
    return ProcessDeadline(utc=deadline_utc, monotonic=now + max(0, deadline_utc - clocks.utc()))


KEPT_MILLISECONDS: Final = 86_400_000
"""How long after its deadline a journey is remembered at least, if nobody sees that it ended."""


class Deadlines:
    """The deadlines of all journeys that one process works on or waits for.

    It holds two numbers for each, until it is told to forget them, or nobody has asked for a day
    after the deadline. To be changed by one thread at a time; any may ask.
    """

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self._known: dict[str, ProcessDeadline] = {}
        self._crowded = 1024

    def meet(self, journey_id: str, deadline_utc: int) -> ProcessDeadline:
        """The deadline of a journey: the earliest that was derived since it was first met.

        So a clock that was set back between two sights gains nothing by the second.
        """
        derived = derive(deadline_utc, self.clocks)
        known = self._known.get(journey_id, derived)
        earliest = min(known, derived, key=lambda deadline: deadline.monotonic)
        if len(self._known) >= self._crowded:
            self._drop_old()
        self._known[journey_id] = earliest
        return earliest

    def moment(self, journey_id: str) -> int:
        """See :meth:`ProcessDeadline.moment`; UTC for a journey that was not met."""
        known = self._known.get(journey_id)
        return self.clocks.utc() if known is None else known.moment(self.clocks)

    def forget(self, journey_id: str) -> None:
        """Drop a journey that has ended: its deadline concerns nobody any more."""
        self._known.pop(journey_id, None)

    def _drop_old(self) -> None:
        oldest = self.clocks.monotonic() - KEPT_MILLISECONDS
        # Another dictionary, and at last the name: whoever asks meanwhile sees one or the other.
        self._known = {
            journey_id: deadline
            for journey_id, deadline in self._known.items()
            if deadline.monotonic > oldest
        }
        self._crowded = max(1024, 2 * len(self._known))


def clamped_seconds(
    timeout_seconds: float | None, deadline: ProcessDeadline, clocks: Clocks
) -> float:
    """The timeout of a workflow, task, tool or provider call, cut to what is left of its journey.

    Args:
        timeout_seconds: the timeout that the work has of itself; None if it has none.
        deadline: that of the journey.
        clocks: those of this process.

    Returns:
        Seconds, from 0: never more than either.

    Raises:
        ValueError: for a timeout that is negative or NaN.
    """
    left = deadline.remaining(clocks) / 1000
    if timeout_seconds is None:
        return left
    if not timeout_seconds >= 0:  # nor is NaN
        raise ValueError("a timeout is not negative")
    return min(timeout_seconds, left)


async def stop_at_deadline(
    work: Coroutine[Any, Any, Result],
    deadline: ProcessDeadline,
    clocks: Clocks,
    make_durable: Callable[[int], Awaitable[object]],
    look_interval_seconds: float = LOOK_INTERVAL_SECONDS,
) -> Result:
    """Do one piece of an owner's work until it is done, or its journey's deadline is reached.

    Both clocks are looked at in short intervals, since no timer notices that one of them was set.
    What is done exactly then counts as too late. Work that ignores its cancellation is waited
    for, after the expiry was made durable, so that nothing of it goes on unseen.

    Args:
        work: what is to be done; cancelled at the deadline, and not begun after it.
        deadline: that of the journey.
        clocks: those of this process.
        make_durable: serves a checkpoint of the journey at the moment that it is given, such as a
            sweep of this journey.
        look_interval_seconds: how late an expiry may be noticed.

    Raises:
        DeadlineReachedError: once the expiry is durable and the work has stopped.
    """
    if deadline.reached(clocks):
        work.close()
        await make_durable(deadline.moment(clocks))
        raise DeadlineReachedError
    task = asyncio.ensure_future(work)
    try:
        while not task.done() and not deadline.reached(clocks):
            left = clamped_seconds(look_interval_seconds, deadline, clocks)
            await asyncio.wait((task,), timeout=left)
        if not deadline.reached(clocks):
            return task.result()
        task.cancel()
        await make_durable(deadline.moment(clocks))
    finally:
        task.cancel()
        await asyncio.wait((task,))
        if not task.cancelled():
            task.exception()  # looked at: what is stopped may fail as it likes
    raise DeadlineReachedError
