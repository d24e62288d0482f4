"""The one place where this implementation may ask what time it is."""

import time


class SystemClock:
    """UTC in whole milliseconds since 1970, as every ``now`` argument wants it.

    It is never behind what it was when it was made plus what has passed since, so that setting the
    system's clock back gives no journey more time. One that was set forward is believed for as
    long as it is so.
    """

    def __init__(self) -> None:
        self._utc_at_start = time.time_ns()
        self._monotonic_at_start = time.monotonic_ns()

    def now(self) -> int:
        """The later of the system's UTC and this process's monotonic continuation of it."""
        elapsed = time.monotonic_ns() - self._monotonic_at_start
        return max(time.time_ns(), self._utc_at_start + elapsed) // 1_000_000
