"""What an exploration found, for people and for programs."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

from wayproof.conformance.report.words import several
from wayproof.model.journey.configuration import Configuration
from wayproof.model.journey.explore import Edge, Exploration, Move, explore
from wayproof.model.journey.properties.contract import JOURNEY_CONTRACTS
from wayproof.model.journey.properties.invariants import INVARIANTS
from wayproof.model.journey.state import State
from wayproof.model.journey.transition import RULES, Answered, Reply
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.operations import OPERATIONS

_NAMES: Final = {operation.request: operation.name for operation in OPERATIONS.values()}
_UNSAID: Final = ("access", "journey_id", "schema_version")
"""Fields that are the same in every step of a trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """One configuration, explored."""

    name: str
    mechanism: str
    found: Exploration
    seconds: float


def explored(
    name: str,
    configuration: Configuration,
    max_states: int,
    progress: Callable[[str, int, int], None],
) -> Explored:
    """Explore one configuration, and measure it."""
    began = perf_counter()
    found = explore(configuration, max_states, lambda states, edges: progress(name, states, edges))
    return Explored(
        name=name,
        mechanism=configuration.mechanism,
        found=found,
        seconds=perf_counter() - began,
    )


def lines(result: Explored) -> Iterator[str]:
    """One configuration's result in lines, with the shortest way to its fault."""
    found = result.found
    verdict = "holds" if found.finished else "not finished"
    if found.violation is not None:
        verdict = "VIOLATED"
    yield (
        f"{result.name:13} {verdict:12} {found.states:7} states {found.edges:8} steps"
        f" {found.deepest:3} deep {result.seconds:6.1f} s   {result.mechanism}"
    )
    if found.violation is None:
        return
    yield ""
    yield from map(broken, found.violation.faults)
    yield ""
    yield f"the shortest way to it has {several(len(found.violation.trace), 'step')}:"
    yield from trace(found.violation.trace)
    yield ""


def broken(fault: str) -> str:
    """One fault, with what it means and the clauses that it breaks."""
    stated = JOURNEY_CONTRACTS.get(fault)
    held = INVARIANTS.get(fault)
    if stated is not None:
        return f"broken: {fault} ({', '.join(stated.clauses)})"
    if held is not None:
        meaning = " ".join((held.holds.__doc__ or "").split())
        return f"broken: {fault} ({', '.join(held.clauses)}): {meaning}"
    return f"broken: {fault}"


def trace(edges: Iterable[Edge]) -> Iterator[str]:
    """A way, step by step: what was done, what was answered, how the journey stood then."""
    for number, edge in enumerate(edges, start=1):
        yield f"{number:3}. at {edge.now} ms: {_said(edge)}"
        if edge.reply is not None:
            yield f"     {_answered(edge.reply)}"
        if edge.move is not Move.TICK:
            yield f"     {_standing(edge.after)}"


def _said(edge: Edge) -> str:
    if edge.request is not None:
        return f"{_NAMES[type(edge.request)]} {_fields(edge.request)}".rstrip()
    if edge.move is Move.TICK:
        return "time passes"
    return f"{edge.move}: {', '.join(edge.labels) or 'nothing is due'}"


def _answered(reply: Reply) -> str:
    if not isinstance(reply, Answered):
        return f"refused: {reply.code}"
    if reply.record is None:
        return "answered: null"
    return f"answered: {_fields(reply.record)}"


def _fields(record: object) -> str:
    values: dict[str, Any] = encode(record)
    return " ".join(
        f"{name}={_written(value)}"
        for name, value in values.items()
        if name not in _UNSAID and value is not None
    )


def _written(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return str(value)


def _standing(state: State) -> str:
    said = [f"version {state.record_version}", str(state.lifecycle)]
    if state.terminal_reason is not None:
        said.append(f"{state.terminal_reason}, accounting {state.accounting}")
    said += [f"{run.workflow_run_id} {run.state}" for run in state.runs]
    for t in state.transmissions:
        tokens = t.reserved_tokens if t.actual_tokens is None else t.actual_tokens
        said.append(f"{t.transmission_id} {t.state} {tokens}")
    totals = state.totals
    said.append(
        f"tokens {totals.reconciled} reconciled + {totals.conservative} conservative"
        f" + {totals.reserved} reserved"
    )
    return "; ".join(said)


def summary(results: list[Explored]) -> str:
    """All results in one line."""
    states = sum(result.found.states for result in results)
    edges = sum(result.found.edges for result in results)
    seconds = sum(result.seconds for result in results)
    labels = frozenset[str]().union(*(result.found.labels for result in results))
    contracts = frozenset[str]().union(*(result.found.contracts for result in results))
    return (
        f"{several(len(results), 'configuration')}, {several(states, 'state')},"
        f" {several(edges, 'step')} in {seconds:.1f} s"
        f" ({states / seconds:.0f} states/s); {len(labels)} of {len(RULES)} rules applied,"
        f" {len(contracts)} of {len(JOURNEY_CONTRACTS)} step contracts at stake"
    )


def document(results: list[Explored]) -> dict[str, Any]:
    """All results as one JSON document."""
    return {
        "holds": all(r.found.finished and r.found.violation is None for r in results),
        "configurations": [
            {
                "name": result.name,
                "mechanism": result.mechanism,
                "states": result.found.states,
                "edges": result.found.edges,
                "deepest": result.found.deepest,
                "seconds": round(result.seconds, 3),
                "states_per_second": round(result.found.states / result.seconds),
                "finished": result.found.finished,
                "labels": sorted(result.found.labels),
                "contracts": sorted(result.found.contracts),
                "violation": None
                if result.found.violation is None
                else {
                    "faults": list(result.found.violation.faults),
                    "trace": list(trace(result.found.violation.trace)),
                },
            }
            for result in results
        ],
    }
