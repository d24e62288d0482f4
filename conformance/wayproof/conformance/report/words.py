"""Turns of phrase that several reports and messages share."""

from collections.abc import Iterable


def several(number: int, what: str) -> str:
    """How many there are: ``1 vector``, ``2 vectors``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def did_you_mean(names: Iterable[str]) -> str:
    """A question that follows a message about an unknown name; nothing if none is like it."""
    held = tuple(names)
    return f" Did you mean {' or '.join(held)}?" if held else ""
