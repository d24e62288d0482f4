"""Play operations on a world, step by step, as a client of the protocol sees them.

::

    simulation = Simulation(world, now, decode)
    simulation.call("start", {...}).step.answer     a WorldStep, with the JourneySteps it took
    simulation.tick(later)                          the clock moves; nothing else happens
    simulation.sweep()                              one JourneyStep for each journey
    simulation.reconfigure(registry)                the registry is edited
    simulation.restart()                            the store stays, so nothing changes

The functions underneath are pure. Decoding needs libraries that the model does not import, so
it is handed in (``wayproof.spec.journey.validation.decode``).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from wayproof.model.journey.properties.contract import JourneyStep, WorldStep
from wayproof.model.journey.step import swept
from wayproof.model.journey.transition import Answered, Refused, realises
from wayproof.model.journey.world import FreshIds, World, serve, undecodable
from wayproof.spec.journey.definitions import Registry
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.requests import Request

Decode = Callable[[object, object], Request]
"""Reads an operation's arguments, or raises a :class:`Refusal`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What one step did."""

    step: WorldStep
    journey_steps: tuple[JourneyStep, ...] = ()
    """The step of the journey that served the request; each journey's own for a sweep. None for
    a start, a restart, an edit of the registry, and a request that decoding or access refused."""
    journey_id: str | None = None
    """The journey that the reply concerns, also that of a start; None where none is revealed."""

    @property
    def world(self) -> World:
        """The world after it."""
        return self.step.after

    @property
    def record_version(self) -> int | None:
        """The concerned journey's record version after it."""
        journey = None if self.journey_id is None else self.world.find(self.journey_id)
        return None if journey is None else journey.state.record_version


def play(
    world: World,
    operation: str,
    arguments: Any,
    now: int,
    *,
    fresh_ids: FreshIds,
    decode: Decode,
) -> Played:
    """Call one operation with a JSON value at ``now`` (milliseconds since 1970 UTC)."""
    try:
        request = decode(operation, arguments)
    except Refusal as refusal:
        undecoded = WorldStep(
            operation=operation,
            arguments=arguments,
            request=None,
            now=now,
            before=world,
            after=world,
            reply=refusal,
            labels=undecodable(world, refusal).labels,
        )
        return Played(step=undecoded)
    served = serve(world, request, now, fresh_ids)
    step = WorldStep(
        operation=operation,
        arguments=arguments,
        request=request,
        now=now,
        before=world,
        after=served.world,
        reply=served.reply,
        labels=served.labels,
    )
    before = None if served.journey_id is None else world.find(served.journey_id)
    after = None if served.journey_id is None else served.world.find(served.journey_id)
    if operation == "start" or before is None or after is None:
        return Played(step=step, journey_id=served.journey_id)
    assert isinstance(served.reply, Answered | Refused)
    taken = JourneyStep(
        terms=before.terms,
        before=before.state,
        request=request,
        now=now,
        after=after.state,
        reply=served.reply,
        labels=served.labels,
    )
    return Played(step=step, journey_steps=(taken,), journey_id=served.journey_id)


def sweep(world: World, now: int) -> Played:
    """Let everything that is due at ``now`` take effect: a step of every journey, in the order
    in which they were started, also of those where nothing was due."""
    after = world
    steps: list[JourneyStep] = []
    for journey in world.journeys:
        state, labels = swept(journey.terms, journey.state, now)
        after = after.with_state(journey.terms.journey_id, state)
        steps.append(
            JourneyStep(
                terms=journey.terms,
                before=journey.state,
                request=None,
                now=now,
                after=state,
                reply=None,
                labels=labels,
            )
        )
    labels = tuple(label for step in steps for label in step.labels)
    return Played(
        step=_without_request("sweep", world, after, now, labels=labels),
        journey_steps=tuple(steps),
    )


def reconfigure(world: World, registry: Registry, now: int, written: Any = None) -> Played:
    """Replace the registry; journeys keep what they pinned. ``written`` is the registry as it was
    written, if that says more."""
    after = replace(world, registry=registry)
    arguments = encode(registry) if written is None else written
    return Played(step=_without_request("reconfigure", world, after, now, arguments=arguments))


@realises({"restart.kept": "lifecycle-18 start-08 policy-12"})
def restart(world: World, now: int) -> Played:
    """Lose everything that is not in the store; the model holds nothing else."""
    return Played(step=_without_request("restart", world, world, now))


def _without_request(
    operation: str,
    before: World,
    after: World,
    now: int,
    *,
    arguments: Any = None,
    labels: tuple[str, ...] = (),
) -> WorldStep:
    return WorldStep(
        operation=operation,
        arguments=arguments,
        request=None,
        now=now,
        before=before,
        after=after,
        reply=None,
        labels=labels,
    )


def numbered_ids() -> FreshIds:
    """Server-made ids in ascending order: ``journey-000001``, ``run-000002``, and so on."""
    numbers = count(1)

    def fresh(kind: str, amount: int) -> tuple[str, ...]:
        return tuple(f"{kind}-{next(numbers):06d}" for _ in range(amount))

    return fresh


class Simulation:
    """A world with a clock, played step by step; it keeps the present world and moment alone."""

    def __init__(
        self, world: World, now: int, decode: Decode, fresh_ids: FreshIds | None = None
    ) -> None:
        self.world = world
        self.now = now
        """Milliseconds since 1970 UTC."""
        self._decode = decode
        self._fresh_ids = fresh_ids or numbered_ids()

    def call(self, operation: str, arguments: Any) -> Played:
        """Call one operation now."""
        return self._keep(
            play(
                self.world,
                operation,
                arguments,
                self.now,
                fresh_ids=self._fresh_ids,
                decode=self._decode,
            )
        )

    def tick(self, now: int) -> None:
        """Move the clock.

        Raises:
            ValueError: if it would move back.
        """
        if now < self.now:
            raise ValueError("the clock never moves back")
        self.now = now

    def sweep(self) -> Played:
        """Let everything that is due now take effect."""
        return self._keep(sweep(self.world, self.now))

    def reconfigure(self, registry: Registry, written: Any = None) -> Played:
        """Edit the registry; ``written`` is the JSON that it was read from."""
        return self._keep(reconfigure(self.world, registry, self.now, written))

    def restart(self) -> Played:
        """Restart the process over its store."""
        return self._keep(restart(self.world, self.now))

    def _keep(self, played: Played) -> Played:
        self.world = played.world
        return played
