"""Which of all conceivable stories become vectors.

Each candidate says which goals it serves: what it shows that no shorter story has shown yet.
It is kept if at least one of its goals is new.
"""

from collections import Counter as Tally
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from wayproof.conformance.generate.belief import play_call
from wayproof.conformance.generate.scripts import Action, Call, Draft, Script, Sweep, Tick
from wayproof.conformance.generate.situations import Situation, symbols
from wayproof.conformance.vectors.names import UnknownName, substitute
from wayproof.model.journey import simulate
from wayproof.model.journey.simulate import Played


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A story, and what it would show."""

    draft: Draft
    goals: frozenset[Hashable]
    quiet: bool = False
    """Whether the focus changed nothing, so that others can be told in the same breath."""


MOST_MERGED: Final = 8
"""How many requests that change nothing are told in one story."""


def merged(candidates: Iterable[Candidate]) -> Iterator[Draft]:
    """The drafts of what was selected; such as change nothing in one situation become one."""
    quiet: dict[Hashable, list[Draft]] = {}
    for candidate in candidates:
        draft = candidate.draft
        if not candidate.quiet:
            yield draft
            continue
        lead = repr(draft.script[: draft.focus])
        together = quiet.setdefault((draft.family, draft.topic, draft.setting.name, lead), [])
        together.append(draft)
        if len(together) == MOST_MERGED:
            yield _one(together)
            together.clear()
    yield from (_one(together) for together in quiet.values() if together)


def _one(drafts: list[Draft]) -> Draft:
    first = drafts[0]
    focus = [draft.script[draft.focus] for draft in drafts]
    titles = dict.fromkeys(draft.title for draft in drafts)
    return replace(
        first,
        script=(*first.script[: first.focus], *focus, *first.script[first.focus + 1 :]),
        title="; ".join(titles)[:MOST_TITLE],
    )


MOST_TITLE: Final = 400


def is_quiet(probed: "Probe") -> bool:
    """Whether the last action changed nothing that a read shows."""
    step = probed.last.step
    return step.before == step.after


def select(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates that show something new, in order, less those of which others show all."""
    shown: Tally[Hashable] = Tally()
    kept = []
    for candidate in candidates:
        if any(goal not in shown for goal in candidate.goals):
            shown.update(candidate.goals)
            kept.append(candidate)
    for candidate in sorted(kept, key=lambda c: len(c.draft.script), reverse=True):
        if all(shown[goal] > 1 for goal in candidate.goals):
            shown.subtract(candidate.goals)
            kept.remove(candidate)
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What the last actions of a story do to a situation, as the model itself chooses."""

    script: Script
    played: tuple[Played, ...]

    @property
    def last(self) -> Played:
        """The last call or sweep."""
        return self.played[-1]


def probe(situation: Situation, actions: tuple[Action, ...]) -> Probe | None:
    """Play actions on a situation; None if one of them names what does not exist there."""
    world, now = situation.world, situation.now
    played: list[Played] = []
    for action in actions:
        if isinstance(action, Call):
            try:
                sent = substitute(action.arguments, symbols(world, situation.setting))
            except UnknownName:
                return None
            played.append(play_call(world, action.operation, sent, now))
            world = played[-1].world
        elif isinstance(action, Sweep):
            played.append(simulate.sweep(world, now))
            world = played[-1].world
        elif isinstance(action, Tick):
            if action.to < now:
                return None
            now = action.to
    return Probe(script=(*situation.script, *actions), played=tuple(played))


Wanted = Callable[[Probe], bool]
"""Which probes a family is told of."""


def anything(probed: Probe) -> bool:
    """Every probe is wanted."""
    return True
