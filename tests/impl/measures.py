"""How much work one command is, counted and not timed."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from wayproof.impl.journey import JourneyService


@dataclass(slots=True)
class Work:
    """What was counted."""

    statements: list[str] = field(default_factory=list)
    instructions: int = 0
    """Of SQLite's virtual machine: every row that is looked at takes several."""
    pages: int = 0
    """Written to the log."""


@contextmanager
def counted(service: JourneyService, path: Path) -> Iterator[Work]:
    """Count the work of what is done meanwhile."""
    connection: sqlite3.Connection = service._connection
    work = Work()

    def instruction() -> None:
        work.instructions += 1

    connection.execute("PRAGMA wal_autocheckpoint = 0")
    before = _logged_pages(path)
    connection.set_trace_callback(work.statements.append)
    connection.set_progress_handler(instruction, 1)
    try:
        yield work
    finally:
        connection.set_trace_callback(None)
        connection.set_progress_handler(None, 1)
        work.pages = _logged_pages(path) - before


def work_of(service: JourneyService, path: Path, act: Callable[[], object]) -> Work:
    """The work of one act."""
    with counted(service, path) as work:
        act()
    return work


def _logged_pages(path: Path) -> int:
    """How many frames of one page each the log holds, behind its header of 32 bytes."""
    page_size = int.from_bytes(path.read_bytes()[16:18], "big")
    log = path.with_name(path.name + "-wal")
    return (log.stat().st_size - 32) // (24 + page_size) if log.exists() else 0
