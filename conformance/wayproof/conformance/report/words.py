"""Turns of phrase that several reports and messages share."""

import re
from collections.abc import Iterable
from typing import Final

_PLAINLY: Final = (
    (r"^Value error, ", ""),
    (r"^Field required$", "it is missing"),
    (r"^(Unexpected keyword argument|Extra inputs are not permitted)$", "nothing has that name"),
    (r"^Input should be a valid integer(, .*)?$", "it must be a whole number"),
    (r"^Input should be a valid number(, .*)?$", "it must be a number"),
    (r"^Input should be a valid string$", "it must be a text"),
    (r"^Input should be a valid (array|list|tuple)$", "it must be a list"),
    (r"^Input should be (an object|a valid dict.*)$", "it must be a table"),
    (r"^Input should be greater than or equal to (\S+)$", r"it must be \1 or more"),
    (r"^Input should be less than or equal to (\S+)$", r"it must be \1 or less"),
    (r"^Input should be ", "it must be "),
)
"""What a validator says, and how it is told to who gave the value."""


def plainly(problem: str) -> str:
    """What is wrong with a value, in other words than those of the library that found it."""
    for pattern, words in _PLAINLY:
        problem = re.sub(pattern, words, problem)
    return problem


def several(number: int, what: str) -> str:
    """How many there are: ``1 vector``, ``2 vectors``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def did_you_mean(names: Iterable[str]) -> str:
    """A question that follows a message about an unknown name; nothing if none is like it."""
    held = tuple(names)
    return f" Did you mean {' or '.join(held)}?" if held else ""
