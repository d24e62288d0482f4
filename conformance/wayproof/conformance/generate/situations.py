"""The situations that a journey can be in, each with the shortest way there.

A breadth-first search over the leading commands and the due instants. Two states are one
situation if no rule could tell them apart but by exact amounts and moments (:func:`outline`), so
the search stays small while every combination of lifecycle, accounting, leases, runs and
transmissions that the menu can reach is reached by its shortest story.
"""

from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from wayproof.conformance.generate.belief import due_instants, open_world, play_call
from wayproof.conformance.generate.menus import Scope, leading
from wayproof.conformance.generate.scripts import Action, Call, Script, Setting, Sweep, Tick
from wayproof.conformance.generate.settings import MIDNIGHT
from wayproof.conformance.vectors.names import substitute
from wayproof.model.journey import simulate
from wayproof.model.journey.state import State, Terms
from wayproof.model.journey.totals import OPEN
from wayproof.model.journey.world import World

Worlds = tuple[tuple[Setting, Scope, int], ...]
"""Where situations are searched: setting, menu, and how many at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Where a shortest story leads."""

    setting: Setting
    scope: Scope
    script: Script
    world: World
    now: int

    @property
    def state(self) -> State:
        """The first journey's state."""
        return self.world.journeys[0].state


def symbols(world: World, setting: Setting) -> dict[str, object]:
    """What the symbolic names stand for in a world of one journey."""
    names: dict[str, object] = dict(setting.constants)
    for journey in world.journeys[:1]:
        names["J"] = journey.terms.journey_id
        for index, run in enumerate(journey.state.runs, start=1):
            names[f"R{index}"] = run.workflow_run_id
        for index, asked in enumerate(journey.state.inputs, start=1):
            names[f"I{index}"] = asked.input_request_id
        token = journey.state.lease.fencing_token if journey.state.lease else 0
        for number in range(1, token + 1):
            names[f"F{number}"] = number
    return names


def outline(terms: Terms, state: State, now: int) -> Hashable:
    """What tells situations apart."""
    invocations = {t.invocation_id: None for t in state.transmissions}
    order = list(invocations)
    lease = state.lease
    return (
        state.lifecycle,
        state.terminal_reason,
        state.accounting,
        None if lease is None else (min(lease.fencing_token, 2), now >= lease.expires_at),
        tuple((r.state, r.purpose, r.superseded, r.stage_id) for r in state.runs),
        state.position,
        tuple((i.workflow_run_id, i.cause, i.state) for i in state.intents),
        tuple((i.workflow_run_id, i.answered, i.option) for i in state.inputs),
        tuple(
            (
                order.index(t.invocation_id),
                t.idempotency,
                t.state,
                t.reserved_tokens,
                (t.actual_tokens or 0) > t.reserved_tokens,
                t.actual_tokens == 0,
                t.state in OPEN and now >= t.lease_expires_at,
            )
            for t in state.transmissions
        ),
        state.counters,
        tuple(sorted({d.kind for d in state.discrepancies})),
        tuple(sorted(i <= now for i in due_instants(terms, state))),
    )


def explore(setting: Setting, scope: Scope, most: int) -> Iterator[Situation]:
    """Situations by the length of their stories (an instant and its sweep count once), at most
    ``most``."""
    first = Situation(
        setting=setting, scope=scope, script=(), world=open_world(setting), now=MIDNIGHT
    )
    queue = deque([first])
    seen: set[Hashable] = {None}
    yielded = 0
    while queue:
        situation = queue.popleft()
        if situation.world.journeys:
            yield situation
            yielded += 1
            if yielded >= most:
                return
        for action, world, now in _onward(situation):
            journey = world.journeys[0] if world.journeys else None
            key = None if journey is None else outline(journey.terms, journey.state, now)
            if key not in seen:
                seen.add(key)
                queue.append(
                    Situation(
                        setting=setting,
                        scope=scope,
                        script=(*situation.script, *action),
                        world=world,
                        now=now,
                    )
                )


def _onward(situation: Situation) -> Iterator[tuple[tuple[Action, ...], World, int]]:
    names = symbols(situation.world, situation.setting)
    for command in leading(situation.world, situation.scope):
        world = serve(situation.world, command, names, situation.now)
        if world is not situation.world:
            yield (command,), world, situation.now
    for journey in situation.world.journeys[:1]:
        instants = [*due_instants(journey.terms, journey.state)]
        if journey.state.lease is not None:  # also of an ended journey: a takeover finds it so
            instants.append(journey.state.lease.expires_at)
        later = sorted(instant for instant in instants if instant > situation.now)
        for instant in later[:1]:
            swept = simulate.sweep(situation.world, instant).world
            yield (Tick(instant), Sweep()), swept, instant
            yield (Tick(instant),), situation.world, instant
        swept = simulate.sweep(situation.world, situation.now).world
        if swept != situation.world:
            yield (Sweep(),), swept, situation.now


def serve(world: World, command: Call, names: dict[str, object], now: int) -> World:
    """The world after a command; the same object if it changed nothing."""
    played = play_call(world, command.operation, substitute(command.arguments, names), now)
    return world if played.world == world else played.world
