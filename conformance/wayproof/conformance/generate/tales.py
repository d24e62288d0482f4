"""Stories that nobody wrote: random commands, ticks, sweeps and restarts, the same for one seed.

A tale is told on the allowed worlds, one action after the other, so that most of what it asks is
granted and the journeys stay alive; what would end one is asked now and then.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from wayproof.conformance.generate import settings
from wayproof.conformance.generate.belief import (
    Moment,
    Taken,
    TooManyWorlds,
    begin,
    play_call,
    take,
    world_instants,
)
from wayproof.conformance.generate.menus import Scope, leading, probing, start
from wayproof.conformance.generate.recorder import is_decidable
from wayproof.conformance.generate.scripts import Action, Call, Restart, Setting, Sweep, Tick
from wayproof.conformance.generate.settings import CEILING, SECOND, SHORT_LEASE, at, setting
from wayproof.conformance.vectors.names import REFERENCE, UnknownName, map_strings, substitute
from wayproof.model.journey.lifecycle import LIVE
from wayproof.model.journey.world import World
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

MOST_WORLDS: Final = 24
"""A tale goes no way on which there are more allowed worlds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tale:
    """A tale and what the model made of it."""

    setting: Setting
    taken: tuple[Taken, ...]

    @property
    def script(self) -> tuple[Action, ...]:
        """Its actions."""
        return tuple(taken.action for taken in self.taken)


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One journey of a tale: what the menus call things, and what the tale calls them."""

    index: int
    names: dict[str, str] = field(default_factory=dict)
    """Menus are made for the only journey of a world: their names, to those of the tale."""

    def renamed(self, call: Call) -> Call:
        """A menu's command in the words of the tale.

        Raises:
            UnknownName: if it names what the journey does not have.
        """

        def rename(text: str) -> str:
            name = REFERENCE.fullmatch(text)
            if name is None:
                return text
            if name[1] in self.names:
                return f"${self.names[name[1]]}"
            if name[1][:1].isupper():
                raise UnknownName(text)
            return text

        return replace(call, arguments=map_strings(call.arguments, rename))

    def learn(self, bound: Mapping[str, str]) -> None:
        """Learn the names that a reply gave."""
        for name in bound:
            if name[:1] == "J":
                self.names["J"] = name
            else:
                known = sum(n[:1] == name[:1] and n[1:].isdecimal() for n in self.names)
                self.names[f"{name[:1]}{known + 1}"] = name


def tell(random: Random) -> Tale:
    """Tell a tale."""
    stage = random.choices(STAGES, weights=[weight for weight, _, _ in STAGES])[0]
    return _Telling(random, stage[1], stage[2]).tale()


class _Telling:
    def __init__(self, random: Random, setting: Setting, scope: Scope) -> None:
        self.random = random
        self.setting = setting
        self.scope = scope
        self.moment: Moment = begin(setting)
        self.taken: list[Taken] = []
        self.roles: list[Role] = []
        self.second = random.random() < 0.25

    def tale(self) -> Tale:
        epilogue = EPILOGUE
        for _ in range(self.random.randint(*LENGTHS)):
            if not epilogue:
                break
            self._take_one()
            epilogue -= all(
                j.state.accounting is not AccountingStatus.PENDING
                for j in self.moment.world.journeys
            )
        return Tale(setting=self.setting, taken=tuple(self.taken))

    def _take_one(self) -> None:
        if not self.roles or (self.second and len(self.roles) == 1 and self.random.random() < 0.2):
            self._start()
        else:
            chosen = self.random.random()
            if chosen < 0.78:
                self._command()
            elif chosen < 0.9:
                self._do(self._tick())
            elif chosen < 0.97:
                self._do(Sweep())
            else:
                self._do(Restart())

    def _do(self, action: Action, role: Role | None = None) -> bool:
        try:
            taken = take(self.moment, action)
        except TooManyWorlds:
            return False
        if not is_decidable(taken) or len(taken.after.worlds) > MOST_WORLDS:
            return False
        self.taken.append(taken)
        self.moment = taken.after
        if role is not None:
            role.learn(taken.bound)
        return True

    def _start(self) -> None:
        number = len(self.roles) + 1
        role = Role(index=number - 1)
        changes: dict[str, Any] = {"idempotency_key": f"key-{number}"}
        if number > 1 and self.random.random() < 0.5:
            role.names["owner"] = "stranger"
            changes = {}
        self._do(role.renamed(start(self.scope, **changes)), role)
        self.roles.append(role)

    def _tick(self) -> Tick:
        """A little on, or to one of the next instants at which something falls due, or close to
        it; seldom past the deadline of a journey that lives."""
        world, now = self.moment.world, self.moment.now
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
        role = self.random.choice(self.roles)
        world = self.moment.world
        alone = replace(world, journeys=world.journeys[role.index : role.index + 1])
        menu = list((probing if self.random.random() < 0.2 else leading)(alone, self.scope))
        for _ in range(MOST_DRAWS):
            try:
                call = role.renamed(self._chosen(menu))
            except UnknownName:
                continue
            if self.random.random() < self._appetite(call) and self._do(call, role):
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
        world = self.moment.world
        sent = substitute(call.arguments, self.moment.names)
        played = play_call(world, call.operation, sent, self.moment.now)
        if _lives(played.world) < _lives(world):
            return MORTAL
        return FUTILE if played.world == world else 1.0


def _lives(world: World) -> int:
    return sum(journey.state.lifecycle in LIVE for journey in world.journeys)
