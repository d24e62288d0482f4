"""Backends that differ from the model in ways that the contract does not allow.

They stand beside the allowed variants, often within a millisecond or one word of one, and the
suite has to tell them apart. They are named by ``python:tests.conformance.disallowed:NAME``.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from wayproof.conformance.protocol.backend import Answer, Backend, JsonValue, Refused, Reply, World
from wayproof.conformance.protocol.model_backend import ModelBackend, ModelWorld
from wayproof.conformance.variants.variant import Variant
from wayproof.conformance.variants.wrapping import PassingWorld, WrappedBackend
from wayproof.model.journey.lifecycle import LIVE, close_accounting, end, end_cancelled
from wayproof.model.journey.state import State, Terms
from wayproof.model.journey.step import versioned
from wayproof.model.journey.sweeps import is_lapsed, lapse, release
from wayproof.spec.journey.vocabulary import (
    DispatchState,
    LifecycleState,
    ReservationState,
    TerminalReason,
)

Meddle = Callable[[Terms, State, int], State]
"""What a backend makes of a journey by itself."""


class MeddlingWorld(PassingWorld):
    """A world of the model that does by itself what it may not, before whatever it is asked."""

    inner: ModelWorld

    def __init__(self, inner: ModelWorld, meddle: Meddle) -> None:
        super().__init__(inner)
        self._meddle = meddle

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        self._act()
        return self.inner.call(operation, arguments)

    def sweep(self) -> None:
        self._act()
        self.inner.sweep()

    def _act(self) -> None:
        for journey in self.inner.world.journeys:
            meddled = self._meddle(journey.terms, journey.state, self.inner.now)
            state = versioned(journey.state, meddled)
            self.inner.world = self.inner.world.with_state(journey.terms.journey_id, state)


def _meddling(meddle: Meddle) -> Backend:
    def wrap(inner: World) -> World:
        assert isinstance(inner, ModelWorld)
        return MeddlingWorld(inner, meddle)

    return WrappedBackend(ModelBackend(), wrap)


def releases_while_the_token_lives() -> Backend:
    """Releases what is reserved though it could still be transmitted."""

    def meddle(_terms: Terms, state: State, now: int) -> State:
        for transmission in state.transmissions:
            if transmission.state is ReservationState.RESERVED:
                state = release(state, transmission, now)
        return state

    return _meddling(meddle)


def times_out_a_millisecond_early() -> Backend:
    """Ends a journey in the last millisecond in which it may act."""

    def meddle(terms: Terms, state: State, now: int) -> State:
        if state.lifecycle in LIVE and now >= terms.deadline - 1:
            reason = TerminalReason.DEADLINE_EXPIRED
            return end(terms, state, now, LifecycleState.TIMED_OUT, reason)
        return state

    return _meddling(meddle)


def cancels_while_a_run_is_active() -> Backend:
    """Ends a cancelling journey at once, whatever still runs."""

    def meddle(terms: Terms, state: State, now: int) -> State:
        if state.lifecycle is LifecycleState.CANCELLING:
            return end_cancelled(terms, state, now)
        return state

    return _meddling(meddle)


def takes_a_lease_before_the_deadline() -> Backend:
    """Of what is due at one moment, lets the lapsed lease come before the deadline."""

    def meddle(terms: Terms, state: State, now: int) -> State:
        for transmission in state.transmissions:
            if is_lapsed(transmission, now):
                state, _ = lapse(terms, state, transmission, now)
        return state

    return _meddling(meddle)


def closes_accounting_a_millisecond_early() -> Backend:
    """Makes accounting final one millisecond before its deadline."""

    def meddle(_terms: Terms, state: State, now: int) -> State:
        closed = close_accounting(state, now + 1)
        return state if closed is None else closed._replace(settled_at=now)

    return _meddling(meddle)


class SpoilingWorld(PassingWorld):
    """A world that spoils its replies."""

    def __init__(self, inner: World, spoil: Callable[[str, Reply, int], Reply]) -> None:
        super().__init__(inner)
        self._spoil = spoil
        self._calls = 0

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        self._calls += 1
        return self._spoil(operation, self.inner.call(operation, arguments), self._calls)


def _spoiling(spoil: Callable[[str, Reply, int], Reply]) -> Backend:
    return WrappedBackend(ModelBackend(), lambda inner: SpoilingWorld(inner, spoil))


def _with_versions(value: Any, change: Callable[[int], int]) -> Any:
    if isinstance(value, dict):
        return {
            key: change(part) if key == "record_version" else _with_versions(part, change)
            for key, part in value.items()
        }
    return value


def versions_rise_with_reads() -> Backend:
    """Raises the record version with every request, reads among them."""

    def spoil(_operation: str, reply: Reply, calls: int) -> Reply:
        if reply.record_version is not None:
            reply = replace(reply, record_version=reply.record_version + calls)
        if isinstance(reply, Answer):
            reply = replace(reply, value=_with_versions(reply.value, lambda v: v + calls))
        return reply

    return _spoiling(spoil)


def explains_who_does_not_exist() -> Backend:
    """Adds a hint to the detail of every refusal, also where nothing may be told."""

    def spoil(_operation: str, reply: Reply, _calls: int) -> Reply:
        if isinstance(reply, Refused):
            return replace(reply, detail={**reply.detail, "hint": "ask again later"})
        return reply

    return _spoiling(spoil)


def writers_tell_no_version() -> Backend:
    """Tells no record version with the answer to a request that changed something."""

    def spoil(operation: str, reply: Reply, _calls: int) -> Reply:
        return replace(reply, record_version=None) if operation == "reserve" else reply

    return _spoiling(spoil)


class AcknowledgingWorld(PassingWorld):
    """A world of the model that takes an intent that was listed for one that was received."""

    inner: ModelWorld

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        reply = self.inner.call(operation, arguments)
        if operation == "list_dispatch_intents" and isinstance(reply, Answer):
            for journey in self.inner.world.journeys:
                intents = tuple(
                    intent._replace(state=DispatchState.ACKNOWLEDGED)
                    if intent.state is DispatchState.RECORDED
                    else intent
                    for intent in journey.state.intents
                )
                state = versioned(journey.state, journey.state._replace(intents=intents))
                self.inner.world = self.inner.world.with_state(journey.terms.journey_id, state)
        return reply


def acknowledges_what_it_lists() -> Backend:
    """Acknowledges an intent for whoever has read it."""

    def wrap(inner: World) -> World:
        assert isinstance(inner, ModelWorld)
        return AcknowledgingWorld(inner)

    return WrappedBackend(ModelBackend(), wrap)


def _listing(change: Callable[[list[Any]], list[Any]]) -> Backend:
    def spoil(operation: str, reply: Reply, _calls: int) -> Reply:
        if operation == "list_dispatch_intents" and isinstance(reply, Answer):
            changed = change(reply.value["dispatch_intents"])
            return replace(reply, value={**reply.value, "dispatch_intents": changed})
        return reply

    return _spoiling(spoil)


def intents_are_older_than_their_commit() -> Backend:
    """Tells of each intent the record version before the commit that recorded it."""
    return _listing(lambda intents: [{**i, "created_version": 1} for i in intents])


def intents_grow_younger() -> Backend:
    """Tells of the first intent a later record version than of those behind it."""
    return _listing(
        lambda intents: [
            {**i, "created_version": i["created_version"] + len(intents) - 1 if n == 0 else 1}
            for n, i in enumerate(intents)
        ]
    )


DISALLOWED = (
    releases_while_the_token_lives,
    times_out_a_millisecond_early,
    cancels_while_a_run_is_active,
    takes_a_lease_before_the_deadline,
    closes_accounting_a_millisecond_early,
    versions_rise_with_reads,
    explains_who_does_not_exist,
    writers_tell_no_version,
    acknowledges_what_it_lists,
    intents_are_older_than_their_commit,
    intents_grow_younger,
)


def as_variant(make: Callable[[], Backend]) -> Variant:
    """Claims that a backend is an allowed variant."""
    return Variant(
        name=make.__name__.replace("_", "-"),
        why=make.__doc__ or "",
        clauses=("observe-12",),
        rulings=(),
        protocol=(),
        place=f"python:{__name__}:{make.__name__}",
        make=make,
    )
