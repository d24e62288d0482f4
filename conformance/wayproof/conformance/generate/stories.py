"""What time alone leads to, and what a restart must not lose: from every situation."""

from collections.abc import Hashable, Iterator
from typing import Final

from wayproof.conformance.generate import settings
from wayproof.conformance.generate.belief import TooManyWorlds, begin, take, world_instants
from wayproof.conformance.generate.goals import kind, standing
from wayproof.conformance.generate.menus import Scope
from wayproof.conformance.generate.scripts import (
    Action,
    Call,
    Draft,
    Restart,
    Script,
    Setting,
    Sweep,
    Tick,
)
from wayproof.conformance.generate.selection import Candidate
from wayproof.conformance.generate.settings import MIDNIGHT
from wayproof.conformance.generate.situations import Situation, Worlds, explore
from wayproof.conformance.generate.unfolding import Unfolding
from wayproof.spec.journey.vocabulary import AccountingStatus

WORLDS: Final[Worlds] = (
    (settings.ORDINARY, Scope(transmissions=2, attempts=False), 800),
    (settings.LIMITED, Scope(transmissions=1, grouped=False), 200),
    (settings.PARALLEL, Scope(sequence="pair", transmissions=1, attempts=False), 150),
    (settings.BRIEF, Scope(transmissions=1, attempts=False), 100),
    (settings.ORDINARY, Scope(owner_lease=settings.SHORT_LEASE, transmissions=1), 150),
)
"""Where situations are searched for restarts and for what time alone leads to."""

MOST_INSTANTS: Final = 8


def situations(worlds: Worlds = WORLDS) -> Iterator[Situation]:
    """The situations of these families."""
    for setting, scope, most in worlds:
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


def _goals(family: str, situation: Situation) -> frozenset[Hashable]:
    """How the journey ended, or stands, each kind of run and transmission that it has then, and
    in which order its runs came about."""
    state = situation.state
    births = tuple((run.parent_workflow_run_id is None, run.member_ordinal) for run in state.runs)
    parts: set[Hashable] = {state.terminal_reason, births, state.position}
    parts |= {(intent.cause, intent.state) for intent in state.intents}
    parts |= {(asked.answered, asked.option) for asked in state.inputs}
    parts |= {kind(run) for run in state.runs}
    parts |= {(t.state, t.idempotency) for t in state.transmissions}
    return frozenset((family, standing(state), part) for part in parts)


def drained(worlds: Worlds = WORLDS) -> Iterator[Candidate]:
    """Every situation, left alone: time and sweeps must end it, terminal and final."""
    for situation in situations(worlds):
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
            goals=_goals("drained", situation),
        )


def restarted(worlds: Worlds = WORLDS) -> Iterator[Candidate]:
    """Every situation, with the process killed after every step on the way there and onward, while
    the clock goes on; and every request delivered once more, at its height and at its end."""
    for situation in situations(worlds):
        state = situation.state
        script = tuple(_restarting(situation.script))
        again = tuple(action for action in situation.script if isinstance(action, Call))
        try:
            drained = drain(situation.setting, (*script, *again))
        except TooManyWorlds:
            continue
        end = drained[len(script) + len(again) :]
        killed = tuple(step for action in end for step in (action, Restart()))
        yield Candidate(
            draft=Draft(
                family="crash",
                topic="between-requests",
                setting=situation.setting,
                script=(*script, *again, *killed, *again),
                focus=0,
                title=f"restarts on the way to a {state.lifecycle} journey, "
                f"accounting {state.accounting}, and every request once more",
            ),
            goals=_goals("restarted", situation),
        )


def _restarting(script: Script) -> Iterator[Action]:
    """The same actions, each of them a millisecond and a restart after the one before."""
    now = MIDNIGHT
    for late, action in enumerate(script):
        now = action.to if isinstance(action, Tick) else now
        yield Tick(now + late)
        if not isinstance(action, Tick):
            yield action
        yield Restart()


BESIDE: Final[Worlds] = (
    (settings.ORDINARY, Scope(attempts=False), 300),
    (settings.ORDINARY, Scope(plain=False, children=0, attempts=False), 300),
    (settings.LIMITED, Scope(transmissions=1, grouped=False), 100),
    (settings.PARALLEL, Scope(sequence="pair", transmissions=1, attempts=False), 100),
)
"""Where situations are searched that two journeys get into."""


def beside_another(worlds: Worlds = BESIDE) -> Iterator[Candidate]:
    """Every situation, reached by two journeys of one scope in step: whatever they call by the
    same id is not the same, and neither sees the other."""
    for setting, scope, most in worlds:
        for situation in explore(setting, scope, most):
            story = Unfolding(setting, scope)
            story.start_journey()
            story.start_journey()
            if not all(_in_step(story, action) for action in situation.script[1:]):
                continue
            again = tuple(taken.action for taken in story.taken[:2])
            state = situation.state
            yield Candidate(
                draft=Draft(
                    family="access",
                    topic="beside-another",
                    setting=setting,
                    script=(*story.script, Sweep(), *again),
                    focus=len(story.script) - 2,
                    title=f"two journeys in step, {state.lifecycle}, accounting {state.accounting}",
                ),
                goals=_goals("beside", situation),
            )


def _in_step(story: Unfolding, action: Action) -> bool:
    """Let every journey of a story take an action; whether all could."""
    if not isinstance(action, Call):
        return story.go_on(action)
    return all(story.go_on(role.renamed(action), role) for role in story.roles)
