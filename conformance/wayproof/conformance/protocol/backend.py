"""The protocol that a backend under test speaks, in process.

A conversation, moment by moment::

    backend = factory()                    one backend, one store
    backend.hello()                        who it is, what it advertises
    world = backend.open(name, setup)      a namespace: own clock, registry, sweep scope, tenants
    world.call(operation, arguments)       one request of the catalogue, answered
    world.tick(now)                        the world's clock moves; nothing else happens by it
    world.sweep()                          what fell due by now takes effect
    world.reconfigure(registry)            the registry is edited
    world.restart()                        the process dies and comes back; the store stays
    world.close()
    backend.close()

Everything that crosses it is a JSON value. An exception is a fault of the adapter, never a
refusal.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

JsonValue = Any
"""Anything that JSON can write: the annotation says so, the runner checks it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """Who answers, and what it claims to do."""

    name: str
    version: str
    capabilities: tuple[str, ...]
    """Advertised, in the order of the vocabulary."""
    non_production: bool = True
    """A backend without accepted semantic-compiler references is a non-production seam: it
    advertises nothing for production (clause capability-09)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldSetup:
    """What a namespace is opened with."""

    registry: Mapping[str, JsonValue]
    """A ``wayproof.spec.journey.definitions.Registry`` as JSON."""
    now: int
    """Its clock's first reading, in milliseconds since 1970 UTC."""
    withheld_capabilities: tuple[str, ...] = ()
    """Capabilities that its operator switched off: it must not advertise them here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A request carried out."""

    value: JsonValue
    record_version: int | None = None
    """The record version, after it, of the one journey that it concerns. Where the request may
    have changed something it must be told; with a read it need not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A request refused with a code of the catalogue."""

    code: str
    detail: Mapping[str, JsonValue] = field(default_factory=dict)
    record_version: int | None = None
    """As in :class:`Answer`; absent where no journey may be revealed."""


Reply = Answer | Refused


class World(Protocol):
    """One open namespace."""

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        """Serve one request at the world's present moment."""

    def tick(self, now: int) -> None:
        """Move the world's clock to ``now`` milliseconds since 1970; it never moves back."""

    def sweep(self) -> None:
        """Let everything that is due at the present moment take effect."""

    def reconfigure(self, registry: Mapping[str, JsonValue]) -> None:
        """Replace the registry, as an operator who edits it; journeys keep what they pinned."""

    def restart(self) -> None:
        """Lose everything that is not in the store, and open it again."""

    def close(self) -> None:
        """Forget the namespace."""


class Backend(Protocol):
    """One backend over one store."""

    def hello(self) -> Hello:
        """Introduce itself."""

    def open(self, name: str, setup: WorldSetup) -> World:
        """Open a new, empty namespace."""

    def close(self) -> None:
        """Close the store and remove what the backend made for it."""
