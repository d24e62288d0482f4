"""Which of all conceivable stories become vectors.

Each candidate says which goals it serves: what it shows that no shorter story has shown yet.
It is kept if at least one of its goals is new.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from wayproof.conformance.generate.belief import play_call
from wayproof.conformance.generate.scripts import Action, Call, Draft, Script, Sweep, Tick
from wayproof.conformance.generate.situations import Situation, symbols
from wayproof.conformance.generate.tags import clauses_at_stake
from wayproof.conformance.vectors.names import UnknownName, substitute
from wayproof.model.journey import simulate
from wayproof.model.journey.simulate import Played
from wayproof.model.journey.state import State

JUDGED_ALIKE: Final = 3
"""How many probes that look alike are asked which clauses they put at stake: asking is dear."""


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


def select(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """The candidates that show something new, in order."""
    shown: set[Hashable] = set()
    for candidate in candidates:
        if not candidate.goals <= shown:
            shown |= candidate.goals
            yield candidate


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


def standing(state: State) -> Hashable:
    """The part of a situation that every goal tells apart."""
    return (state.lifecycle, state.accounting)


def shape(state: State, transmission_id: object) -> Hashable:
    """How a transmission stands, with its siblings; None where it is unknown."""
    for transmission in state.transmissions:
        if transmission.transmission_id == transmission_id:
            siblings = {
                t.state
                for t in state.transmissions
                if t.invocation_id == transmission.invocation_id and t is not transmission
            }
            return (transmission.state, transmission.idempotency, frozenset(siblings))
    return None


def boundary(state: State, left: int, sent: dict[str, Any]) -> Any:
    """On which side of which bound the request's amounts lie."""
    if "usage" in sent:
        return usage_class(state, sent)
    if "max_output_tokens" in sent:
        parts = (sent["estimated_prompt_tokens"], sent["max_output_tokens"])
        if None in parts:
            return tuple(part is None for part in parts)
        return max(-2, min(sum(parts) - left, 2))
    if "lease_milliseconds" in sent:
        return sent["lease_milliseconds"]
    return None


def usage_class(state: State, sent: dict[str, Any]) -> Any:
    """Usage against the amount of its transmission, and against what was reported before."""
    usage = sent["usage"]
    if type(usage) is not int or not 0 <= usage < 2**53:
        return (type(usage).__name__, isinstance(usage, int) and usage > 0)
    for transmission in state.transmissions:
        if transmission.transmission_id == sent.get("transmission_id"):
            over = max(-2, min(usage - transmission.reserved_tokens, 2))
            return (usage == 0, over, usage == transmission.actual_tokens)
    return (usage == 0,)


def goals_of(situation: Situation, probed: Probe, judged: Counter[Hashable]) -> frozenset[Hashable]:
    """What a probe of a situation shows: each rule in each lifecycle and accounting state, on
    each side of each bound, for each shape of the transmission concerned, and each clause in
    each lifecycle state. ``judged`` counts the probes that looked alike so far."""
    state = situation.state
    left = situation.world.journeys[0].terms.max_total_tokens - state.totals.exposure
    step = probed.last.step
    sent = step.arguments if isinstance(step.arguments, dict) else {}
    about = shape(state, sent.get("transmission_id"))
    rule = (step.operation, tuple(p.step.labels for p in probed.played))
    goals: set[Hashable] = {
        ("rule", rule, standing(state)),
        ("shape", rule, about),
        ("boundary", rule, boundary(state, left, sent)),
    }
    alike = (rule, standing(state), about)
    judged[alike] += 1
    if judged[alike] <= JUDGED_ALIKE:
        for clause in clauses_at_stake(probed.last):
            goals.add(("clause", clause, step.operation, standing(state)))
    return frozenset(goals)
