"""Backends that make other identities: ids of other shapes, tokens and versions of other steps."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Final
from zlib import crc32

from wayproof.conformance.protocol.backend import (
    Answer,
    Backend,
    JsonValue,
    Reply,
    World,
    WorldSetup,
)
from wayproof.conformance.protocol.model_backend import ModelBackend, ModelWorld
from wayproof.conformance.variants.variant import variant
from wayproof.conformance.variants.wrapping import PassingWorld, WrappedBackend
from wayproof.spec.journey.vocabulary import MAXIMUM_INTEGER

Spell = Callable[[str, int], str]
"""Spells the id of that kind (``journey``, ``run`` or ``input``) and number, counted over all of a
store."""


class SpellingWorld(ModelWorld):
    """The model with ids of another shape."""

    spell: Spell

    def _fresh_ids(self, kind: str, number: int) -> tuple[str, ...]:
        return tuple(self.spell(kind, next(self._numbers)) for _ in range(number))


class SpellingBackend(ModelBackend):
    """The model with ids of another shape."""

    def __init__(self, spell: Spell) -> None:
        super().__init__()
        self._spell = spell

    def open(self, name: str, setup: WorldSetup) -> SpellingWorld:
        """Open a new, empty namespace."""
        opened = super().open(name, setup)
        world = SpellingWorld(opened.world, opened.now, self._numbers, self._source)
        world.spell = self._spell
        return world


class InputsRenamed(PassingWorld):
    """A world whose input requests have ids that are not those of the world within."""

    def __init__(self, inner: World, rename: Callable[[str], str]) -> None:
        super().__init__(inner)
        self._rename = rename
        self._told: dict[JsonValue, str] = {}

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        """Serve one request."""
        if isinstance(arguments, dict) and isinstance(arguments.get("input_request_id"), str):
            known = {told: own for own, told in self._told.items()}
            named = arguments["input_request_id"]
            arguments = {**arguments, "input_request_id": known.get(named, named)}
        reply = self.inner.call(operation, arguments)
        return replace(reply, value=self._tell(reply.value)) if isinstance(reply, Answer) else reply

    def _tell(self, value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            return [self._tell(part) for part in value]
        if not isinstance(value, dict):
            return value
        return {
            field: self._renamed(part)
            if field.endswith("input_request_id") and part is not None
            else self._tell(part)
            for field, part in value.items()
        }

    def _renamed(self, own: JsonValue) -> str:
        if own not in self._told:
            self._told[own] = self._rename(own)
        return self._told[own]


def _spelling(spell: Spell) -> Backend:
    """The model with ids of another shape, those of input requests too."""
    numbers = count(1)  # of all its worlds
    return WrappedBackend(
        SpellingBackend(spell),
        lambda inner: InputsRenamed(inner, lambda _own: spell("input", next(numbers))),
    )


@variant(clauses=("identity-01", "identity-02"))
def ids_are_uuids() -> Backend:
    """Makes UUIDs: an id is opaque, and nobody may read anything from its shape."""
    return _spelling(lambda kind, number: str(uuid.uuid5(uuid.NAMESPACE_OID, kind + str(number))))


LONGEST: Final = 128


@variant(clauses=("identity-01", "identity-02"))
def ids_are_as_long_as_may_be() -> Backend:
    """Makes ids of 128 characters, with every odd one that an identifier may contain."""
    return _spelling(
        lambda kind, number: f"@{kind}/{number}+".ljust(LONGEST, ".:_-/@+"[number % 7])
    )


@variant(clauses=("identity-01", "identity-02"))
def ids_are_as_short_as_may_be() -> Backend:
    """Makes ids that are nothing but a small number."""
    return _spelling(lambda _kind, number: str(number))


@variant(clauses=("identity-01", "identity-02"))
def ids_look_like_names() -> Backend:
    """Makes ids that read like the names of vectors: J1, R2."""
    return _spelling(lambda kind, number: f"{kind[0].upper()}{number}")


@variant(clauses=("identity-01", "identity-02"))
def ids_differ_in_case_alone() -> Backend:
    """Makes ids that differ only in which of their letters are capitals."""

    def spell(_kind: str, number: int) -> str:
        bits = f"{number:064b}"
        return "".join("X" if bit == "1" else "x" for bit in bits)

    return _spelling(spell)


@variant(clauses=("identity-02", "observe-10"))
def ids_descend() -> Backend:
    """Makes each id less than the one before, so that what the contract orders by id at last comes
    the other way round."""
    return _spelling(lambda kind, number: f"{kind}-{10**12 - number}")


@variant(clauses=("identity-02", "observe-10"))
def ids_come_in_no_order() -> Backend:
    """Makes ids whose order has nothing to do with the order in which they were made."""
    return _spelling(lambda kind, number: f"{crc32(str(number).encode()):08x}-{kind}-{number}")


@variant(clauses=("identity-02", "route-07"))
def input_requests_are_called_like_their_runs() -> Backend:
    """Gives the first input request of a run the very id of the run, and each further one that id
    with a number: an input names its run besides, and what an id names is told by its field."""

    def rename(own: str) -> str:
        number, run = own.removeprefix("input-").split("-of-")
        return run if number == "1" else f"{run}.{number}"

    return WrappedBackend(ModelBackend(), lambda inner: InputsRenamed(inner, rename))


class Retold(PassingWorld):
    """A world of which some numbers are told otherwise, and understood accordingly."""

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        """Serve one request."""
        journey_id = arguments.get("journey_id") if isinstance(arguments, dict) else None
        reply = self.inner.call(operation, self.understood(arguments, journey_id))
        if reply.record_version is not None:
            reply = replace(reply, record_version=self.version(reply.record_version))
        if isinstance(reply, Answer):
            reply = replace(reply, value=self._told(reply.value, journey_id))
        return reply

    def version(self, version: int) -> int:
        """A record version as it is told."""
        return version

    def token(self, token: int, journey_id: JsonValue) -> int:
        """A fencing token as it is told."""
        return token

    def understood(self, arguments: JsonValue, journey_id: JsonValue) -> JsonValue:
        """The arguments as the inner world understands them."""
        return arguments

    def _told(self, value: JsonValue, journey_id: JsonValue) -> JsonValue:
        if isinstance(value, dict):
            return {key: self._told_field(key, part, journey_id) for key, part in value.items()}
        if isinstance(value, list):
            return [self._told(part, journey_id) for part in value]
        return value

    def _told_field(self, field: str, value: JsonValue, journey_id: JsonValue) -> JsonValue:
        if field in ("record_version", "created_version"):
            return self.version(value)
        if field == "fencing_token":
            return self.token(value, journey_id)
        return self._told(value, journey_id)


class LeapingVersions(Retold):
    """Record versions that rise by more than one."""

    step: int

    def version(self, version: int) -> int:
        """1 at start, then a step for each commit."""
        return 1 + self.step * (version - 1)


def _leaping(step: int) -> Backend:
    def wrap(inner: World) -> World:
        world = LeapingVersions(inner)
        world.step = step
        return world

    return WrappedBackend(ModelBackend(), wrap)


@variant(clauses=("observe-12",), rulings=(26,))
def versions_rise_by_two() -> Backend:
    """Raises the record version by 2 with each commit: it has to rise, and nothing says by how
    much."""
    return _leaping(2)


@variant(clauses=("observe-12",), rulings=(26,))
def versions_rise_by_seven() -> Backend:
    """Raises the record version by 7 with each commit."""
    return _leaping(7)


@variant(clauses=("observe-12",), rulings=(26,))
def versions_rise_by_a_billion() -> Backend:
    """Raises the record version by a billion with each commit, as one made from a clock does."""
    return _leaping(10**9)


class LeasesRaise(PassingWorld):
    """A world of the model whose record version rises with leases too."""

    inner: ModelWorld

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        """Serve one request."""
        before = {j.terms.journey_id: j.state for j in self.inner.world.journeys}
        reply = self.inner.call(operation, arguments)
        for journey in self.inner.world.journeys:
            old, new = before.get(journey.terms.journey_id), journey.state
            if old is None or old.lease == new.lease or old.record_version != new.record_version:
                continue
            raised = new._replace(record_version=new.record_version + 1)
            self.inner.world = self.inner.world.with_state(journey.terms.journey_id, raised)
            reply = replace(reply, record_version=raised.record_version)
        return reply


@variant(clauses=("observe-12", "observe-13"), rulings=(26,))
def versions_rise_with_leases() -> Backend:
    """Raises the record version with each grant and extension of an owner lease: these are commits,
    and neither reads, nor replays, nor refusals."""

    def wrap(inner: World) -> World:
        assert isinstance(inner, ModelWorld)
        return LeasesRaise(inner)

    return WrappedBackend(ModelBackend(), wrap)


class OtherTokens(Retold):
    """Fencing tokens that begin elsewhere and rise by more than one."""

    first: int
    step: int
    by_journey: bool = False

    def token(self, token: int, journey_id: JsonValue) -> int:
        """The first is told as ``first``, each further one a step above."""
        return self._first(journey_id) + self.step * (token - 1)

    def understood(self, arguments: JsonValue, journey_id: JsonValue) -> JsonValue:
        """The token as the inner world knows it; one that was never granted stays so."""
        token = arguments.get("fencing_token") if isinstance(arguments, dict) else None
        if type(token) is not int or not 1 <= token <= MAXIMUM_INTEGER:
            return arguments
        steps, rest = divmod(token - self._first(journey_id), self.step)
        known = steps + 1 if rest == 0 and steps >= 0 else MAXIMUM_INTEGER
        return {**arguments, "fencing_token": known}

    def _first(self, journey_id: JsonValue) -> int:
        return self.first + (crc32(str(journey_id).encode()) if self.by_journey else 0)


def _tokens(first: int, step: int, *, by_journey: bool = False) -> Backend:
    def wrap(inner: World) -> World:
        world = OtherTokens(inner)
        world.first, world.step, world.by_journey = first, step, by_journey
        return world

    return WrappedBackend(ModelBackend(), wrap)


@variant(clauses=("lease-03",))
def tokens_rise_by_ten() -> Backend:
    """Grants each lease under a fencing token that is 10 above the one before: it has to be
    higher, and nothing says by how much."""
    return _tokens(first=5, step=10)


@variant(clauses=("lease-03",))
def tokens_begin_high() -> Backend:
    """Grants the first lease under a fencing token of sixteen digits, the greatest that still
    leaves room."""
    return _tokens(first=2**53 - 10_000, step=1)


@variant(clauses=("lease-03",))
def tokens_begin_anywhere() -> Backend:
    """Begins each journey's fencing tokens elsewhere: they mean nothing outside their journey."""
    return _tokens(first=1_000_000, step=3, by_journey=True)
