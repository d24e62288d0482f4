"""The systematic families: every rule, in every state in which it can apply."""

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Final

from wayproof.conformance.generate import settings
from wayproof.conformance.generate.goals import goals_of
from wayproof.conformance.generate.menus import Scope
from wayproof.conformance.generate.probes import probing
from wayproof.conformance.generate.scripts import Action, Call, Draft, Sweep
from wayproof.conformance.generate.selection import (
    Candidate,
    Wanted,
    anything,
    is_quiet,
    probe,
)
from wayproof.conformance.generate.situations import Situation, Worlds, explore

WORLDS: Final[Worlds] = (
    (settings.ORDINARY, Scope(attempts=False), 1500),
    (settings.ORDINARY, Scope(owner_lease=settings.SHORT_LEASE, attempts=False), 800),
    (
        settings.ORDINARY,
        Scope(owner_lease=settings.SHORT_LEASE, transmissions=0, attempts=False),
        600,
    ),
    (
        settings.ORDINARY,
        Scope(
            owner_lease=settings.SHORT_LEASE,
            reservation_lease=settings.LONG_LEASE,
            children=0,
            attempts=False,
        ),
        800,
    ),
    (settings.PARALLEL, Scope(sequence="pair", transmissions=2, attempts=False), 600),
    (settings.PARALLEL, Scope(sequence="pair", transmissions=0, attempts=False), 600),
    (settings.LIMITED, Scope(grouped=False, children=2), 1000),
    (settings.FORBIDDEN, Scope(grouped=False, transmissions=2), 500),
    (settings.NARROW, Scope(sequence="pair", transmissions=0), 100),
    (settings.BRIEF, Scope(transmissions=1, attempts=False), 300),
    (settings.TIGHT, Scope(transmissions=2, attempts=False), 500),
    (settings.ORDINARY, Scope(transmissions=3, children=0, attempts=False), 1500),
    (settings.ORDINARY, Scope(reservation_lease=settings.LONG_LEASE, attempts=False), 600),
    (
        settings.ORDINARY,
        Scope(transmissions=2, plain=False, children=0, attempts=False, ends=False),
        1500,
    ),
    (
        settings.ORDINARY,
        Scope(transmissions=2, groups=2, plain=False, children=0, attempts=False, ends=False),
        600,
    ),
    (
        settings.LIMITED,
        Scope(transmissions=4, grouped=False, children=0, attempts=False, ends=False),
        800,
    ),
    (settings.SLOW, Scope(reservation_lease=settings.LONG_LEASE, attempts=False), 400),
)
"""Where situations are searched: setting, menu, and how many at most."""

FAMILIES: Final = {
    "start": "lifecycle",
    "begin_journey": "lifecycle",
    "complete_journey": "lifecycle",
    "fail_journey": "lifecycle",
    "snapshot": "lifecycle",
    "list_workflow_runs": "run",
    "list_reservations": "reservation",
    "list_discrepancies": "accounting",
    "terminal_outcome": "lifecycle",
    "settled_result": "accounting",
    "cancel": "cancellation",
    "claim_lease": "lease",
    "heartbeat": "lease",
    "start_workflow_run": "run",
    "finish_workflow_run": "run",
    "claim_attempt": "counter",
    "reserve": "reservation",
    "transmit": "reservation",
    "renew_reservation": "reservation",
    "report_unsent": "accounting",
    "report_response": "accounting",
    "report_ambiguity": "retry",
    "list_dispatch_intents": "dispatch",
    "acknowledge_dispatch": "dispatch",
    "claim_dispatched_run": "dispatch",
    "request_input": "route",
    "submit_input": "route",
    "sweep": "deadline",
}
"""The family of each operation's vectors."""


def situations(worlds: Worlds = WORLDS) -> Iterator[Situation]:
    """The situations of all worlds, world by world, each by the length of its story."""
    for setting, scope, most in worlds:
        yield from explore(setting, scope, most)


def candidates(worlds: Worlds = WORLDS, wanted: Wanted = anything) -> Iterator[Candidate]:
    """One candidate for each probe of each situation that is wanted."""
    judged: Counter[Hashable] = Counter()
    for situation in situations(worlds):
        for actions in probes(situation):
            probed = probe(situation, actions)
            if probed is None or not wanted(probed):
                continue
            yield Candidate(
                draft=Draft(
                    family=FAMILIES[probed.last.step.operation],
                    topic=probed.last.step.operation.replace("_", "-"),
                    setting=situation.setting,
                    script=(*probed.script, Sweep()),
                    focus=len(situation.script),
                    title=title(situation, actions, probed.last.step.labels),
                ),
                goals=goals_of(situation, probed, judged),
                quiet=is_quiet(probed),
            )


def probes(situation: Situation) -> Iterator[tuple[Action, ...]]:
    """Every single command, and a sweep."""
    yield (Sweep(),)
    for command in probing(situation.world, situation.scope):
        yield (command,)


def title(situation: Situation, actions: tuple[Action, ...], labels: tuple[str, ...]) -> str:
    """What a story is about: operation, state of the journey, and the rule that answers."""
    *_, last = actions
    operation = last.operation if isinstance(last, Call) else "sweep"
    state = situation.state
    rule = ", ".join(label.replace("_", " ").replace(".", ": ") for label in labels)
    return (
        f"{operation} on a {state.lifecycle} journey, accounting {state.accounting}: "
        f"{rule or 'nothing due'}"
    )
