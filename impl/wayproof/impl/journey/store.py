"""The store: one SQLite file that any number of processes and threads may have open."""

import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

from sqlite_utils import Database

from wayproof.impl.journey.connection import Synchronous, Turns, connect, set_up
from wayproof.impl.journey.errors import StoreUnavailableError
from wayproof.impl.journey.migrations import inspect, migrate
from wayproof.impl.journey.schema import MIGRATIONS
from wayproof.impl.journey.service import JourneyService
from wayproof.spec.journey.definitions import Registry
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.vocabulary import Capability

ADVERTISED: Final = (
    Capability.DURABLE_LIFECYCLE,
    Capability.PINNED_DEFINITION,
    Capability.DURABLE_OBSERVATION,
    Capability.DURABLE_DISPATCH,
    Capability.RESTART_RECOVERY,
    Capability.DEADLINE_ENFORCEMENT,
    Capability.COOPERATIVE_CANCELLATION,
    Capability.SHARED_TOKEN_RESERVATION,
    Capability.ACCOUNTING_SETTLEMENT,
)
"""What this implementation does, in the order of the vocabulary."""


class SqliteJourneyStore:
    """One open store file, with one connection that its threads share.

    A store must not be carried across a fork: the child opens its own.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Synchronous = "FULL",
        patience_seconds: float = 10.0,
    ) -> None:
        """Open the store, creating or migrating it if need be.

        ``patience_seconds`` bounds how long a command waits for other writers before it is
        refused with ``persistence_unavailable``.

        Raises:
            StoreError: see ``errors.py``; the file was not changed.
        """
        self.path = Path(path)
        inspect(self.path, len(MIGRATIONS), patience_seconds)
        try:
            self.database: Database = connect(self.path)
        except sqlite3.Error as error:
            raise StoreUnavailableError(f"the store cannot be opened: {error}") from error
        try:
            connection = self.database.conn
            self._turns = Turns(connection, patience_seconds)
            self._turns.alone(lambda: set_up(connection, synchronous))
            migrate(connection, self._turns, MIGRATIONS)
        except (sqlite3.Error, Refusal) as error:
            self.database.close()
            reason = error.__cause__ or error
            raise StoreUnavailableError(f"the store cannot be migrated: {reason}") from error
        except BaseException:
            self.database.close()
            raise

    def namespace(
        self,
        name: str,
        *,
        registry: Registry,
        capabilities: Iterable[Capability] = ADVERTISED,
    ) -> JourneyService:
        """The journeys of one namespace, which has tenants, keys and a sweep scope of its own.

        ``capabilities`` are those that starts may rely on here.

        Raises:
            ValueError: if one of them is not in :data:`ADVERTISED`.
        """
        granted = frozenset(capabilities)
        if not granted <= frozenset(ADVERTISED):
            raise ValueError("a capability that this implementation does not have")
        return JourneyService(
            self.database.conn,
            self._turns,
            namespace=name,
            registry=registry,
            capabilities=granted,
        )

    def close(self) -> None:
        """Close the connection; every acknowledged command is already durable."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
