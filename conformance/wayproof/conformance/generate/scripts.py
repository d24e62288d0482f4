"""What a story is made of, before anybody has played it.

Arguments are symbolic: ``"$J"`` is the first journey that a reply named, ``"$J2"`` the second;
``"$R1"``, ``"$R2"`` are the workflow runs, ``"$I1"``, ``"$I2"`` the input requests and ``"$F1"``,
``"$F2"`` the fencing tokens in the order in which replies named them; every other ``"$name"`` is a
constant of the setting.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

JsonValue = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request."""

    operation: str
    arguments: JsonValue


@dataclass(frozen=True, slots=True)
class Tick:
    """The clock moves to ``to`` milliseconds since 1970 UTC."""

    to: int


@dataclass(frozen=True, slots=True)
class Sweep:
    """Everything that is due takes effect."""


@dataclass(frozen=True, slots=True)
class Restart:
    """The process dies and comes back."""


@dataclass(frozen=True, slots=True)
class Reconfigure:
    """The registry is replaced."""

    registry: Mapping[str, JsonValue] = field(hash=False)


Action = Call | Tick | Sweep | Restart | Reconfigure

Script = tuple[Action, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a story is played in."""

    name: str
    registry: Mapping[str, JsonValue] = field(hash=False)
    constants: Mapping[str, JsonValue] = field(hash=False)
    now: int
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A story worth telling: where it belongs, and from which step on it is the point."""

    family: str
    topic: str
    setting: Setting
    script: Script
    focus: int
    """Index of the first action that the story is about; those before only lead there."""
    title: str


def call(operation: str, **arguments: JsonValue) -> Call:
    """A request with these arguments."""
    return Call(operation=operation, arguments=arguments)


def owned(
    operation: str, *, journey: str = "$J", access: JsonValue = "$owner", **more: Any
) -> Call:
    """A request on a journey by its owner's access."""
    return call(operation, access=access, journey_id=journey, **more)
