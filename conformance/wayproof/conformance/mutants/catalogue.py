"""All mutants there are, of every set, in one form."""

import pkgutil
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module, resources
from importlib.util import find_spec
from typing import Final, Literal

from wayproof.conformance.mutants.generated import generated_mutants, load_generated
from wayproof.conformance.mutants.load import load_mutant
from wayproof.conformance.mutants.mutant import Mutant
from wayproof.conformance.protocol.backend import Backend
from wayproof.spec.journey.clauses import clauses

SetName = Literal["named", "blind", "generated"]
"""Named mutants were written with the vectors in view, blind ones without; generated ones come
from the model's source."""

EXCUSED: Final = "excused.toml"

SETS: Final[tuple[SetName, ...]] = ("named", "blind", "generated")


class CatalogueError(Exception):
    """Mutants that are not as they have to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One mutant that the suite has to kill."""

    name: str
    set: SetName
    clauses: tuple[str, ...]
    """What it breaks, the sentence it was made for first."""
    fault: str
    excuse: str
    """Why it may survive; empty if it must not."""
    load: Callable[[], Backend]
    """Make its backend; raises ``load.MutantError``."""
    sound: Literal["sqlite", "model"]
    """What it is a mutant of."""


def candidates_of(sets: Iterable[SetName] = SETS) -> tuple[Candidate, ...]:
    """The mutants of some sets, set by set: written ones by name, generated ones by place.

    Raises:
        CatalogueError: if a name is given twice, a clause is not in the register or missing, a
            module offers no ``MUTANTS``, or the table of excuses is wrong.
    """
    found = [candidate for name in SETS if name in sets for candidate in _set(name)]
    check_candidates(found)
    return tuple(found)


def check_candidates(candidates: Iterable[Candidate]) -> None:
    """Check names and clauses.

    Raises:
        CatalogueError: see :func:`candidates_of`.
    """
    names: set[str] = set()
    for candidate in candidates:
        if candidate.name in names:
            raise CatalogueError(f"two mutants are called {candidate.name}")
        names.add(candidate.name)
        if not candidate.clauses:
            raise CatalogueError(f"{candidate.name} breaks no clause")
        for clause in candidate.clauses:
            if clause not in clauses():
                raise CatalogueError(f"{candidate.name} breaks {clause}, which is no clause")


def candidate_of(mutant: Mutant, name: SetName) -> Candidate:
    """A written mutant as a candidate."""
    return Candidate(
        name=mutant.name,
        set=name,
        clauses=mutant.clauses,
        fault=mutant.fault,
        excuse=mutant.equivalent,
        load=partial(load_mutant, mutant),
        sound="sqlite",
    )


def _set(name: SetName) -> list[Candidate]:
    if name == "generated":
        return _generated()
    mutants = written_mutants(name)
    return sorted(
        (candidate_of(mutant, name) for mutant in mutants), key=lambda candidate: candidate.name
    )


def _generated() -> list[Candidate]:
    text = resources.files(__package__).joinpath(EXCUSED).read_text(encoding="utf-8")
    excuses = parse_excuses(text)
    mutants = generated_mutants()
    if stale := sorted(set(excuses) - {mutant.name for mutant in mutants}):
        raise CatalogueError(f"{EXCUSED}: {stale[0]} is generated no more")
    return [
        Candidate(
            name=mutant.name,
            set="generated",
            clauses=mutant.clauses,
            fault=mutant.fault,
            excuse=excuses.get(mutant.name, ""),
            load=partial(load_generated, mutant),
            sound="model",
        )
        for mutant in mutants
    ]


def parse_excuses(text: str) -> dict[str, str]:
    """Name and reason of each excused mutant.

    Raises:
        CatalogueError: if an entry is not these two texts, or a name stands twice.
    """
    excuses: dict[str, str] = {}
    for entry in tomllib.loads(text).get("excused", []):
        name, reason = entry.get("name"), entry.get("reason")
        if len(entry) != 2 or not isinstance(name, str) or not isinstance(reason, str):
            raise CatalogueError(f"{EXCUSED}: {entry} is not a name and a reason")
        if name in excuses:
            raise CatalogueError(f"{EXCUSED}: {name} stands twice")
        if not reason.strip():
            raise CatalogueError(f"{EXCUSED}: {name} has no reason")
        excuses[name] = reason
    return excuses


def written_mutants(name: SetName) -> Iterator[Mutant]:
    """The ``MUTANTS`` of every module of a set; none if there is no such folder."""
    package = f"{__package__}.{name}"
    spec = find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        return
    for found in pkgutil.iter_modules(spec.submodule_search_locations, f"{package}."):
        module = import_module(found.name)
        mutants: object = getattr(module, "MUTANTS", None)
        if not isinstance(mutants, tuple) or not all(isinstance(m, Mutant) for m in mutants):
            raise CatalogueError(f"{found.name} has no MUTANTS: tuple[Mutant, ...]")
        yield from mutants
