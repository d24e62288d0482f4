"""Saying on stderr how far something has come that takes a while."""

import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Protocol, TextIO


class Progress(Protocol):
    """Who is told how far something has come."""

    def __call__(self, stage: str, done: int, total: int | None = None, /) -> None:
        """Told what is being done, how much of it is done, and of how much, if that is known."""


def untold(_stage: str, _done: int, _total: int | None = None, /) -> None:
    """Tells nobody."""


SECONDS_BETWEEN_DRAWINGS: Final = 0.1
"""How often the line on a terminal changes at most."""

SECONDS_BEFORE_PLAIN_LINES: Final = 3.0
"""How long something may take before a plain line says how far it is."""

SECONDS_BETWEEN_PLAIN_LINES: Final = 15.0


class ProgressLine:
    """On a terminal one line that changes, and is gone at the end; elsewhere, as in the log of a
    CI job, a plain line every now and then. Use it in a ``with``."""

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._clock = clock
        self._began = clock()
        self._due = self._began + (0 if self._live else SECONDS_BEFORE_PLAIN_LINES)

    def __call__(self, stage: str, done: int, total: int | None = None, /) -> None:
        """Say how far it is, if it is time to."""
        now = self._clock()
        if now < self._due:
            return
        count = str(done) if total is None else f"{done} of {total}"
        text = f"{stage}: {count}, {now - self._began:.0f} s"
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r\033[K{text[:width]}")
            self._due = now + SECONDS_BETWEEN_DRAWINGS
        else:
            self._stream.write(f"{text}\n")
            self._due = now + SECONDS_BETWEEN_PLAIN_LINES
        self._stream.flush()

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.clear()

    def clear(self) -> None:
        """Make room for something else to be printed."""
        if self._live:
            self._stream.write("\r\033[K")
            self._stream.flush()
