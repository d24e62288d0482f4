"""The SQLite implementation as a backend. The adapter holds nothing but open handles, the
configuration and the clock: everything else is in the file, or it is lost at a restart."""

import shutil
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from wayproof.conformance.protocol.backend import (
    Answer,
    Hello,
    JsonValue,
    Refused,
    Reply,
    WorldSetup,
)
from wayproof.conformance.protocol.load import Synchronous
from wayproof.impl import journey
from wayproof.spec.journey.registries import decode_registry


class SqliteBackend:
    """One store in a temporary directory of its own.

    ``package`` is ``wayproof.impl.journey`` or a copy of it.
    """

    def __init__(
        self, *, synchronous: Synchronous = "NORMAL", package: ModuleType = journey
    ) -> None:
        self.package = package
        self._folder = Path(tempfile.mkdtemp(prefix="wayproof-store-"))
        self._synchronous = synchronous
        try:
            self.store = self._open_store()
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def hello(self) -> Hello:
        """Introduce itself."""
        return Hello(
            name="sqlite",
            version=version("wayproof"),
            capabilities=tuple(capability.value for capability in self.package.ADVERTISED),
        )

    def open(self, name: str, setup: WorldSetup) -> "SqliteWorld":
        """Open a new, empty namespace."""
        return SqliteWorld(self, name, setup)

    def reopen(self) -> None:
        """Close the store and open it again, for every namespace."""
        self.store.close()
        self.store = self._open_store()

    def close(self) -> None:
        """Close the store and remove its directory."""
        self.store.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _open_store(self) -> journey.SqliteJourneyStore:
        store: journey.SqliteJourneyStore = self.package.SqliteJourneyStore(
            self._folder / "store.db", synchronous=self._synchronous
        )
        return store


class SqliteWorld:
    """One namespace of the store."""

    def __init__(self, backend: SqliteBackend, name: str, setup: WorldSetup) -> None:
        self._backend = backend
        self._name = name
        self._registry = decode_registry(setup.registry)
        self._capabilities = frozenset(backend.package.ADVERTISED) - set(
            setup.withheld_capabilities
        )
        self._now = setup.now
        self._store = backend.store
        self._service = self._open_service()

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        """Serve one request at the world's present moment."""
        reply: Any = self._current_service().call(operation, arguments, now=self._now)
        if isinstance(reply, self._backend.package.Answered):
            return Answer(value=reply.value, record_version=reply.record_version)
        return Refused(
            code=reply.code.value, detail=reply.detail, record_version=reply.record_version
        )

    def tick(self, now: int) -> None:
        """Move the world's clock."""
        self._now = now

    def sweep(self) -> None:
        """Let everything that is due take effect."""
        self._current_service().sweep(now=self._now)

    def reconfigure(self, registry: Mapping[str, JsonValue]) -> None:
        """Replace the registry."""
        self._registry = decode_registry(registry)
        self._service = self._open_service()

    def restart(self) -> None:
        """Close the store and open it again."""
        self._backend.reopen()

    def close(self) -> None:
        """Forget the namespace; its rows stay in the store until that is removed."""

    def _current_service(self) -> journey.JourneyService:
        if self._store is not self._backend.store:  # some namespace was restarted
            self._store = self._backend.store
            self._service = self._open_service()
        return self._service

    def _open_service(self) -> journey.JourneyService:
        return self._store.namespace(
            self._name, registry=self._registry, capabilities=self._capabilities
        )
