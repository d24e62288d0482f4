"""Backends that say the same in another form: what explains, what the order of keys is, and what
they advertise."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from wayproof.conformance.protocol.backend import (
    Answer,
    Backend,
    Hello,
    JsonValue,
    Refused,
    Reply,
    World,
    WorldSetup,
)
from wayproof.conformance.protocol.model_backend import ModelBackend, ModelWorld
from wayproof.conformance.run.player import COMPARED_DETAIL
from wayproof.conformance.variants.variant import variant
from wayproof.conformance.variants.wrapping import PassingWorld, WrappedBackend
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import Capability


class RewordingWorld(PassingWorld):
    """A world whose replies are put in other words."""

    def __init__(self, inner: World, reword: Callable[[str, Reply], Reply]) -> None:
        super().__init__(inner)
        self._reword = reword

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        """Serve one request."""
        return self._reword(operation, self.inner.call(operation, arguments))


def _rewording(reword: Callable[[str, Reply], Reply]) -> Backend:
    return WrappedBackend(ModelBackend(), lambda inner: RewordingWorld(inner, reword))


def _detailed(change: Callable[[Mapping[str, JsonValue]], dict[str, JsonValue]]) -> Backend:
    def reword(_operation: str, reply: Reply) -> Reply:
        if isinstance(reply, Refused) and reply.code != RefusalCode.JOURNEY_NOT_FOUND:
            return replace(reply, detail=change(reply.detail))
        return reply

    return _rewording(reword)


@variant(clauses=("access-10",), protocol=("Refused.detail",))
def explains_more() -> Backend:
    """Adds fields of its own to the detail of refusals, but to that of an unknown journey, which
    must have none: a detail explains, and only some of its parts are fixed."""
    return _detailed(
        lambda detail: {**detail, "hint": "ask again later", "trace": [1, {"deeper": None}]}
    )


@variant(protocol=("Refused.detail",))
def explains_nothing() -> Backend:
    """Leaves out of a refusal's detail whatever only explains: pointer and problem."""
    return _detailed(lambda detail: {k: v for k, v in detail.items() if k in COMPARED_DETAIL})


@variant(protocol=("Refused.detail",))
def points_elsewhere() -> Backend:
    """Points at the whole request instead of the field at fault, in words of its own."""
    pointing = {"pointer": "", "problem": "something is wrong"}
    return _detailed(lambda detail: {k: pointing.get(k, v) for k, v in detail.items()})


def _backwards(value: JsonValue) -> JsonValue:
    if isinstance(value, Mapping):
        return {key: _backwards(value[key]) for key in reversed(list(value))}
    return [_backwards(part) for part in value] if isinstance(value, list) else value


@variant(protocol=("JsonValue",))
def keys_come_backwards() -> Backend:
    """Writes the fields of every record the other way round: the order of an object's keys means
    nothing."""

    def reword(_operation: str, reply: Reply) -> Reply:
        if isinstance(reply, Answer):
            return replace(reply, value=_backwards(reply.value))
        return replace(reply, detail=_backwards(reply.detail))

    return _rewording(reword)


@variant(protocol=("Answer.record_version",))
def reads_tell_no_version_twice() -> Backend:
    """Tells the record version beside a reply only where the reply is of no read: only of those is
    it asked."""

    def reword(operation: str, reply: Reply) -> Reply:
        catalogued = OPERATIONS.get(operation)
        if catalogued is not None and not catalogued.mutates:
            return replace(reply, record_version=None)
        return reply

    return _rewording(reword)


@variant(protocol=("Refused.record_version",))
def refusals_tell_no_version() -> Backend:
    """Tells no record version with a refusal: what a refused request left behind can be read."""

    def reword(_operation: str, reply: Reply) -> Reply:
        return replace(reply, record_version=None) if isinstance(reply, Refused) else reply

    return _rewording(reword)


class GreedyWorld(PassingWorld):
    """A world that consumes what it is handed."""

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        """Serve one request, and leave nothing of its arguments."""
        reply = self.inner.call(operation, arguments)
        _emptied(arguments)
        return reply


def _emptied(value: Any) -> None:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            _emptied(part)
        value.clear()


@variant(protocol=("JsonValue",))
def arguments_are_consumed() -> Backend:
    """Takes apart the arguments that it is handed: what crosses the protocol is a value, and
    belongs to whom it was sent."""
    return WrappedBackend(ModelBackend(), GreedyWorld)


class BoastingBackend(ModelBackend):
    """The model, advertising more than it does."""

    def __init__(self, *more: Capability) -> None:
        super().__init__()
        self._more = more

    def hello(self) -> Hello:
        """Introduce itself, in the order of the vocabulary."""
        hello = super().hello()
        advertised = (*hello.capabilities, *(c.value for c in self._more))
        ordered = tuple(c.value for c in Capability if c.value in advertised)
        return replace(hello, name="model, varied", capabilities=ordered)

    def open(self, name: str, setup: WorldSetup) -> ModelWorld:
        """Open a new, empty namespace."""
        world = super().open(name, setup)
        more = frozenset(self._more) - set(setup.withheld_capabilities)
        world.world = replace(world.world, capabilities=world.world.capabilities | more)
        return world


BEYOND: Final = tuple(c for c in Capability if c is not Capability.BOUNDED_ONLY_V1)


@variant(clauses=("capability-01",), rulings=(39,))
def advertises_dispatch() -> Backend:
    """Advertises durable_dispatch too: a vector that is about its absence has to withhold it."""
    return BoastingBackend(Capability.DURABLE_DISPATCH)


@variant(clauses=("capability-01",))
def advertises_everything() -> Backend:
    """Advertises every capability of the vocabulary, as a backend of a later slice does."""
    return BoastingBackend(*Capability)
