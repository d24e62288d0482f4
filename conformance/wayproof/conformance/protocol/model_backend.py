"""The model as a backend: the reading that vectors are generated from."""

import pickle
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from types import ModuleType
from typing import Final

from wayproof.conformance.protocol.backend import (
    Answer,
    Hello,
    JsonValue,
    Refused,
    Reply,
    WorldSetup,
)
from wayproof.model.journey import world as model_world
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.registries import decode_registry
from wayproof.spec.journey.validation import decode, detail_of, encode
from wayproof.spec.journey.vocabulary import POLICY_CAPABILITIES, Capability

CAPABILITIES: Final = tuple(
    c
    for c in Capability
    if c in POLICY_CAPABILITIES | {Capability.DURABLE_DISPATCH, Capability.RESTART_RECOVERY}
)
"""What the model says the meaning of."""


class ModelWorld:
    """One namespace of the model: a value, and the clock."""

    def __init__(
        self, world: model_world.World, now: int, numbers: "count[int]", source: ModuleType
    ) -> None:
        self.world = world
        self.now = now
        self.labels: tuple[str, ...] = ()
        """The rules that the last call or sweep applied."""
        self._numbers = numbers
        self._source = source

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        """Serve one request at the world's present moment."""
        try:
            request = decode(operation, arguments)
        except Refusal as refusal:
            self.labels = (f"refused.{refusal.code}",)
            return Refused(code=refusal.code.value, detail=dict(refusal.detail))
        served = self._source.serve(self.world, request, self.now, self._fresh_ids)
        self.world, self.labels = served.world, served.labels
        version = served.record_version
        reply = served.reply
        if isinstance(reply, self._source.Answered):
            return Answer(value=encode(reply.record), record_version=version)
        if isinstance(reply, Refusal):
            detail = reply.detail
        else:
            detail = {} if reply.outcome is None else detail_of(reply.outcome)
        return Refused(code=reply.code.value, detail=detail, record_version=version)

    def tick(self, now: int) -> None:
        """Move the world's clock."""
        self.now = now

    def sweep(self) -> None:
        """Let everything that is due take effect."""
        self.world, self.labels = self._source.sweep_world(self.world, self.now)

    def reconfigure(self, registry: Mapping[str, JsonValue]) -> None:
        """Replace the registry."""
        self.world = replace(self.world, registry=decode_registry(registry))

    def restart(self) -> None:
        """Go through bytes, as a store would: nothing may hang on the identity of an object."""
        self.world = pickle.loads(pickle.dumps(self.world))

    def close(self) -> None:
        """Forget the namespace."""

    def _fresh_ids(self, kind: str, number: int) -> tuple[str, ...]:
        return tuple(f"{kind}-{next(self._numbers):06d}" for _ in range(number))


class ModelBackend:
    """The model over no store at all.

    ``source`` is the model's ``world.py`` or that of a copy of the model.
    """

    def __init__(self, source: ModuleType = model_world) -> None:
        self._source = source
        self._numbers = count(1)  # of all its worlds, since an id is unique in its store

    def hello(self) -> Hello:
        """Introduce itself."""
        return Hello(name="model", version="journey/1", capabilities=CAPABILITIES)

    def open(self, name: str, setup: WorldSetup) -> ModelWorld:
        """Open a new, empty namespace."""
        world = self._source.World(
            registry=decode_registry(setup.registry),
            capabilities=frozenset(CAPABILITIES) - set(setup.withheld_capabilities),
        )
        return ModelWorld(world, setup.now, self._numbers, self._source)

    def close(self) -> None:
        """Nothing is left behind."""
