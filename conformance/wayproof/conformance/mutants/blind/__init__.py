"""Mutants whose author knew the contract's text and the implementation, and none of the tests.

Each is a mistake that an author of a real backend could make, preferably where two rules meet.
``fault`` tells the shortest story that shows it.
"""

from typing import Final

from wayproof.conformance.mutants.blind import (
    groups,
    reservations,
    restarts,
    runs,
    starts,
    sweeps,
    takeovers,
)
from wayproof.conformance.mutants.mutant import Mutant

MUTANTS: Final[tuple[Mutant, ...]] = (
    *starts.MUTANTS,
    *runs.MUTANTS,
    *reservations.MUTANTS,
    *groups.MUTANTS,
    *takeovers.MUTANTS,
    *sweeps.MUTANTS,
    *restarts.MUTANTS,
)
"""All of them, by topic."""
