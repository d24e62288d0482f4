"""What one exploration is given."""

from dataclasses import dataclass

from wayproof.model.journey.example import BEGUN
from wayproof.model.journey.state import Terms
from wayproof.spec.journey.requests import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One journey, what is asked of it, and when."""

    mechanism: str
    """What it exercises, in a few words."""
    terms: Terms
    prefix: tuple[Request, ...] = BEGUN
    """Served first, in order, at the clock's first moment."""
    menu: tuple[Request, ...]
    """What is asked in every state after it."""
    clock: tuple[int, ...]
    """Every moment, ascending, in milliseconds."""
