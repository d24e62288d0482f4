"""What a mutant is: a sound implementation with one fault planted in its source."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["sql", "transaction", "logic"]
"""Where the fault lies: in a statement or the schema, in what is committed together or retried,
or in a decision of the code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One replacement in one file of ``wayproof.impl.journey``."""

    file: str
    """Its name in the package, such as ``reports.py``."""
    find: str
    """Text that stands there exactly once."""
    replace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One planted fault of the SQLite implementation."""

    name: str
    """Unique, in words joined by hyphens: what the careless author did."""
    clauses: tuple[str, ...]
    """The sentences of the contract that it breaks, the one it was made for first."""
    fault: str
    """One sentence: what goes wrong."""
    kind: Kind
    edits: tuple[Edit, ...]
    equivalent: str = ""
    """Why no black-box test can see it, if none can; such a mutant counts for nothing."""
