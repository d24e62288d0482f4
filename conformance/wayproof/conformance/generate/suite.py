"""All vectors of the journey contract, in one deterministic order.

Every draft of every family is recorded; a vector whose signature was told before is dropped, so
that no two have the same path of rules on the same sides of the same bounds.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import resources
from itertools import chain
from pathlib import Path

from wayproof.conformance.generate import (
    bounds,
    coverage,
    dispatches,
    histories,
    instants,
    neighbours,
    refusals,
    registries,
    routes,
    staged,
    starts,
    stories,
)
from wayproof.conformance.generate.belief import TooManyWorlds
from wayproof.conformance.generate.recorder import Undecidable, record
from wayproof.conformance.generate.scripts import Draft
from wayproof.conformance.generate.selection import Candidate, merged, select
from wayproof.conformance.progress import Progress, untold
from wayproof.conformance.vectors.format import CallStep, ReconfigureStep, TickStep, Vector
from wayproof.spec.journey.clauses import clauses
from wayproof.spec.journey.digests import canonical_json, digest_of


def drafts(progress: Progress = untold) -> Iterator[Draft]:
    """Every draft, family by family. Most of the time goes into stories that are told and not
    selected; ``progress`` is told of these."""
    yield from starts.drafts()
    yield from registries.drafts()
    yield from histories.histories()
    yield from neighbours.drafts()
    yield from bounds.drafts()
    yield from refusals.nearly_owners()
    yield from refusals.unknown_operations()
    yield from merged(
        select(
            _counted(
                chain(
                    coverage.candidates(),
                    instants.boundary_candidates(),
                    instants.race_candidates(),
                    refusals.candidates(),
                    stories.drained(),
                    stories.restarted(),
                    stories.beside_another(),
                ),
                progress,
            )
        )
    )
    yield from routes.drafts()
    yield from dispatches.drafts()
    yield from merged(select(_counted(staged.candidates(), progress)))


def _counted(candidates: Iterable[Candidate], progress: Progress) -> Iterator[Candidate]:
    for done, candidate in enumerate(candidates):
        progress("telling stories to select from", done)
        yield candidate


def model_digest() -> str:
    """The digest of the model's sources: what the vectors were made from."""
    sources = hashlib.sha256()
    for source in sorted(Path(str(resources.files("wayproof.model.journey"))).rglob("*.py")):
        sources.update(source.read_bytes())
    return f"sha256:{sources.hexdigest()}"


def build(progress: Progress = untold) -> tuple[Vector, ...]:
    """Build the whole suite.

    Raises:
        ContractBroken: if the model broke a contract on the way.
    """
    numbers: Counter[tuple[str, str]] = Counter()
    told: set[str] = set()
    vectors: list[Vector] = []
    for done, draft in enumerate(drafts(progress)):
        progress("recording vectors", done)
        try:
            vector = record(draft, 1)
        except (Undecidable, TooManyWorlds):
            continue
        signature = signature_of(vector)
        if signature in told:
            continue
        told.add(signature)
        place = (draft.family, draft.topic)
        numbers[place] += 1
        number = numbers[place]
        vectors.append(replace(vector, id=f"{draft.family}/{draft.topic}/{number:04d}"))
    return tuple(_explained(vectors))


def _explained(vectors: list[Vector]) -> Iterator[Vector]:
    """The vectors, each with the sentence of the rarest clause that its focus puts at stake."""
    told = Counter(clause for vector in vectors for clause in vector.clauses)
    for vector in vectors:
        rarest = min(vector.clauses, key=lambda clause: (told[clause], clause))
        yield replace(vector, why=clauses()[rarest].text)


def signature_of(vector: Vector) -> str:
    """What makes a vector unlike any other: its path of rules, and on which side of which bound
    each request lies, by the answers and the states that it led to."""
    parts = []
    labels = vector.origin.labels or ("",) * len(vector.steps)  # one written by hand has none
    for label, step in zip(labels, vector.steps, strict=True):
        if isinstance(step, CallStep):
            parts.append([step.operation, label, canonical_json(step.arguments).decode()])
        elif isinstance(step, TickStep):
            parts.append(["tick", step.to, step.digest or ""])
        elif isinstance(step, ReconfigureStep):
            registry = canonical_json(step.registry).decode()
            parts.append([step.do, registry, step.digest or ""])
        else:
            parts.append([step.do, label, step.digest or ""])
    return digest_of([list(map(str, part)) for part in parts])
