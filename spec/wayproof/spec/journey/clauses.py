"""The clause register of the journey contract (``clauses.toml``), read and checked."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from wayproof.spec.journey.vocabulary import Capability

REGISTER: Final = "clauses.toml"

SECTIONS: Final = (
    "Acceptance Criteria For Implementation",
    "Compatibility And Rollout",
    "Cost And Commercial Separation",
    "Current Authority And Migration Boundary",
    "Deadline Semantics",
    "Decision",
    "Identity",
    "Illustrative Public Contract",
    "Lifecycle And Race Precedence",
    "OSS And Proprietary Boundary",
    "Observation Contract",
    "Policy Counter Semantics",
    "Propagation And Cancellation",
    "Relationship To The Semantic Compiler",
    "Restart, Persistence, And Partial Artifacts",
    "Security And Tenancy",
    "Token Budget And Reservation Semantics",
)
"""The headings of the journey contract that a clause may come from."""

OBSERVABILITY: Final = ("black_box", "white_box", "not_observable")
STATUS: Final = ("active", "planned")

_ID: Final = re.compile(r"[a-z][a-z_]*-\d{2,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One testable sentence of the contract."""

    id: str
    """Topic and number; permanent."""
    text: str
    section: str
    """The heading that states it, one of :data:`SECTIONS`."""
    capability: Capability | None
    """What a backend must advertise for it to bind; None if it binds every backend."""
    observability: str
    """One of :data:`OBSERVABILITY`."""
    reason: str
    """Why it cannot be seen from outside; empty for ``black_box``."""
    rulings: tuple[int, ...]
    """The rulings that complete the sentence."""
    status: str
    """One of :data:`STATUS`: judged by this revision, or by a later one."""


class ClauseRegisterError(ValueError):
    """A register that is not as its head says."""


@cache
def clauses() -> Mapping[str, Clause]:
    """Every clause by id, in the register's order.

    Raises:
        ClauseRegisterError: see :func:`parse_register`.
    """
    text = resources.files(__package__).joinpath(REGISTER).read_text(encoding="utf-8")
    return parse_register(text)


def parse_register(text: str) -> Mapping[str, Clause]:
    """Every clause of a register's text by id.

    Raises:
        ClauseRegisterError: if an id is malformed or given twice, a field is missing, unknown or
            of the wrong type, a value is none of the allowed ones, or a reason is missing.
    """
    register: dict[str, Clause] = {}
    for number, entry in enumerate(tomllib.loads(text).get("clause", []), start=1):
        clause = _clause(entry, f"clause {number} ({entry.get('id', 'without id')})")
        if clause.id in register:
            raise ClauseRegisterError(f"{clause.id} stands twice")
        register[clause.id] = clause
    if not register:
        raise ClauseRegisterError("the register is empty")
    return register


def _clause(entry: Mapping[str, Any], where: str) -> Clause:
    def require(condition: bool, problem: str) -> None:
        if not condition:
            raise ClauseRegisterError(f"{where}: {problem}")

    fields = set(Clause.__dataclass_fields__)
    require(set(entry) == fields, f"fields are not {', '.join(sorted(fields))}")
    rulings = entry["rulings"]
    texts = [value for name, value in entry.items() if name != "rulings"]
    require(all(isinstance(value, str) for value in texts), "a text is no string")
    require(isinstance(rulings, list) and all(type(r) is int for r in rulings), "rulings")
    require(_ID.fullmatch(entry["id"]) is not None, "the id is malformed")
    require(bool(entry["text"].strip()), "there is no sentence")
    require(entry["section"] in SECTIONS, f"no such section: {entry['section']}")
    require(entry["observability"] in OBSERVABILITY, "no such observability")
    require(entry["status"] in STATUS, "no such status")
    require(
        bool(entry["reason"]) or entry["observability"] == "black_box",
        "why it cannot be seen is not said",
    )
    capability = entry["capability"]
    require(capability in ("none", *Capability), f"no such capability: {capability}")
    return Clause(
        id=entry["id"],
        text=entry["text"],
        section=entry["section"],
        capability=None if capability == "none" else Capability(capability),
        observability=entry["observability"],
        reason=entry["reason"],
        rulings=tuple(rulings),
        status=entry["status"],
    )
