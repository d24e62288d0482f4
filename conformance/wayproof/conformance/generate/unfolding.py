"""A story that is told action by action, whoever chooses them: what stands on the menu next, and
what the allowed worlds made of it so far.

Menus are made for one journey. Here there may be several, each with names of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from wayproof.conformance.generate.belief import (
    Moment,
    Taken,
    TooManyWorlds,
    begin,
    play_call,
    take,
)
from wayproof.conformance.generate.menus import Scope, leading, start
from wayproof.conformance.generate.probes import probing
from wayproof.conformance.generate.recorder import is_decidable
from wayproof.conformance.generate.scripts import Action, Call, Script, Setting
from wayproof.conformance.vectors.names import REFERENCE, UnknownName, map_strings, substitute
from wayproof.model.journey.lifecycle import LIVE
from wayproof.model.journey.simulate import Played
from wayproof.model.journey.world import World

MOST_WORLDS: Final = 24
"""A story goes no way on which there are more allowed worlds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One journey of a story: what menus call its things, and what the story calls them."""

    index: int
    names: dict[str, str] = field(default_factory=dict)

    def renamed(self, call: Call) -> Call:
        """A menu's command in the words of the story.

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


class Unfolding:
    """A story, as far as it has come."""

    def __init__(self, setting: Setting, scope: Scope) -> None:
        self.setting = setting
        self.scope = scope
        self.moment: Moment = begin(setting)
        self.taken: list[Taken] = []
        self.roles: list[Role] = []

    @property
    def script(self) -> Script:
        """Its actions."""
        return tuple(taken.action for taken in self.taken)

    def go_on(self, action: Action, role: Role | None = None) -> bool:
        """Take an action, unless nobody could tell the story after it: if what gets a name, or
        how everything stands, were too open."""
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

    def start_journey(self, *, by_stranger: bool = False) -> None:
        """Start another journey, with a key of its own or, by a stranger, with the same key."""
        role = Role(index=len(self.roles))
        changes: dict[str, Any] = {"idempotency_key": f"key-{role.index + 1}"}
        if by_stranger:
            role.names["owner"] = "stranger"
            changes = {}
        self.go_on(role.renamed(start(self.scope, **changes)), role)
        self.roles.append(role)

    def menu(self, role: Role, *, whole: bool = False) -> list[Call]:
        """What can be asked of one journey, in the words of the menu: what leads on, or, as a
        ``whole``, everything right or wrong."""
        world = self.moment.world
        alone = replace(world, journeys=world.journeys[role.index : role.index + 1])
        return list((probing if whole else leading)(alone, self.scope))

    def foreseen(self, call: Call) -> Played:
        """What the model would make of a command."""
        sent = substitute(call.arguments, self.moment.names)
        return play_call(self.moment.world, call.operation, sent, self.moment.now)

    def ends_a_journey(self, foreseen: Played) -> bool:
        """Whether that ends or cancels a journey."""
        return _lives(foreseen.world) < _lives(self.moment.world)


def _lives(world: World) -> int:
    return sum(journey.state.lifecycle in LIVE for journey in world.journeys)
