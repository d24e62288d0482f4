"""The rulings: how this revision reads what the contract's text leaves open.

They stand as data in ``rulings.toml``, beside the clauses that they complete.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """One ruling."""

    number: int
    """Permanent, counted from 1; clauses, vectors and docstrings name it as ``ruling N``."""
    title: str
    """What it settles, in a few words."""
    text: str
    """The ruling itself, one paragraph."""
    changes_nothing: bool = False
    """Whether the requests that it is about change nothing by themselves, so that no other reading
    of it explains why a change that was due did not come."""


@cache
def load_rulings() -> tuple[Ruling, ...]:
    """Every ruling of the journey contract, by number."""
    source = resources.files(__package__).joinpath("rulings.toml").read_text(encoding="utf-8")
    return tuple(
        Ruling(
            number=entry["number"],
            title=entry["title"],
            text=" ".join(entry["text"].split()),
            changes_nothing=entry.get("changes_nothing", False),
        )
        for entry in tomllib.loads(source)["ruling"]
    )
