"""Wrappers around backends and their worlds, which pass on whatever they do not change."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from wayproof.conformance.protocol.backend import (
    Backend,
    Hello,
    JsonValue,
    Reply,
    World,
    WorldSetup,
)


class PassingWorld:
    """A world that passes everything on to another."""

    def __init__(self, inner: World) -> None:
        self.inner = inner

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        """Serve one request."""
        return self.inner.call(operation, arguments)

    def tick(self, now: int) -> None:
        """Move the clock."""
        self.inner.tick(now)

    def sweep(self) -> None:
        """Let everything that is due take effect."""
        self.inner.sweep()

    def reconfigure(self, registry: Mapping[str, JsonValue]) -> None:
        """Replace the registry."""
        self.inner.reconfigure(registry)

    def restart(self) -> None:
        """Lose everything that is not in the store."""
        self.inner.restart()

    def close(self) -> None:
        """Forget the namespace."""
        self.inner.close()


class WrappedBackend:
    """A backend whose worlds are wrapped."""

    def __init__(self, inner: Backend, wrap: Callable[[World], World]) -> None:
        self.inner = inner
        self._wrap = wrap

    def hello(self) -> Hello:
        """Introduce itself as a variant."""
        hello = self.inner.hello()
        return replace(hello, name=f"{hello.name}, varied")

    def open(self, name: str, setup: WorldSetup) -> World:
        """Open a namespace and wrap it."""
        return self._wrap(self.inner.open(name, setup))

    def close(self) -> None:
        """Close the store."""
        self.inner.close()
