"""Step contracts: what must hold of single steps, stated apart from the rules.

A contract looks at one step and says whether the clause that it stands for was kept. It answers
None where the clause says nothing about that step, so that "kept" always means "was at stake".
The same contracts judge the model on every explored edge, tell the generator which clauses a
vector exercises, and turn a clause into something that a planted fault can violate.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from wayproof.model.journey.state import State, Terms
from wayproof.model.journey.transition import Answered, Refused, Reply
from wayproof.model.journey.world import World
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyStep:
    """One step of one journey: a request that was served, or a sweep."""

    terms: Terms
    before: State
    request: Request | None
    """None for a sweep."""
    now: int
    after: State
    reply: Reply | None
    """None for a sweep."""
    labels: tuple[str, ...]

    @property
    def answer(self) -> Any:
        """The record answered; None if refused, swept, or answered with nothing."""
        return self.reply.record if isinstance(self.reply, Answered) else None

    @property
    def code(self) -> RefusalCode | None:
        """The code with which the request was refused; None if it was not."""
        return self.reply.code if isinstance(self.reply, Refused) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldStep:
    """One step of a whole world, as a client of the protocol sees it."""

    operation: str
    """A name of the catalogue, ``sweep``, ``restart``, or any other word that was called."""
    arguments: Any
    """The JSON value that it was called with; None for ``sweep`` and ``restart``."""
    request: Request | None
    """The decoded request; None if decoding refused it."""
    now: int
    before: World
    after: World
    reply: Reply | Refusal | None
    labels: tuple[str, ...]

    @property
    def answer(self) -> Any:
        """The record answered, if any."""
        return self.reply.record if isinstance(self.reply, Answered) else None

    @property
    def code(self) -> RefusalCode | None:
        """The code with which it was refused, if it was."""
        return self.reply.code if isinstance(self.reply, Refused | Refusal) else None


JourneyCheck = Callable[[JourneyStep], bool | None]
WorldCheck = Callable[[WorldStep], bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """One step contract and the clauses that it stands for."""

    name: str
    clauses: tuple[str, ...]
    check: Callable[[Any], bool | None]


JOURNEY_CONTRACTS: Final[dict[str, Contract]] = {}
"""Contracts on steps of one journey, by name."""

WORLD_CONTRACTS: Final[dict[str, Contract]] = {}
"""Contracts on steps of a world, by name."""


def journey_contract(*clauses: str) -> Callable[[JourneyCheck], JourneyCheck]:
    """Register a contract on journey steps for one or more clauses, each always at stake with
    the others."""

    def register(check: JourneyCheck) -> JourneyCheck:
        _register(JOURNEY_CONTRACTS, check, clauses)
        return check

    return register


def world_contract(*clauses: str) -> Callable[[WorldCheck], WorldCheck]:
    """Register a contract on world steps."""

    def register(check: WorldCheck) -> WorldCheck:
        _register(WORLD_CONTRACTS, check, clauses)
        return check

    return register


def _register(
    registry: dict[str, Contract], check: Callable[[Any], bool | None], clauses: tuple[str, ...]
) -> None:
    name = check.__name__
    if name in registry:
        raise ValueError(f"two contracts are named {name}")
    registry[name] = Contract(name=name, clauses=clauses, check=check)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a step put at stake, and what it broke."""

    at_stake: frozenset[str]
    """Clause ids."""
    broken: tuple[str, ...]
    """Names of the contracts that were broken."""


def judge(contracts: dict[str, Contract], step: JourneyStep | WorldStep) -> Verdict:
    """Check every contract on one step."""
    results = dict(_results(contracts, step))
    return Verdict(
        at_stake=frozenset(clause for name in results for clause in contracts[name].clauses),
        broken=tuple(name for name, kept in results.items() if not kept),
    )


def _results(
    contracts: dict[str, Contract], step: JourneyStep | WorldStep
) -> Iterator[tuple[str, bool]]:
    for name, contract in contracts.items():
        kept = contract.check(step)
        if kept is not None:
            yield name, kept
