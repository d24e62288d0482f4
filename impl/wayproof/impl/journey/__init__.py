"""The journey contract on one SQLite file: thin, honest, durable.

    with SqliteJourneyStore("journeys.db") as store:
        service = store.namespace("production", registry=registry)
        reply = service.call("start", arguments, now=clock.now())

Begin with ``service.py``; every file after it is one part of the contract. ``port.py`` is the
asynchronous port over it, with waits. What a process has to do around it is in ``deadlines.py``,
``boundary.py`` (with ``estimates.py`` and ``grants.py``) and ``evaluation.py``. A non-production
seam by the contract's own words: no accepted semantic compiler stands behind its references.
"""

from wayproof.impl.journey.clock import SystemClock
from wayproof.impl.journey.errors import (
    ForeignFileError,
    StoreError,
    StoreUnavailableError,
    StoreVersionError,
)
from wayproof.impl.journey.handle import JourneyHandle
from wayproof.impl.journey.port import PortClosedError, SqliteJourneyPort, open_port
from wayproof.impl.journey.replies import Answered, Refused, Reply
from wayproof.impl.journey.service import JourneyService
from wayproof.impl.journey.store import ADVERTISED, SqliteJourneyStore

__all__ = [
    "ADVERTISED",
    "Answered",
    "ForeignFileError",
    "JourneyHandle",
    "JourneyService",
    "PortClosedError",
    "Refused",
    "Reply",
    "SqliteJourneyPort",
    "SqliteJourneyStore",
    "StoreError",
    "StoreUnavailableError",
    "StoreVersionError",
    "SystemClock",
    "open_port",
]
