"""From a mutant to a backend: the implementation's sources with the edits, imported as a copy."""

from collections.abc import Mapping
from typing import Final

from wayproof.conformance.mutants.copies import import_copy, sources_of
from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.protocol.sqlite_backend import SqliteBackend

PACKAGE: Final = "wayproof.impl.journey"


class MutantError(Exception):
    """A mutant that cannot be judged."""


class MutantOutOfDateError(MutantError):
    """An edit that does not fit the source as it stands."""


class MutantBrokenError(MutantError):
    """A mutant that cannot even be imported, or cannot open a store: no fault was planted."""


def load_mutant(mutant: Mutant) -> SqliteBackend:
    """Make the mutant's backend over a new store. The package itself stays as it is.

    Raises:
        MutantOutOfDateError, MutantBrokenError: see there.
    """
    sources = mutated_sources(mutant, sources_of(PACKAGE))
    try:
        return SqliteBackend(package=import_copy(PACKAGE, sources, mutant.name))
    except Exception as error:
        raise MutantBrokenError(
            f"mutant {mutant.name} cannot be made: {type(error).__name__}: {error}"
        ) from error


def mutated_sources(mutant: Mutant, sources: Mapping[str, str]) -> dict[str, str]:
    """The sources with all edits made, each at its place in the text as it was.

    Raises:
        MutantOutOfDateError: if an edit names no file, if what it looks for does not stand there
            exactly once, if it changes nothing, or if two edits overlap.
    """
    if not mutant.edits:
        raise MutantOutOfDateError(f"mutant {mutant.name} edits nothing")
    mutated = dict(sources)
    for file in {edit.file for edit in mutant.edits}:
        if file not in sources:
            raise MutantOutOfDateError(f"mutant {mutant.name}: there is no {file}")
        edits = [edit for edit in mutant.edits if edit.file == file]
        mutated[file] = _edited(sources[file], edits, f"mutant {mutant.name}, {file}")
    return mutated


def _edited(text: str, edits: list[Edit], where: str) -> str:
    parts: list[str] = []
    end = 0
    for start, edit in sorted(
        ((_place(text, edit, where), edit) for edit in edits), key=lambda placed: placed[0]
    ):
        if start < end:
            raise MutantOutOfDateError(f"{where}: two edits overlap at {edit.find!r}")
        parts += [text[end:start], edit.replace]
        end = start + len(edit.find)
    return "".join([*parts, text[end:]])


def _place(text: str, edit: Edit, where: str) -> int:
    if edit.find == edit.replace:
        raise MutantOutOfDateError(f"{where}: nothing is changed at {edit.find!r}")
    found = text.count(edit.find) if edit.find else 0
    if found != 1:
        times = "does not stand there" if not found else f"stands there {found} times"
        raise MutantOutOfDateError(f"{where}: {edit.find!r} {times}")
    return text.index(edit.find)
