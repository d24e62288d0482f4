"""What time alone leads to, and what a restart must not lose: from every situation."""

from collections.abc import Hashable, Iterator
from typing import Final

from wayproof.conformance.generate import settings
from wayproof.conformance.generate.belief import TooManyWorlds, begin, take, world_instants
from wayproof.conformance.generate.menus import Scope
from wayproof.conformance.generate.scripts import (
    Action,
    Draft,
    Restart,
    Script,
    Setting,
    Sweep,
    Tick,
)
from wayproof.conformance.generate.selection import Candidate, standing
from wayproof.conformance.generate.situations import Situation, explore
from wayproof.spec.journey.vocabulary import AccountingStatus

WORLDS: Final[tuple[tuple[Setting, Scope, int], ...]] = (
    (settings.ORDINARY, Scope(transmissions=2, attempts=False), 800),
    (settings.LIMITED, Scope(transmissions=1, grouped=False), 200),
    (settings.PARALLEL, Scope(sequence="pair", transmissions=1, attempts=False), 150),
    (settings.BRIEF, Scope(transmissions=1, attempts=False), 100),
    (settings.ORDINARY, Scope(owner_lease=settings.SHORT_LEASE, transmissions=1), 150),
)
"""Where situations are searched for restarts and for what time alone leads to."""

MOST_INSTANTS: Final = 8


def situations() -> Iterator[Situation]:
    """The situations of these families."""
    for setting, scope, most in WORLDS:
        yield from explore(setting, scope, most)


def drain(setting: Setting, script: Script) -> Script:
    """The story continued by time and sweeps alone, until nothing is pending."""
    moment = begin(setting)
    for action in script:
        moment = take(moment, action).after
    onward: list[Action] = []
    for _ in range(MOST_INSTANTS):
        if all(j.state.accounting is not AccountingStatus.PENDING for j in moment.world.journeys):
            break
        later = [i for i in world_instants(moment.world) if i > moment.now]
        passing: list[Action] = [*(Tick(instant) for instant in sorted(later)[:1]), Sweep()]
        for action in passing:
            moment = take(moment, action).after
        onward.extend(passing)
    return (*script, *onward)


def _signature(situation: Situation) -> Hashable:
    state = situation.state
    return (
        standing(state),
        state.terminal_reason,
        frozenset(run.state for run in state.runs),
        frozenset((t.state, t.idempotency) for t in state.transmissions),
    )


def drained() -> Iterator[Candidate]:
    """Every situation, left alone: time and sweeps must end it, terminal and final."""
    for situation in situations():
        state = situation.state
        if state.accounting is not AccountingStatus.PENDING:
            continue
        try:
            script = drain(situation.setting, situation.script)
        except TooManyWorlds:
            continue
        yield Candidate(
            draft=Draft(
                family="deadline",
                topic="left-alone",
                setting=situation.setting,
                script=script,
                focus=len(situation.script),
                title=f"a {state.lifecycle} journey left alone ends, and settles",
            ),
            goals=frozenset({("drained", _signature(situation))}),
        )


def restarted() -> Iterator[Candidate]:
    """Every situation, with the process killed after every step on the way there."""
    for situation in situations():
        state = situation.state
        script = tuple(step for action in situation.script for step in (action, Restart()))
        yield Candidate(
            draft=Draft(
                family="crash",
                topic="between-requests",
                setting=situation.setting,
                script=(*script, Sweep(), Restart()),
                focus=0,
                title=f"restarts on the way to a {state.lifecycle} journey, "
                f"accounting {state.accounting}",
            ),
            goals=frozenset({("restarted", _signature(situation))}),
        )
