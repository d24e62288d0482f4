"""Which clauses the failures of a run point at: spectrum-based fault localisation.

One fault makes many vectors fail, and each failing step is about many clauses. The clause that is
at stake wherever something fails, and seldom where nothing does, is the likeliest to be broken:
that is Ochiai's coefficient, the failures over the root of all failures times all of its vectors.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A clause that some failing step is about."""

    clause: str
    failed: int
    """How many vectors failed by it."""
    passed: int
    """How many passed that put it at stake."""
    suspicion: float
    """From above 0 to 1: at stake in all failures and in nothing else."""


def suspects(
    failed: Iterable[Iterable[str]], passed: Iterable[Iterable[str]]
) -> tuple[Suspect, ...]:
    """Every suspect, the likeliest first, from the clauses of each failure and of each pass."""
    failures = [set(clauses) for clauses in failed]
    by_failure = Counter(clause for clauses in failures for clause in clauses)
    by_pass = Counter(clause for clauses in passed for clause in set(clauses))
    found = [
        Suspect(
            clause=clause,
            failed=count,
            passed=by_pass[clause],
            suspicion=count / sqrt(len(failures) * (count + by_pass[clause])),
        )
        for clause, count in by_failure.items()
    ]
    return tuple(sorted(found, key=lambda suspect: (-suspect.suspicion, suspect.clause)))


def likeliest_first(clauses: Iterable[str], found: Iterable[Suspect]) -> tuple[str, ...]:
    """Clauses in the order of suspicion; those that are alike stay in their order."""
    suspicion = {suspect.clause: suspect.suspicion for suspect in found}
    return tuple(sorted(clauses, key=lambda clause: -suspicion.get(clause, 0.0)))
