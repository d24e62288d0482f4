"""Mutants of the model, made from its source: every small change of every function that applies
rules of the contract."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from textwrap import shorten
from typing import Final

from wayproof.conformance.mutants.copies import import_copy, sources_of
from wayproof.conformance.mutants.load import MutantBrokenError
from wayproof.conformance.mutants.operators import Change, changes
from wayproof.conformance.protocol.model_backend import ModelBackend
from wayproof.model.journey.transition import RULES

PACKAGE: Final = "wayproof.model.journey"


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedMutant:
    """One change of one function of the model."""

    name: str
    """Module, function, operator, and how many such changes of the function come before it; it
    stays as it is while other functions change."""
    file: str
    clauses: tuple[str, ...]
    """Those of the rules that the function applies."""
    change: Change

    @property
    def fault(self) -> str:
        """What was changed."""
        before, after = (
            shorten(part, 80, placeholder=" ...")
            for part in (self.change.before, self.change.after)
        )
        return f"{self.file}:{self.change.line}: `{before}` became `{after}`"


@cache
def generated_mutants() -> tuple[GeneratedMutant, ...]:
    """All of them, by file and place."""
    import_module(f"{PACKAGE}.world")  # registers every rule
    return tuple(
        mutant
        for file, text in sources_of(PACKAGE).items()
        if "/" not in file
        for mutant in _mutants_of(file, text)
    )


def load_generated(mutant: GeneratedMutant) -> ModelBackend:
    """Make the mutant's backend. The model itself stays as it is.

    Raises:
        MutantBrokenError: if the changed model cannot be imported.
    """
    sources = dict(sources_of(PACKAGE))
    sources[mutant.file] = mutant.change.apply(sources[mutant.file])
    try:
        package = import_copy(PACKAGE, sources, mutant.name)
        return ModelBackend(import_module(f"{package.__name__}.world"))
    except Exception as error:
        raise MutantBrokenError(
            f"{mutant.name} cannot be made: {type(error).__name__}: {error}"
        ) from error


def _mutants_of(file: str, text: str) -> Iterator[GeneratedMutant]:
    module = file.removesuffix(".py")
    known = _clauses_by_function(f"{PACKAGE}.{module}")
    if not known:
        return
    enums = {
        name: value
        for name, value in vars(import_module(f"{PACKAGE}.{module}")).items()
        if isinstance(value, type) and issubclass(value, Enum)
    }
    for function in ast.parse(text).body:
        if isinstance(function, ast.FunctionDef) and function.name in known:
            numbers: Counter[str] = Counter()
            for change in changes(function, text, enums):
                numbers[change.operator] += 1
                words = (module, function.name, change.operator, str(numbers[change.operator]))
                yield GeneratedMutant(
                    name="-".join(("generated", *words)).replace("_", "-"),
                    file=file,
                    clauses=known[function.name],
                    change=change,
                )


def _clauses_by_function(module: str) -> dict[str, tuple[str, ...]]:
    """The clauses of the rules that each function of a module applies."""
    clauses: dict[str, tuple[str, ...]] = {}
    for rule in RULES.values():
        if rule.source.__module__ == module:
            held = clauses.get(rule.source.__name__, ())
            clauses[rule.source.__name__] = tuple(dict.fromkeys((*held, *rule.clauses)))
    return clauses
