"""Exhaustive exploration of one journey from a small configuration, breadth first.

::

    (state, now) ──┬── every request of the menu ──> (after, now)
                   ├── a sweep ───────────────────> (after, now)
                   ├── each step that is due ─────> (after, now)     an eager backend's
                   └── the clock's next moment ───> (state, later)

Every state is checked with the invariants and the oracle, every edge with the step contracts
and the legal transitions of the vocabulary; and from every state time and sweeps alone must lead
to a final one. The order of exploration is fixed, so that the same configuration gives the same
report, and the first fault found has the shortest way to it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import NamedTuple

from wayproof.model.journey.configuration import Configuration
from wayproof.model.journey.properties.contract import JOURNEY_CONTRACTS, JourneyStep
from wayproof.model.journey.properties.invariants import INVARIANTS
from wayproof.model.journey.properties.legality import illegal_changes
from wayproof.model.journey.properties.loading import load_properties
from wayproof.model.journey.relation import allowed, internal_steps, settled_states
from wayproof.model.journey.state import State, Terms
from wayproof.model.journey.step import runs_to_start, step, swept, versioned
from wayproof.model.journey.transition import Reply
from wayproof.spec.journey.requests import Request
from wayproof.spec.journey.vocabulary import TERMINAL_STATES, AccountingStatus

REPORT_EVERY = 1000
"""States between two reports of progress."""


@unique
class Move(StrEnum):
    """What leads from one explored state to the next."""

    REQUEST = "request"
    SWEEP = "sweep"
    EAGER = "eager"
    TICK = "tick"


class Edge(NamedTuple):
    """One explored step."""

    move: Move
    now: int
    """Milliseconds, by the configuration's clock."""
    request: Request | None
    reply: Reply | None
    labels: tuple[str, ...]
    after: State


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A fault, and the shortest way to it."""

    faults: tuple[str, ...]
    """What was broken: names of contracts and invariants, or illegal changes in words."""
    trace: tuple[Edge, ...]
    """Every step from the configuration's first state on; the last one is at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """What an exploration found."""

    states: int
    """Pairs of a journey's state and a moment."""
    edges: int
    deepest: int
    """Steps to the state that lies deepest."""
    labels: frozenset[str]
    """Labels of the rules that were applied."""
    contracts: frozenset[str]
    """Names of the step contracts that were at stake."""
    finished: bool
    """Whether everything that can be reached was reached."""
    violation: Violation | None


Node = tuple[State, int]
"""A state, and the place of the moment in the configuration's clock."""

Progress = Callable[[int, int], None]
"""Told now and then how many states and edges there are."""


def explore(
    configuration: Configuration, max_states: int = 10**9, progress: Progress | None = None
) -> Exploration:
    """Explore a configuration until nothing is new, a fault is found or it has ``max_states``."""
    load_properties()
    search = _Search(configuration)
    while search.frontier < len(search.nodes) and search.violation is None:
        if len(search.nodes) > max_states:
            break
        if progress is not None and search.frontier % REPORT_EVERY == 0:
            progress(len(search.nodes), search.edges)
        search.expand(search.frontier)
        search.frontier += 1
    return Exploration(
        states=len(search.nodes),
        edges=search.edges,
        deepest=search.depths[-1],
        labels=frozenset(search.labels),
        contracts=frozenset(search.contracts),
        finished=search.frontier == len(search.nodes),
        violation=search.violation,
    )


class _Search:
    """The states found so far, in the order in which they were found, each with its parent."""

    def __init__(self, configuration: Configuration) -> None:
        self.terms = configuration.terms
        self.clock = configuration.clock
        self.menu = configuration.menu
        self.nodes: list[Node] = [(State(), 0)]
        self.depths = [0]
        self.parents: list[tuple[int, Edge] | None] = [None]
        self.places: dict[Node, int] = {self.nodes[0]: 0}
        self.frontier = 0
        self.edges = 0
        self.labels: set[str] = set()
        self.contracts: set[str] = set()
        self.violation: Violation | None = None
        for request in configuration.prefix:
            state, place = self.nodes[-1]
            self.take(len(self.nodes) - 1, place, serve(self.terms, state, request, self.clock[0]))
            self.frontier = len(self.nodes) - 1

    def expand(self, index: int) -> None:
        """Take every edge out of one state."""
        state, place = self.nodes[index]
        for edge in edges(self.terms, state, self.clock[place], self.menu):
            self.take(index, place, edge)
            if self.violation is not None:
                return
        if place + 1 < len(self.clock):
            edge = Edge(Move.TICK, self.clock[place + 1], None, None, (), state)
            self.take(index, place + 1, edge)

    def take(self, index: int, place: int, edge: Edge) -> None:
        """Check one edge, and keep where it leads if that is new."""
        self.edges += 1
        self.labels.update(edge.labels)
        before = self.nodes[index][0]
        faults = edge_faults(self.terms, before, edge, self.contracts)
        node = (edge.after, place)
        if node not in self.places:
            self.places[node] = len(self.nodes)
            self.nodes.append(node)
            self.depths.append(self.depths[index] + 1)
            self.parents.append((index, edge))
            faults = (*faults, *state_faults(self.terms, edge.after, self.clock[place]))
        if faults:
            self.violation = Violation(faults=faults, trace=(*self.way_to(index), edge))

    def way_to(self, index: int) -> tuple[Edge, ...]:
        """The shortest way to a state."""
        way: list[Edge] = []
        parent = self.parents[index]
        while parent is not None:
            index, edge = parent
            way.append(edge)
            parent = self.parents[index]
        return tuple(reversed(way))


def run_ids(terms: Terms, state: State, request: Request) -> tuple[str, ...]:
    """Fresh run ids: ``run-1`` for the journey's first run, and so on."""
    fresh = runs_to_start(terms, state, request)
    return tuple(f"run-{len(state.runs) + 1 + place}" for place in range(fresh))


def serve(terms: Terms, state: State, request: Request, now: int) -> Edge:
    """The edge of one request."""
    transition = step(terms, state, request, now, run_ids(terms, state, request))
    return Edge(Move.REQUEST, now, request, transition.reply, transition.labels, transition.state)


def edges(terms: Terms, state: State, now: int, menu: tuple[Request, ...]) -> Iterator[Edge]:
    """Every edge out of a state that takes no time."""
    for request in menu:
        yield serve(terms, state, request, now)
    after, labels = swept(terms, state, now)
    yield Edge(Move.SWEEP, now, None, None, labels, after)
    for eager, label in internal_steps(terms, state, now):
        yield Edge(Move.EAGER, now, None, None, (label,), versioned(state, eager))


def edge_faults(
    terms: Terms, before: State, edge: Edge, at_stake: set[str] | None = None
) -> tuple[str, ...]:
    """What is wrong with one step; ``at_stake`` gathers the names of its contracts."""
    if edge.move is Move.TICK:
        return ()
    faults = illegal_changes(before, edge.after)
    if edge.move is Move.EAGER:
        return faults
    taken = JourneyStep(
        terms=terms,
        before=before,
        request=edge.request,
        now=edge.now,
        after=edge.after,
        reply=edge.reply,
        labels=edge.labels,
    )
    for name, contract in JOURNEY_CONTRACTS.items():
        kept = contract.check(taken)
        if kept is not None:
            if at_stake is not None:
                at_stake.add(name)
            if not kept:
                faults = (*faults, name)
    if not is_allowed(terms, before, edge):
        faults = (*faults, "the relation does not allow this step")
    return faults


def is_allowed(terms: Terms, before: State, edge: Edge) -> bool:
    """Whether the relation holds an edge: a request's answer is one of those allowed, and a
    sweep leads where single steps lead too, but for the number of commits that they took."""
    if edge.request is not None:
        fresh = run_ids(terms, before, edge.request)
        return (edge.after, edge.reply) in allowed(terms, before, edge.request, edge.now, fresh)
    if edge.after is before or edge.after == before:
        return True
    reached = settled_states(terms, before, edge.now)
    return any(
        state._replace(record_version=edge.after.record_version) == edge.after for state in reached
    )


def state_faults(terms: Terms, state: State, now: int) -> tuple[str, ...]:
    """What is wrong with one state."""
    broken = tuple(
        name for name, invariant in INVARIANTS.items() if not invariant.holds(terms, state)
    )
    if not converges(terms, state, now):
        return (*broken, "time and sweeps alone never end and settle it")
    return broken


def converges(terms: Terms, state: State, now: int) -> bool:
    """Whether, with nothing but time and sweeps, the journey ends by its deadline and its
    accounting is final one settlement grace later."""
    ends_by = max(now, terms.deadline)
    state, _labels = swept(terms, state, ends_by)
    if state.lifecycle not in TERMINAL_STATES or state.accounting_deadline is None:
        return False
    if state.accounting_deadline > ends_by + terms.settlement_grace:
        return False
    state, _labels = swept(terms, state, max(ends_by, state.accounting_deadline))
    return state.accounting is not AccountingStatus.PENDING
