"""The families of time and order: one millisecond before, at and after every due instant, and
every pair of commands whose order decides."""

from collections.abc import Hashable, Iterator
from typing import Final

from wayproof.conformance.generate import settings
from wayproof.conformance.generate.belief import due_instants
from wayproof.conformance.generate.coverage import FAMILIES
from wayproof.conformance.generate.goals import company, fates
from wayproof.conformance.generate.menus import Scope, leading
from wayproof.conformance.generate.probes import probing
from wayproof.conformance.generate.scripts import Action, Call, Draft, Sweep, Tick
from wayproof.conformance.generate.selection import (
    Candidate,
    Probe,
    Wanted,
    anything,
    is_quiet,
    probe,
)
from wayproof.conformance.generate.situations import Situation, Worlds, explore
from wayproof.spec.journey.vocabulary import TERMINAL_STATES

WORLDS: Worlds = (
    (settings.ORDINARY, Scope(transmissions=1, attempts=False), 120),
    (settings.ORDINARY, Scope(owner_lease=settings.SHORT_LEASE, transmissions=1), 120),
    (settings.BRIEF, Scope(transmissions=1, attempts=False), 80),
    (settings.ORDINARY, Scope(transmissions=2, children=0, attempts=False), 200),
    (settings.LIMITED, Scope(transmissions=1, grouped=False), 250),
    (settings.ORDINARY, Scope(reservation_lease=settings.LONG_LEASE, attempts=False), 250),
    (
        settings.ORDINARY,
        Scope(reservation_lease=settings.LONG_LEASE, grouped=False, children=0, attempts=False),
        300,
    ),
    (settings.SLOW, Scope(reservation_lease=settings.LONG_LEASE, attempts=False), 150),
    (settings.PARALLEL, Scope(sequence="pair", transmissions=0, attempts=False), 100),
)
"""Where situations are searched for these families."""

LONG_AFTER: Final = 7777

OFFSETS: Final = {
    -1: "one millisecond before",
    0: "at",
    1: "one millisecond after",
    LONG_AFTER: "long after",
}
"""Milliseconds from an instant, in words. Long after it only the sweep is asked."""


def situations(worlds: Worlds = WORLDS) -> Iterator[Situation]:
    """The situations of these families."""
    for setting, scope, most in worlds:
        yield from explore(setting, scope, most)


def boundary_candidates(worlds: Worlds = WORLDS, wanted: Wanted = anything) -> Iterator[Candidate]:
    """Every command and the sweep, around every instant at which something falls due; told apart
    by what they would have done before, and a sweep by the runs and transmissions it finds."""
    for situation in situations(worlds):
        journey = situation.world.journeys[0]
        commands: list[Action] = [Sweep(), *probing(situation.world, situation.scope)]
        untimed = [probe(situation, (command,)) for command in commands]
        for instant in sorted(set(due_instants(journey.terms, situation.state))):
            kinds = kinds_at(situation, instant)
            for offset, words in OFFSETS.items():
                if instant + offset <= situation.now:
                    continue
                tick = Tick(instant + offset)
                for command, before in zip(commands, untimed, strict=True):
                    probed = probe(situation, (tick, command))
                    if probed is None or before is None or not wanted(probed):
                        continue
                    if offset == LONG_AFTER and not isinstance(command, Sweep):
                        continue
                    step = probed.last.step
                    goal = (kinds, offset, step.operation, step.labels)
                    goals: set[Hashable] = {("instant", *goal)}
                    if offset == 0:
                        goals.add(("instant", *goal, before.last.step.labels))
                    if isinstance(command, Sweep) and offset in (0, LONG_AFTER):
                        goals |= {("instant", *goal, run) for run in company(situation.state, {})}
                        goals |= {("instant", *goal, call) for call in fates(situation.state, {})}
                    where = f"{words} the {' and the '.join(kinds)}"
                    yield Candidate(
                        draft=_draft(situation, probed, FAMILIES[step.operation], where, 1),
                        goals=frozenset(goals),
                        quiet=is_quiet(probed),
                    )


def kinds_at(situation: Situation, instant: int) -> tuple[str, ...]:
    """What falls due at an instant."""
    terms, state = situation.world.journeys[0].terms, situation.state
    kinds = []
    if state.lifecycle not in TERMINAL_STATES and instant == terms.deadline:
        kinds.append("deadline")
    if state.cancellation is not None and instant == state.cancellation.deadline:
        kinds.append("cancellation deadline")
    if instant == state.accounting_deadline:
        kinds.append("accounting deadline")
    if any(instant == t.lease_expires_at for t in state.transmissions):
        kinds.append("reservation's lease expiry")
    if state.lease is not None and instant == state.lease.expires_at:
        kinds.append("owner lease's expiry")
    return tuple(kinds)


def race_candidates(worlds: Worlds = WORLDS, wanted: Wanted = anything) -> Iterator[Candidate]:
    """Both orders of every two commands of which one changes what the other may do."""
    for situation in situations(worlds):
        enabled = [
            (command, probed)
            for command in leading(situation.world, situation.scope)
            if (probed := probe(situation, (command,))) and _is_granted(probed)
        ]
        for first, alone_first in enabled:
            for second, alone_second in enabled:
                if first == second:
                    continue
                both = probe(situation, (first, second))
                other = probe(situation, (second, first))
                if both is None or other is None or not (wanted(both) or wanted(other)):
                    continue
                if (both.last.step.labels, other.last.step.labels) == (
                    alone_second.last.step.labels,
                    alone_first.last.step.labels,
                ):
                    continue
                for probed in (both, other):
                    steps = tuple((p.step.operation, p.step.labels) for p in probed.played)
                    goals: set[Hashable] = {("race", steps, situation.state.lifecycle)}
                    before, after = (p.step.operation for p in probed.played)
                    yield Candidate(
                        draft=_draft(situation, probed, "race", f"{before}, then {after}", 0),
                        goals=frozenset(goals),
                    )


def _is_granted(probed: Probe) -> bool:
    return probed.last.step.code is None


def _draft(situation: Situation, probed: Probe, family: str, where: str, lead: int) -> Draft:
    step = probed.last.step
    state = situation.state
    rule = ", ".join(label.replace("_", " ").replace(".", ": ") for label in step.labels)
    return Draft(
        family=family,
        topic="order" if family == "race" else "instants",
        setting=situation.setting,
        script=(*probed.script, *_after(probed.script[-1])),
        focus=len(situation.script) + lead,
        title=f"{step.operation} {where}, {state.lifecycle}: {rule or 'nothing due'}",
    )


def _after(last: Action) -> tuple[Action, ...]:
    return (Sweep(),) if isinstance(last, Call) else ()
