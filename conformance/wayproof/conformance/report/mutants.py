"""What became of mutants, for people and for programs."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wayproof.conformance.mutants.run import Outcome
from wayproof.conformance.mutants.serving import Serving
from wayproof.conformance.report.words import several

UNFIT = "that kills nothing; build the vectors again"

ALL_KILLED, SURVIVORS, COULD_NOT_RUN = 0, 1, 3


def state_of(outcome: Outcome) -> str:
    """``killed``, ``survived``, ``excused`` (it may survive, and does or was not played),
    ``wrongly excused`` or ``not judged``."""
    if outcome.problem:
        return "not judged"
    if outcome.candidate.excuse:
        return "wrongly excused" if outcome.kills else "excused"
    return "killed" if outcome.kills else "survived"


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """0 if all were killed that must be, 3 if a mutant or a vector was unfit, 1 otherwise."""
    held = tuple(outcomes)
    states = {state_of(outcome) for outcome in held}
    if "not judged" in states or any(outcome.unsound for outcome in held):
        return COULD_NOT_RUN
    return ALL_KILLED if states <= {"killed", "excused"} else SURVIVORS


def score_line(name: str, outcomes: Sequence[Outcome]) -> str:
    """One set in one line."""
    states = Counter(map(state_of, outcomes))
    ways = Counter(o.kill.how for o in outcomes if o.kill is not None)
    total = len(outcomes) - states["excused"]
    killed = states.pop("killed", 0)
    parts = [f"{name}: {killed} of {total} killed"]
    parts += [f"{count} by {way}" for way, count in sorted(ways.items())]
    parts += [f"{count} {state}" for state, count in sorted(states.items())]
    return ", ".join(parts)


def print_outcomes(outcomes: Sequence[Outcome], console: Console, matrix: bool) -> None:
    """Print a row for each mutant, those that are not killed last, and a line for each set."""
    table = Table(show_edge=False, pad_edge=False)
    for column in ("mutant", "clauses", "killed by", "how"):
        table.add_column(column, overflow="fold")
    table.add_column(
        "failed" if matrix else "at", justify="right" if matrix else "left", overflow="fold"
    )
    for outcome in sorted(outcomes, key=lambda outcome: state_of(outcome) != "killed"):
        kill, candidate = outcome.kill, outcome.candidate
        broken = "" if kill is None else _broken(outcome)
        table.add_row(
            Text(candidate.name),
            _short(candidate.clauses),
            Text(state_of(outcome) if kill is None else kill.vector),
            "" if kill is None else kill.how,
            f"{len(outcome.kills)}, {outcome.share:.1%}" if matrix else broken,
        )
    console.print(table)
    for outcome in outcomes:
        for line in _remarks(outcome):
            console.print(Text(line), soft_wrap=True)
    if unsound := sorted({vector for outcome in outcomes for vector in outcome.unsound}):
        number = several(len(unsound), "vector")
        told = f"not passed by the sound backend: {number}, such as {unsound[0]}; {UNFIT}"
        console.print(Text(told, style="bold yellow"), soft_wrap=True)
    for name, held in _by_set(outcomes).items():
        console.print(Text(score_line(name, held), style="bold"), soft_wrap=True)


def document(outcomes: Sequence[Outcome], matrix: bool) -> dict[str, Any]:
    """The same for programs."""
    return {
        "format": "wayproof-mutants/1.0",
        "exit_code": exit_code(outcomes),
        "sets": {name: score_line(name, held) for name, held in _by_set(outcomes).items()},
        "mutants": [_entry(outcome, matrix) for outcome in outcomes],
    }


def print_serving(serving: Serving, console: Console) -> None:
    """Print the clauses that are served loosely or not at all, and how many are served."""
    for clause, service in serving.served.items():
        if service.closeness == "vector":
            told = f"{clause} loosely, at another step: {service.mutant} by {service.vector}"
            console.print(Text(told), soft_wrap=True)
    for clause, tried in serving.unserved.items():
        found = f"no vector about it fails {', '.join(tried)}" if tried else "no mutant breaks it"
        console.print(Text(f"{clause} not at all: {found}"), soft_wrap=True)
    closely = sum(service.closeness == "step" for service in serving.served.values())
    generated = sum(s.mutant.startswith("generated-") for s in serving.served.values())
    total = len(serving.served) + len(serving.unserved)
    told = f"{len(serving.served)} of {total} clauses served, {closely} of them closely"
    console.print(Text(f"{told}, {generated} by generated mutants alone", style="bold"))


def serving_document(serving: Serving) -> dict[str, Any]:
    """The same for programs."""
    return {
        "format": "wayproof-serving/1.0",
        "served": {clause: asdict(service) for clause, service in serving.served.items()},
        "unserved": {clause: list(tried) for clause, tried in serving.unserved.items()},
    }


def _remarks(outcome: Outcome) -> list[str]:
    candidate, state = outcome.candidate, state_of(outcome)
    head = f"{candidate.name} {state}"
    if state == "not judged":
        return [f"{head}: {outcome.problem}"]
    if state == "survived":
        return [f"{head} {several(outcome.played, 'vector')}: {candidate.fault}"]
    if state == "excused":
        return [f"{head}: {candidate.excuse}"]
    if state == "wrongly excused":
        killed_by = outcome.kills[0].vector
        return [f"{head}, since {killed_by} kills it: {candidate.excuse}"]
    return []


def _entry(outcome: Outcome, matrix: bool) -> dict[str, Any]:
    kill = outcome.kill
    entry: dict[str, Any] = {
        "name": outcome.candidate.name,
        "set": outcome.candidate.set,
        "clauses": list(outcome.candidate.clauses),
        "fault": outcome.candidate.fault,
        "state": state_of(outcome),
        "played": outcome.played,
    }
    if kill is not None:
        entry["killed_by"] = {
            "vector": kill.vector,
            "how": kill.how,
            "clauses": list(kill.clauses),
            "rests_on": list(kill.rests_on),
            "note": kill.note,
        }
    if outcome.candidate.excuse:
        entry["excuse"] = outcome.candidate.excuse
    if outcome.problem:
        entry["problem"] = outcome.problem
    if outcome.unsound:
        entry["unsound"] = list(outcome.unsound)
    if matrix:
        entry["failed"] = [kill.vector for kill in outcome.kills]
        entry["share"] = round(outcome.share, 4)
    return entry


def _by_set(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    sets: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        sets.setdefault(outcome.candidate.set, []).append(outcome)
    return sets


def _broken(outcome: Outcome) -> str:
    """The clauses that the killing step broke: the mutant's own, or else in brackets another."""
    found = outcome.kills[0].clauses
    own = [clause for clause in outcome.candidate.clauses if clause in found]
    return _short(own) if own else f"({_short(found[:1])})" if found else ""


def _short(clauses: Sequence[str]) -> str:
    shown = " ".join(clauses[:3])
    return shown if len(clauses) <= 3 else f"{shown} and {len(clauses) - 3} more"
