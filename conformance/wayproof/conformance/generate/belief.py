"""Play a story on the model, keeping every world that the contract allows.

A backend may take a due step by itself before anybody sweeps. So after each action there is a
set of worlds; what all of them agree on is what a vector may expect. The first world of the set
is the model's own lazy choice.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

from wayproof.conformance.generate.scripts import (
    Action,
    Call,
    Reconfigure,
    Script,
    Setting,
    Sweep,
    Tick,
)
from wayproof.conformance.vectors.names import substitute
from wayproof.model.journey import simulate
from wayproof.model.journey.lifecycle import LIVE, cutoff
from wayproof.model.journey.relation import settled_states
from wayproof.model.journey.simulate import Played
from wayproof.model.journey.state import State, Terms
from wayproof.model.journey.totals import OPEN
from wayproof.model.journey.transition import Answered
from wayproof.model.journey.world import FreshIds, World
from wayproof.spec.journey.records import (
    InputAccepted,
    InputRequested,
    JourneyStarted,
    LeaseGranted,
    WorkflowRunReading,
    WorkflowRunsStarted,
)
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.registries import decode_registry
from wayproof.spec.journey.requests import Request
from wayproof.spec.journey.validation import decode
from wayproof.spec.journey.vocabulary import AccountingStatus, Capability, LifecycleState

MODEL_CAPABILITIES = frozenset(
    {
        Capability.DURABLE_LIFECYCLE,
        Capability.PINNED_DEFINITION,
        Capability.DURABLE_OBSERVATION,
        Capability.DURABLE_DISPATCH,
        Capability.RESTART_RECOVERY,
        Capability.DEADLINE_ENFORCEMENT,
        Capability.COOPERATIVE_CANCELLATION,
        Capability.SHARED_TOKEN_RESERVATION,
        Capability.ACCOUNTING_SETTLEMENT,
    }
)
"""What this revision of the contract can be asked for."""


def open_world(setting: Setting) -> World:
    """The empty world of a setting."""
    return World(
        registry=decode_registry(setting.registry),
        capabilities=frozenset(c for c in MODEL_CAPABILITIES if c not in setting.withheld),
    )


def due_instants(terms: Terms, state: State) -> tuple[int, ...]:
    """Every instant at which something of a journey falls due by time."""
    instants = []
    if state.lifecycle in LIVE:
        instants.append(terms.deadline)
    if state.lifecycle is LifecycleState.CANCELLING:
        instants.append(cutoff(terms, state))
    if state.accounting is AccountingStatus.PENDING and state.accounting_deadline is not None:
        instants.append(state.accounting_deadline)
    instants.extend(t.lease_expires_at for t in state.transmissions if t.state in OPEN)
    if state.lease is not None and state.lifecycle in LIVE:
        instants.append(state.lease.expires_at)
    return tuple(instants)


def world_instants(world: World) -> frozenset[int]:
    """Every instant at which something of a world falls due."""
    return frozenset(i for j in world.journeys for i in due_instants(j.terms, j.state))


def ids_of(world: World) -> FreshIds:
    """Fresh ids that depend on the world alone, so that all allowed worlds name alike."""

    def fresh(kind: str, amount: int) -> tuple[str, ...]:
        if kind == "journey":
            made = len(world.journeys)
        else:
            made = sum(len(journey.state.runs) for journey in world.journeys)
        return tuple(f"{kind}-{made + n:04d}" for n in range(1, amount + 1))

    return fresh


@lru_cache(maxsize=200_000)
def _decoded(operation: str, text: str) -> Request | Refusal:
    try:
        return decode(operation, json.loads(text))
    except Refusal as refusal:
        return refusal


def decode_cached(operation: object, arguments: object) -> Request:
    """Decode, remembering what was decoded before.

    Raises:
        Refusal: as :func:`decode`.
    """
    assert isinstance(operation, str)
    try:
        text = json.dumps(arguments, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError):
        return decode(operation, arguments)
    decoded = _decoded(operation, text)
    if isinstance(decoded, Refusal):
        raise decoded
    return decoded


def play_call(world: World, operation: str, arguments: Any, now: int) -> Played:
    """Serve one call on one world."""
    return simulate.play(
        world, operation, arguments, now, fresh_ids=ids_of(world), decode=decode_cached
    )


MOST_WORLDS = 1000
"""How many allowed worlds a moment may have at most; the suite's own have fewer than a hundred."""


class TooManyWorlds(Exception):
    """So much is due, for so long, that the allowed worlds cannot be gone through."""


def closure(worlds: tuple[World, ...], now: int) -> tuple[World, ...]:
    """The worlds, and all that due steps may have led to by now; the lazy ones first.

    Raises:
        TooManyWorlds: if these are more than :data:`MOST_WORLDS`.
    """
    reached: dict[tuple[State, ...], World] = {_key(world): world for world in worlds}
    for world in worlds:
        choices = [
            sorted(settled_states(j.terms, j.state, now) - {j.state}, key=repr)
            for j in world.journeys
        ]
        if not any(choices):
            continue
        if len(reached) + prod(len(more) + 1 for more in choices) > MOST_WORLDS:
            raise TooManyWorlds
        for states in product(
            *([j.state, *more] for j, more in zip(world.journeys, choices, strict=True))
        ):
            reached.setdefault(
                states,
                replace(
                    world,
                    journeys=tuple(
                        replace(j, state=state)
                        for j, state in zip(world.journeys, states, strict=True)
                    ),
                ),
            )
    return tuple(reached.values())


def _key(world: World) -> tuple[State, ...]:
    return tuple(journey.state for journey in world.journeys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where a play stands: the allowed worlds, the clock, and what names stand for."""

    worlds: tuple[World, ...]
    """The lazy one first."""
    now: int
    names: Mapping[str, Any]

    @property
    def world(self) -> World:
        """The model's own choice."""
        return self.worlds[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """What one allowed world made of an action."""

    before: World
    """Before any due step was taken."""
    played: Played


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """One action, played."""

    action: Action
    before: Moment
    after: Moment
    branches: tuple[Branch, ...]
    """The model's own choice first; none for a tick, restart or reconfiguration."""
    bound: Mapping[str, str]
    """Names that the reply gave: name to JSON Pointer."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the model's own choice."""
        return self.branches[0].played.step.labels if self.branches else ()


def begin(setting: Setting) -> Moment:
    """Before the first action."""
    return Moment(worlds=(open_world(setting),), now=setting.now, names=dict(setting.constants))


def take(moment: Moment, action: Action) -> Taken:
    """Play one action."""
    if isinstance(action, Call):
        return _called(moment, action)
    if isinstance(action, Sweep):
        branches = tuple(
            Branch(before=origin, played=simulate.sweep(world, moment.now))
            for origin, world in _origins(moment)
        )
        after = replace(moment, worlds=_distinct(b.played.world for b in branches))
        return Taken(action=action, before=moment, after=after, branches=branches, bound={})
    after = moment
    if isinstance(action, Tick):
        after = _ticked(moment, action.to)
    elif isinstance(action, Reconfigure):
        edited = decode_registry(action.registry)
        after = replace(moment, worlds=tuple(replace(w, registry=edited) for w in moment.worlds))
    return Taken(action=action, before=moment, after=after, branches=(), bound={})


def play_script(setting: Setting, script: Script) -> tuple[Taken, ...]:
    """Play a whole story."""
    moment = begin(setting)
    taken: list[Taken] = []
    for action in script:
        taken.append(take(moment, action))
        moment = taken[-1].after
    return tuple(taken)


def _origins(moment: Moment) -> list[tuple[World, World]]:
    return [(origin, world) for origin in moment.worlds for world in closure((origin,), moment.now)]


def _called(moment: Moment, action: Call) -> Taken:
    sent = substitute(action.arguments, moment.names)
    branches = tuple(
        Branch(before=origin, played=play_call(world, action.operation, sent, moment.now))
        for origin, world in _origins(moment)
    )
    bound, values = new_names(moment, branches[0].played)
    after = replace(
        moment,
        worlds=_distinct(branch.played.world for branch in branches),
        names={**moment.names, **values},
    )
    return Taken(action=action, before=moment, after=after, branches=branches, bound=bound)


def new_names(moment: Moment, played: Played) -> tuple[dict[str, str], dict[str, Any]]:
    """The names that a reply gives: to JSON Pointer, and to value."""
    reply = played.step.reply
    if not isinstance(reply, Answered) or played.step.labels[-1].endswith("replayed"):
        return {}, {}
    record = reply.record
    if isinstance(record, JourneyStarted):
        number = len(played.world.journeys)
        name = "J" if number == 1 else f"J{number}"
        return {name: "/journey_id"}, {name: record.journey_id}
    if isinstance(record, LeaseGranted) and played.step.labels == ("claim_lease.granted",):
        name = f"F{_count(moment, 'F') + 1}"
        return {name: "/fencing_token"}, {name: record.fencing_token}
    if played.step.labels[-1].startswith("replay"):
        return {}, {}
    bound: dict[str, str] = {}
    values: dict[str, Any] = {}
    for field, letter in NAMED_LISTS:
        made = getattr(record, field, ())
        for place, value in enumerate(made):
            name = f"{letter}{_count(moment, letter) + 1 + place}"
            bound[name], values[name] = f"/{field}/{place}", value
    for field, letter in _NAMED_FIELDS.get(type(record), ()):
        value = getattr(record, field)
        if value is not None:
            name = f"{letter}{_count(moment, letter) + 1}"
            bound[name], values[name] = f"/{field}", value
    return bound, values


NAMED_LISTS = (("workflow_run_ids", "R"), ("next_workflow_run_ids", "R"))
"""The fields of replies that hold ids of new runs, and the letter of their names."""

_NAMED_FIELDS: Mapping[type, tuple[tuple[str, str], ...]] = {
    WorkflowRunsStarted: (("input_request_id", "I"),),
    WorkflowRunReading: (("next_input_request_id", "I"),),
    InputRequested: (("input_request_id", "I"),),
    InputAccepted: (("next_input_request_id", "I"),),
}
"""The fields of replies that hold the id of a new input request."""


def _count(moment: Moment, letter: str) -> int:
    return sum(1 for name in moment.names if name[:1] == letter and name[1:].isdecimal())


def _ticked(moment: Moment, to: int) -> Moment:
    """What a backend may have done at each instant that the clock passes and at which something
    of its own falls due, perhaps only because of what it did at an earlier one."""
    now, worlds = moment.now, closure(moment.worlds, moment.now)
    while passed := [i for w in worlds for i in world_instants(w) if now < i < to]:
        now = min(passed)
        worlds = _distinct(
            reached
            for world in worlds
            for reached in (closure((world,), now) if now in world_instants(world) else (world,))
        )
        if len(worlds) > MOST_WORLDS:
            raise TooManyWorlds
    return replace(moment, worlds=worlds, now=to)


def _distinct(worlds: Iterable[World]) -> tuple[World, ...]:
    kept: dict[tuple[State, ...], World] = {}
    for world in worlds:
        kept.setdefault(_key(world), world)
    return tuple(kept.values())
