"""Backends that keep the same journeys otherwise: processes that come and go, several clients,
several stores."""

from wayproof.conformance.protocol.backend import (
    Backend,
    JsonValue,
    Reply,
)
from wayproof.conformance.protocol.model_backend import ModelBackend
from wayproof.conformance.protocol.sqlite_backend import SqliteBackend
from wayproof.conformance.variants.variant import variant
from wayproof.conformance.variants.wrapping import PassingWorld, WrappedBackend


class MortalWorld(PassingWorld):
    """A world whose process dies after everything that it did."""

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        """Serve one request, and die."""
        reply = self.inner.call(operation, arguments)
        self.inner.restart()
        return reply

    def tick(self, now: int) -> None:
        """Move the clock, and die."""
        self.inner.tick(now)
        self.inner.restart()

    def sweep(self) -> None:
        """Sweep, and die."""
        self.inner.sweep()
        self.inner.restart()


@variant(clauses=("lifecycle-18", "start-08"))
def dies_after_each_request() -> Backend:
    """Dies and comes back after every single request: everything that was answered is in the
    store, so nobody can tell."""
    return WrappedBackend(ModelBackend(), MortalWorld)


class RestlessWorld(PassingWorld):
    """A world whose process dies around ticks and sweeps."""

    def tick(self, now: int) -> None:
        """Die, and move the clock."""
        self.inner.restart()
        self.inner.tick(now)

    def sweep(self) -> None:
        """Die, sweep, and die again."""
        self.inner.restart()
        self.inner.sweep()
        self.inner.restart()


@variant(clauses=("lifecycle-18", "deadline-03"))
def sqlite_dies_around_sweeps() -> Backend:
    """The SQLite store, closed and opened again around every tick and sweep."""
    return WrappedBackend(SqliteBackend(), RestlessWorld)
