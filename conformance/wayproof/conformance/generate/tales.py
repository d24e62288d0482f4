"""Stories that nobody wrote: random commands, ticks, sweeps and restarts, the same for one seed.

A tale is told on the allowed worlds, one action after the other, so that most of what it asks is
granted and the journeys stay alive; what would end one is asked now and then.
"""

from dataclasses import replace
from random import Random
from typing import Final

from wayproof.conformance.generate import settings
from wayproof.conformance.generate.belief import world_instants
from wayproof.conformance.generate.menus import Scope
from wayproof.conformance.generate.scripts import Call, Restart, Setting, Sweep, Tick
from wayproof.conformance.generate.settings import CEILING, SECOND, SHORT_LEASE, at, setting
from wayproof.conformance.generate.unfolding import Unfolding
from wayproof.conformance.vectors.names import UnknownName
from wayproof.model.journey.lifecycle import LIVE
from wayproof.spec.journey.vocabulary import AccountingStatus

ROOMY: Final = setting(
    "roomy", "solo", max_total_tokens=10 * CEILING, deadline_utc=at(600 * SECOND)
)
"""Room for a long life."""

STAGES: Final[tuple[tuple[int, Setting, Scope], ...]] = (
    (5, ROOMY, Scope(transmissions=5, children=3)),
    (5, ROOMY, Scope(transmissions=3, children=2, owner_lease=4 * SHORT_LEASE)),
    (3, settings.ORDINARY, Scope(transmissions=4, children=2)),
    (3, settings.PARALLEL, Scope(sequence="pair", transmissions=3, children=2)),
    (2, settings.LIMITED, Scope(transmissions=3, children=3)),
    (1, settings.FORBIDDEN, Scope(transmissions=2)),
    (1, settings.NARROW, Scope(sequence="pair")),
    (2, settings.BRIEF, Scope(transmissions=3)),
    (1, settings.TIGHT, Scope(transmissions=2)),
    (2, settings.HUGE, Scope(transmissions=3, children=2)),
    (3, settings.FORK, Scope(sequence="fork", transmissions=2, children=1, pauses=1)),
    (2, settings.GATED, Scope(sequence="gated", transmissions=1, pauses=2)),
    (1, settings.CHAIN, Scope(sequence="chain", children=2, transmissions=2)),
    (1, settings.FORK_NARROW, Scope(sequence="fork", transmissions=1)),
    (2, settings.ORDINARY, Scope(transmissions=2, pauses=2, owner_lease=4 * SHORT_LEASE)),
    (2, settings.BUILD, Scope(sequence="build", transmissions=1, children=1, pauses=1)),
)
"""Where tales are told: how often, the setting, and how far its menu goes."""

LENGTHS: Final = (12, 40)
"""From how many to how many actions a tale has, if its journeys live on."""

WEIGHTS: Final = {
    "reserve": 6,
    "transmit": 6,
    "report_response": 4,
    "report_unsent": 2,
    "report_ambiguity": 2,
    "renew_reservation": 3,
    "finish_workflow_run": 1,
    "cancel": 1,
    "fail_journey": 1,
    "claim_dispatched_run": 6,
    "submit_input": 6,
}
"""How often each operation is drawn; all others 2."""

MORTAL: Final = 0.1
"""How readily a command is asked that would end or cancel a journey."""

FUTILE: Final = 0.15
"""How readily a command is asked that would change nothing: most are refused, some are reads."""

MOST_DRAWS: Final = 20
"""How often another command is drawn in place of one that is not asked."""

EPILOGUE: Final = 4
"""How many actions follow once every journey is over and its accounting final."""


def tell(random: Random) -> Unfolding:
    """Tell a tale."""
    _, setting, scope = random.choices(STAGES, weights=[stage[0] for stage in STAGES])[0]
    telling = _Telling(random, Unfolding(setting, scope))
    telling.tell()
    return telling.story


class _Telling:
    def __init__(self, random: Random, story: Unfolding) -> None:
        self.random = random
        self.story = story
        self.second = random.random() < 0.25

    def tell(self) -> None:
        epilogue = EPILOGUE
        for _ in range(self.random.randint(*LENGTHS)):
            if not epilogue:
                break
            self._go_on()
            epilogue -= all(
                j.state.accounting is not AccountingStatus.PENDING
                for j in self.story.moment.world.journeys
            )

    def _go_on(self) -> None:
        roles = len(self.story.roles)
        if not roles or (self.second and roles == 1 and self.random.random() < 0.2):
            self.story.start_journey(by_stranger=bool(roles) and self.random.random() < 0.5)
            return
        chosen = self.random.random()
        if chosen < 0.78:
            self._command()
        elif chosen < 0.9:
            self.story.go_on(self._tick())
        elif chosen < 0.97:
            self.story.go_on(Sweep())
        else:
            self.story.go_on(Restart())

    def _tick(self) -> Tick:
        """A little on, or to one of the next instants at which something falls due, or close to
        it; seldom past the deadline of a journey that lives."""
        world, now = self.story.moment.world, self.story.moment.now
        later = sorted(i for i in world_instants(world) if i > now)[:3]
        if later and self.random.random() < 0.75:
            instant = self.random.choice((later[0], *later))
            to = max(now, instant + self.random.choice((-1, -1, 0, 0, 1)))
        else:
            to = now + self.random.choice((1, 10, 500, SECOND))
        live = [j.terms.deadline for j in world.journeys if j.state.lifecycle in LIVE]
        if live and to >= min(live) and self.random.random() > MORTAL:
            return Tick(min(now + 100, min(live) - 1) if now < min(live) else now)
        return Tick(to)

    def _command(self) -> None:
        role = self.random.choice(self.story.roles)
        menu = self.story.menu(role, whole=self.random.random() < 0.2)
        for _ in range(MOST_DRAWS):
            try:
                call = role.renamed(self._chosen(menu))
            except UnknownName:
                continue
            if self.random.random() < self._appetite(call) and self.story.go_on(call, role):
                return

    def _chosen(self, menu: list[Call]) -> Call:
        """First an operation, by its weight, then one of its requests."""
        operations = sorted({call.operation for call in menu})
        weights = [WEIGHTS.get(operation, 2) for operation in operations]
        (operation,) = self.random.choices(operations, weights=weights)
        call = self.random.choice([call for call in menu if call.operation == operation])
        if self.random.random() < 0.02:
            return replace(call, arguments={**call.arguments, "access": "$stranger"})
        return call

    def _appetite(self, call: Call) -> float:
        """How readily a command is asked: by what it would do."""
        foreseen = self.story.foreseen(call)
        if self.story.ends_a_journey(foreseen):
            return MORTAL
        return FUTILE if foreseen.world == self.story.moment.world else 1.0
