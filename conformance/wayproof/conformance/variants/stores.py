"""Backends that keep the same journeys otherwise: processes that come and go, several clients,
several stores."""

from wayproof.conformance.protocol.backend import (
    Backend,
    Hello,
    JsonValue,
    Reply,
    World,
    WorldSetup,
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


class InterruptedWorld(PassingWorld):
    """A world whose process dies whenever something may have been queued, or awaits an input."""

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        """Serve one request, and die if it is one of these."""
        reply = self.inner.call(operation, arguments)
        if operation in ("finish_workflow_run", "request_input", "submit_input"):
            self.inner.restart()
        return reply


@variant(clauses=("dispatch-02", "route-07"))
def sqlite_dies_before_each_delivery() -> Backend:
    """The SQLite store, closed and opened again between the commit that queues a run and the
    delivery of its intent, and while a run waits: both are in the store."""
    return WrappedBackend(SqliteBackend(), InterruptedWorld)


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


class SharedBackend(SqliteBackend):
    """One SQLite store that two clients have open."""

    def __init__(self) -> None:
        super().__init__()
        self._other = self._open_store()

    def take_turns(self) -> None:
        """From now on the other client serves."""
        self.store, self._other = self._other, self.store

    def reopen(self) -> None:
        """Both close the store and open it again."""
        self._other.close()
        super().reopen()
        self._other = self._open_store()

    def close(self) -> None:
        """Close the store and remove it."""
        self._other.close()
        super().close()


class SharedWorld(PassingWorld):
    """A world that two clients serve in turn."""

    def __init__(self, inner: World, backend: SharedBackend) -> None:
        super().__init__(inner)
        self._backend = backend

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        """Serve one request."""
        self._backend.take_turns()
        return self.inner.call(operation, arguments)

    def sweep(self) -> None:
        """Sweep."""
        self._backend.take_turns()
        self.inner.sweep()


@variant(clauses=("lifecycle-18", "observe-11"))
def sqlite_is_shared() -> Backend:
    """Two clients of one SQLite store serve the requests in turn: everything is in the store, and
    who serves a request makes no difference."""
    shared = SharedBackend()
    return WrappedBackend(shared, lambda inner: SharedWorld(inner, shared))


class OwningWorld(PassingWorld):
    """A world with a store of its own."""

    def __init__(self, name: str, setup: WorldSetup) -> None:
        self._backend = SqliteBackend()
        super().__init__(self._backend.open(name, setup))

    def close(self) -> None:
        """Forget the namespace and remove its store."""
        super().close()
        self._backend.close()


class SeparatingBackend:
    """A SQLite store for each namespace."""

    def __init__(self) -> None:
        self._idle = SqliteBackend()

    def hello(self) -> Hello:
        """Introduce itself."""
        return self._idle.hello()

    def open(self, name: str, setup: WorldSetup) -> OwningWorld:
        """Open a namespace in a new store."""
        return OwningWorld(name, setup)

    def close(self) -> None:
        """Remove what is left."""
        self._idle.close()


@variant(clauses=("identity-02",), protocol=("Backend.open",))
def sqlite_stores_are_separate() -> Backend:
    """Keeps each namespace in a store of its own: an id has to be unique in its store, and
    namespaces share nothing."""
    return SeparatingBackend()
