"""The score: what the suite kills and by what, as a generated file that is soon checked again.

Checking it plays the recorded pairs alone, which takes moments; writing it plays the suite
against every mutant, which takes long.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from pydantic import TypeAdapter

from wayproof.conformance.mutants.catalogue import Candidate
from wayproof.conformance.mutants.run import SECONDS, Game, Outcome, play_games
from wayproof.conformance.mutants.serving import Serving, clauses_to_serve, closeness_of
from wayproof.conformance.vectors import VECTORS
from wayproof.conformance.vectors.format import STRICT, Vector

SCORE_FILE: Final = VECTORS.parent / "mutants" / "score.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetScore:
    """One set of mutants."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    killed: int
    total: int
    """Without the excused."""
    excused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What the suite is worth."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    format: Literal["wayproof-mutants/1.0"] = "wayproof-mutants/1.0"
    sets: Mapping[str, SetScore]
    survivors: tuple[str, ...]
    kills: Mapping[str, str]
    """Written mutant to the first vector that killed it."""
    served: Mapping[str, tuple[str, str]]
    """Clause to mutant and vector; see ``serving.py``."""
    loosely_served: tuple[str, ...]
    """Those of them at which some other step of the vector fails."""
    unserved: tuple[str, ...]


def score_of(outcomes: Iterable[Outcome], serving: Serving) -> Score:
    """The score of all mutants.

    Raises:
        ValueError: if one could not be judged.
    """
    by_set: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.problem:
            raise ValueError(outcome.problem)
        by_set[outcome.candidate.set].append(outcome)
    judged = [outcome for held in by_set.values() for outcome in held]
    return Score(
        sets={
            name: SetScore(
                killed=sum(bool(o.kills) and not o.candidate.excuse for o in held),
                total=sum(not o.candidate.excuse for o in held),
                excused=sum(bool(o.candidate.excuse) for o in held),
            )
            for name, held in by_set.items()
        },
        survivors=tuple(
            sorted(o.candidate.name for o in judged if not o.kills and not o.candidate.excuse)
        ),
        kills={
            o.candidate.name: o.kills[0].vector
            for o in judged
            if o.kills and o.candidate.set != "generated"
        },
        served={clause: (s.mutant, s.vector) for clause, s in serving.served.items()},
        loosely_served=tuple(
            sorted(clause for clause, s in serving.served.items() if s.closeness == "vector")
        ),
        unserved=tuple(sorted(serving.unserved)),
    )


def write_score(score: Score, file: Path = SCORE_FILE) -> None:
    """Write it, one pair on each line."""
    file.parent.mkdir(parents=True, exist_ok=True)
    document = asdict(score)
    served = {clause: list(pair) for clause, pair in sorted(document.pop("served").items())}
    lines = [f"  {json.dumps(clause)}: {json.dumps(pair)}" for clause, pair in served.items()]
    head = json.dumps(document, sort_keys=True, indent=1).removesuffix("\n}")
    file.write_text(f'{head},\n "served": {{\n' + ",\n".join(lines) + "\n }\n}\n", encoding="utf-8")


def read_score(file: Path = SCORE_FILE) -> Score:
    """Read it.

    Raises:
        OSError: if there is none.
        pydantic.ValidationError: if it is not as it has to be.
    """
    return TypeAdapter(Score).validate_json(file.read_bytes())


def problems_of(
    score: Score,
    candidates: Sequence[Candidate],
    vectors: Sequence[Vector],
    *,
    jobs: int = 1,
    seconds: float = SECONDS,
) -> list[str]:
    """What of a score does not hold any more, in words: it must tell of every written mutant and
    every clause, and each pair that it records must still do what it says."""
    by_name = {candidate.name: candidate for candidate in candidates}
    by_id = {vector.id: vector for vector in vectors}
    told = {*score.kills, *score.survivors}
    problems = [
        f"the score does not tell of {c.name}"
        for c in candidates
        if c.set != "generated" and not c.excuse and c.name not in told
    ]
    differing = set(clauses_to_serve()) ^ {*score.served, *score.unserved}
    problems += [f"the clause {c} is in the register or in the score" for c in sorted(differing)]
    pairs: dict[str, set[str]] = defaultdict(set)
    for name, vector_id in (*score.kills.items(), *score.served.values()):
        if name not in by_name:
            problems.append(f"there is no mutant {name}")
        elif vector_id not in by_id:
            problems.append(f"there is no vector {vector_id}")
        else:
            pairs[name].add(vector_id)
    games = [
        Game(candidate=by_name[name], vectors=[by_id[i] for i in sorted(ids)], enough=_never)
        for name, ids in pairs.items()
    ]
    outcomes = {
        outcome.candidate.name: outcome for outcome in play_games(games, jobs=jobs, seconds=seconds)
    }
    return problems + _broken_promises(score, outcomes, by_id)


def _broken_promises(
    score: Score, outcomes: Mapping[str, Outcome], by_id: Mapping[str, Vector]
) -> list[str]:
    problems = [outcome.problem for outcome in outcomes.values() if outcome.problem]
    kills = {
        (name, kill.vector): kill for name, outcome in outcomes.items() for kill in outcome.kills
    }
    for name, vector_id in score.kills.items():
        if name in outcomes and (name, vector_id) not in kills:
            problems.append(f"{vector_id} does not kill {name}")
    for clause, (name, vector_id) in score.served.items():
        kill = kills.get((name, vector_id))
        wanted = "vector" if clause in score.loosely_served else "step"
        if name in outcomes and vector_id in by_id:
            found = None if kill is None else closeness_of(kill, clause, by_id[vector_id])
            if found != wanted:
                problems.append(f"{clause} is not served by {name} and {vector_id}")
    return problems


def _never(kills: object) -> bool:
    return False
