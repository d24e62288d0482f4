"""A backend that conforms in the other way: everything takes effect the moment it falls due.

Wrapped around any backend, it shows that no scenario asks for laziness. What is allowed besides
a sweep, the early release of a reservation, it does not do.
"""

from collections.abc import Mapping
from typing import Any

from wayproof.conformance.protocol.backend import Backend, Hello, Reply, World, WorldSetup


class EagerWorld:
    """A world that sweeps itself before and after whatever happens in it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def call(self, operation: str, arguments: Any) -> Reply:
        """Serve a request, and let at once what it made due take effect."""
        reply = self._world.call(operation, arguments)
        self._world.sweep()
        return reply

    def tick(self, now: int) -> None:
        """Move the clock, and let at once what fell due take effect."""
        self._world.tick(now)
        self._world.sweep()

    def sweep(self) -> None:
        """There is nothing left to do."""

    def reconfigure(self, registry: Mapping[str, Any]) -> None:
        """Replace the registry."""
        self._world.reconfigure(registry)

    def restart(self) -> None:
        """Restart the world."""
        self._world.restart()

    def close(self) -> None:
        """Close the world."""
        self._world.close()


class EagerBackend:
    """A backend whose worlds are eager."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def hello(self) -> Hello:
        """Introduce the backend behind it."""
        return self._backend.hello()

    def open(self, name: str, setup: WorldSetup) -> EagerWorld:
        """Open an eager world; what its start leaves due takes effect by its first request."""
        return EagerWorld(self._backend.open(name, setup))

    def close(self) -> None:
        """Close the backend behind it."""
        self._backend.close()
