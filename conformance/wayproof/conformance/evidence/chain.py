"""Which rules, properties and vectors stand behind each clause, or which tests.

clause -> rule -> property -> vector. Nothing of it is written by hand: rules name their clauses in
the model, contracts and invariants theirs in the properties, vectors theirs in the files. A clause
that only a test inside a backend can show has tests instead, see ``tests.toml``.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from wayproof.conformance.evidence.tests import load_tests
from wayproof.conformance.generate.tags import load_contracts
from wayproof.model.journey.properties.contract import JOURNEY_CONTRACTS, WORLD_CONTRACTS
from wayproof.model.journey.properties.invariants import INVARIANTS
from wayproof.model.journey.transition import RULES
from wayproof.spec.journey.clauses import Clause, clauses


class Tagged(Protocol):
    """A vector, or a sketch of one."""

    @property
    def id(self) -> str:
        """Of the vector."""

    @property
    def at_stake(self) -> tuple[str, ...]:
        """Every clause that the vector or one of its steps names."""


@dataclass(slots=True, kw_only=True)
class Link:
    """One clause, and what stands behind it."""

    clause: Clause
    rules: list[str] = field(default_factory=list)
    """Labels of the model's rules that realise it."""
    properties: list[str] = field(default_factory=list)
    """Names of the step contracts and invariants that state it."""
    vectors: list[str] = field(default_factory=list)
    """Ids of the vectors that put it at stake."""
    tests: list[str] = field(default_factory=list)
    """What shows it where no vector can."""

    @property
    def gaps(self) -> tuple[str, ...]:
        """What is missing; nothing for a clause that nobody can observe, or that a later revision
        judges."""
        if self.clause.status == "planned":
            return ("planned",)
        if self.clause.observability == "white_box":
            return () if self.tests else ("no test",)
        if self.clause.observability != "black_box":
            return ()
        named = {"rule": self.rules, "property": self.properties, "vector": self.vectors}
        return tuple(f"no {name}" for name, found in named.items() if not found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """All links, and what hangs on nothing."""

    links: dict[str, Link]
    unknown: tuple[str, ...]
    """Clause ids that some rule, property, vector or test has and the register does not know."""
    idle_rules: tuple[str, ...]
    """Rules that realise no clause."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that keeps the chain from being whole."""
        return (
            *(f"unknown clause {clause}" for clause in self.unknown),
            *(f"rule {label} realises no clause" for label in self.idle_rules),
            *(f"{link.clause.id}: {gap}" for link in self.links.values() for gap in link.gaps),
        )


def derive(vectors: Iterable[Tagged]) -> Chain:
    """The chain, from the code as it stands and these vectors."""
    load_contracts()
    links = {clause.id: Link(clause=clause) for clause in clauses().values()}
    unknown: set[str] = set()

    def hang(on: Iterable[str], kind: str, name: str) -> None:
        for clause in on:
            if clause in links:
                getattr(links[clause], kind).append(name)
            else:
                unknown.add(clause)

    for rule in RULES.values():
        hang(rule.clauses, "rules", rule.label)
    for contract in (*JOURNEY_CONTRACTS.values(), *WORLD_CONTRACTS.values()):
        hang(contract.clauses, "properties", contract.name)
    for invariant in INVARIANTS.values():
        hang(invariant.clauses, "properties", invariant.name)
    for vector in vectors:
        hang(vector.at_stake, "vectors", vector.id)
    for clause, tests in load_tests().items():
        for test in tests:
            hang((clause,), "tests", test)
    return Chain(
        links=links,
        unknown=tuple(sorted(unknown)),
        idle_rules=tuple(rule.label for rule in RULES.values() if not rule.clauses),
    )


def by_section(chain: Chain) -> dict[str, list[Link]]:
    """The links by the section of the contract that states them."""
    sections: dict[str, list[Link]] = defaultdict(list)
    for link in chain.links.values():
        sections[link.clause.section].append(link)
    return dict(sections)
