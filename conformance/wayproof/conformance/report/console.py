"""Where reports for people are printed."""

import os
from typing import Final

from rich.console import Console

UNFOLDED: Final = 100_000
"""A width that no line has."""


def output() -> Console:
    """The standard output. Only a terminal, or who names ``COLUMNS``, has lines that end
    somewhere: elsewhere nothing is folded or cut."""
    console = Console()
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return Console(width=UNFOLDED)
