"""Whether the tags tell the truth: a clause is served by a mutant that breaks it and a vector
about it that fails the mutant.

Without that, a vector might be tagged with what it never tests. A pair serves a clause closely if
the very step that fails is about it, and loosely if some other step of the vector is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal

from wayproof.conformance.mutants.catalogue import Candidate
from wayproof.conformance.mutants.run import (
    SECONDS,
    Game,
    Kill,
    Outcome,
    in_order,
    play_games,
    tags_of,
)
from wayproof.conformance.vectors.format import Vector
from wayproof.spec.journey.clauses import clauses

Closeness = Literal["step", "vector"]

CLOSENESS: Final[tuple[Closeness, ...]] = ("step", "vector")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What serves a clause."""

    mutant: str
    vector: str
    closeness: Closeness


@dataclass(slots=True, kw_only=True)
class Serving:
    """Which clauses are served, by what, and which are not."""

    served: dict[str, Service] = field(default_factory=dict)
    unserved: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Clause to the mutants that are said to break it: no vector about it fails one of them."""


def clauses_to_serve() -> tuple[str, ...]:
    """The clauses that this revision judges from outside."""
    return tuple(
        clause.id
        for clause in clauses().values()
        if clause.observability == "black_box" and clause.status == "active"
    )


def closeness_of(kill: Kill, clause: str, vector: Vector) -> Closeness | None:
    """How closely a kill by a vector serves a clause; None if it does not. Only a divergence
    does: an exception or silence says nothing of any clause."""
    if kill.how != "fail":
        return None
    if clause in kill.clauses or clause in vector.steps[kill.step].clauses:
        return "step"
    return "vector" if clause in tags_of(vector) else None


def serve(
    wanted: Iterable[str],
    candidates: Sequence[Candidate],
    vectors: Sequence[Vector],
    *,
    jobs: int = 1,
    seconds: float = SECONDS,
    heard: Callable[[Outcome], None] = lambda outcome: None,
) -> Serving:
    """Find what serves each clause: closely before loosely; by a mutant made for it before a
    mutant that breaks it among others, and by a written one before a generated one.

    The same mutants and vectors always give the same pairs.
    """
    serving = Serving()
    wanted = tuple(wanted)
    by_id = {vector.id: vector for vector in vectors}
    for closeness in CLOSENESS:
        for is_rank in (_made_for, _written_for, _generated_for):
            left = [clause for clause in wanted if clause not in serving.served]
            games = list(_games(left, candidates, vectors, is_rank, closeness))
            place = {game.candidate.name: number for number, game in enumerate(games)}
            outcomes = []
            for outcome in play_games(games, jobs=jobs, seconds=seconds):
                heard(outcome)
                outcomes.append(outcome)
            outcomes.sort(key=lambda outcome: place[outcome.candidate.name])
            for outcome in outcomes:
                for clause in left:
                    kill = _first(outcome.kills, clause, by_id, closeness)
                    if kill is not None and is_rank(outcome.candidate, clause):
                        service = Service(
                            mutant=outcome.candidate.name, vector=kill.vector, closeness=closeness
                        )
                        serving.served.setdefault(clause, service)
    for clause in wanted:
        if clause not in serving.served:
            tried = (c.name for c in candidates if clause in c.clauses and not c.excuse)
            serving.unserved[clause] = tuple(tried)
    return serving


def _made_for(candidate: Candidate, clause: str) -> bool:
    return candidate.set != "generated" and candidate.clauses[0] == clause


def _written_for(candidate: Candidate, clause: str) -> bool:
    return candidate.set != "generated" and clause in candidate.clauses[1:]


def _generated_for(candidate: Candidate, clause: str) -> bool:
    return candidate.set == "generated" and clause in candidate.clauses


def _games(
    left: Sequence[str],
    candidates: Iterable[Candidate],
    vectors: Sequence[Vector],
    is_rank: Callable[[Candidate, str], bool],
    closeness: Closeness,
) -> Iterator[Game]:
    by_id = {vector.id: vector for vector in vectors}
    tags = {vector.id: tags_of(vector) for vector in vectors}
    for candidate in candidates:
        aims = frozenset(clause for clause in left if is_rank(candidate, clause))
        about = [vector for vector in vectors if aims & tags[vector.id]]
        if about and not candidate.excuse:
            yield Game(
                candidate=candidate,
                vectors=in_order(candidate, about),
                enough=partial(_all_served, aims=aims, by_id=by_id, closeness=closeness),
            )


def _all_served(
    kills: Sequence[Kill],
    *,
    aims: Iterable[str],
    by_id: Mapping[str, Vector],
    closeness: Closeness,
) -> bool:
    return all(_first(kills, clause, by_id, closeness) is not None for clause in aims)


def _first(
    kills: Iterable[Kill], clause: str, by_id: Mapping[str, Vector], closeness: Closeness
) -> Kill | None:
    for kill in kills:
        if closeness_of(kill, clause, by_id[kill.vector]) == closeness:
            return kill
    return None
