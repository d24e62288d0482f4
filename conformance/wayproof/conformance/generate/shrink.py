"""Making a failing story as short as it can be while it still fails."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from wayproof.conformance.generate.scripts import Script


class Failing(Protocol):
    """A story that fails."""

    @property
    def script(self) -> Script:
        """Its actions, up to the one at which it fails."""


Failure = TypeVar("Failure", bound=Failing)


def shrink(failing: Failure, attempt: Callable[[Script], Failure | None]) -> Failure:
    """Leave out actions, first half of them at once and at last one by one, while it still fails.

    ``attempt`` plays a story, and answers None if that does not fail or cannot be told. In the
    end no single action can be left out.
    """
    width = max(1, len(failing.script) // 2)
    while width:
        before = failing.script
        for place in range(len(before) - width, -1, -width):
            shorter = failing.script[:place] + failing.script[place + width :]
            if len(shorter) < len(failing.script):
                failing = attempt(shorter) or failing
        if width > 1:
            width //= 2
        elif failing.script == before:
            width = 0
    return failing
