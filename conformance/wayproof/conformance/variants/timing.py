"""Eager and lazy backends: at which moments what is due takes effect by itself.

These wrap any backend, since all that they do is to sweep more often than they are asked to.
"""

from collections.abc import Callable, Mapping
from enum import Enum, unique

from wayproof.conformance.protocol.backend import Backend, JsonValue, Reply, World
from wayproof.conformance.protocol.model_backend import ModelBackend
from wayproof.conformance.protocol.sqlite_backend import SqliteBackend
from wayproof.conformance.variants.variant import variant
from wayproof.conformance.variants.wrapping import PassingWorld, WrappedBackend
from wayproof.spec.journey.operations import OPERATIONS


@unique
class When(Enum):
    """A moment at which an eager backend may sweep by itself."""

    BEFORE_READ = "before a read is served"
    BEFORE_WRITE = "before any other request is served"
    AFTER_CALL = "after a request was answered"
    BEFORE_TICK = "before the clock moves"
    AFTER_TICK = "after the clock has moved"
    BEFORE_SWEEP = "before a sweep that was asked for"
    AFTER_RESTART = "when it comes back after a restart"
    AFTER_RECONFIGURE = "when the registry was edited"


class SweepingWorld(PassingWorld):
    """A world that sweeps by itself at some moments."""

    def __init__(self, inner: World, moments: frozenset[When]) -> None:
        super().__init__(inner)
        self._moments = moments

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        """Serve one request, perhaps between sweeps."""
        catalogued = OPERATIONS.get(operation)
        is_read = catalogued is not None and not catalogued.mutates
        self._at(When.BEFORE_READ if is_read else When.BEFORE_WRITE)
        reply = self.inner.call(operation, arguments)
        self._at(When.AFTER_CALL)
        return reply

    def tick(self, now: int) -> None:
        """Move the clock, perhaps between sweeps."""
        self._at(When.BEFORE_TICK)
        self.inner.tick(now)
        self._at(When.AFTER_TICK)

    def sweep(self) -> None:
        """Sweep, perhaps twice."""
        self._at(When.BEFORE_SWEEP)
        self.inner.sweep()

    def reconfigure(self, registry: Mapping[str, JsonValue]) -> None:
        """Replace the registry, and perhaps sweep."""
        self.inner.reconfigure(registry)
        self._at(When.AFTER_RECONFIGURE)

    def restart(self) -> None:
        """Come back, and perhaps sweep."""
        self.inner.restart()
        self._at(When.AFTER_RESTART)

    def _at(self, moment: When) -> None:
        if moment in self._moments:
            self.inner.sweep()


def _sweeping(make: Callable[[], Backend], *moments: When) -> Backend:
    wanted = frozenset(moments)
    return WrappedBackend(make(), lambda inner: SweepingWorld(inner, wanted))


@variant(clauses=("observe-14",), rulings=(4,))
def sweeps_before_each_request() -> Backend:
    """Sweeps before it serves a request: an internal step may happen at any moment after it fell
    due, and the request itself changes no more than it may."""
    return _sweeping(ModelBackend, When.BEFORE_READ, When.BEFORE_WRITE)


@variant(clauses=("observe-14",), rulings=(4,))
def sweeps_before_reads() -> Backend:
    """Sweeps before it serves a read, so that no read shows what is overdue: the sweep is a commit
    of its own, and the read still changes nothing."""
    return _sweeping(ModelBackend, When.BEFORE_READ)


@variant(rulings=(4,))
def sweeps_before_writes() -> Backend:
    """Sweeps before it serves anything but a read, so that no checkpoint finds anything overdue:
    it happened a moment earlier."""
    return _sweeping(ModelBackend, When.BEFORE_WRITE)


@variant(rulings=(4, 9))
def sweeps_after_each_request() -> Backend:
    """Sweeps as soon as it has answered: what the request made due, such as the end of a
    cancellation that nothing delays, takes effect in the next commit."""
    return _sweeping(ModelBackend, When.AFTER_CALL)


@variant(rulings=(4,))
def sweeps_when_the_clock_moves() -> Backend:
    """Sweeps whenever its clock has moved, as a backend with exact timers does."""
    return _sweeping(ModelBackend, When.AFTER_TICK)


@variant(rulings=(4,))
def sweeps_before_the_clock_moves() -> Backend:
    """Sweeps at the last moment before its clock moves, as late as it can do by itself."""
    return _sweeping(ModelBackend, When.BEFORE_TICK)


@variant(rulings=(4,))
def sweeps_when_it_comes_back() -> Backend:
    """Sweeps when it comes back after a restart, as recovery does in many backends."""
    return _sweeping(ModelBackend, When.AFTER_RESTART, When.AFTER_RECONFIGURE)


@variant(rulings=(4,))
def sweeps_twice() -> Backend:
    """Sweeps twice when it is asked once: the second sweep finds nothing due."""
    return _sweeping(ModelBackend, When.BEFORE_SWEEP)


@variant(clauses=("observe-14",), rulings=(4,))
def sweeps_at_every_chance() -> Backend:
    """Sweeps before and after everything: whatever fell due has taken effect before anybody
    looks."""
    return _sweeping(ModelBackend, *When)


@variant(clauses=("observe-14",), rulings=(4,))
def sqlite_sweeps_early() -> Backend:
    """The SQLite store, swept before each request, by the same right as the model."""
    return _sweeping(SqliteBackend, When.BEFORE_READ, When.BEFORE_WRITE)


@variant(rulings=(4, 9))
def sqlite_sweeps_at_once() -> Backend:
    """The SQLite store with a sweeper that never sleeps: it runs after each request, and whenever
    the clock has moved."""
    return _sweeping(SqliteBackend, When.AFTER_CALL, When.AFTER_TICK)
