"""One failure, told so that it can be mended: what, why it matters, and how to see it again."""

import json
from collections.abc import Iterator

from wayproof.conformance.run.verdict import Divergence, Result
from wayproof.conformance.vectors.changes import UnfittingChange, value_at
from wayproof.conformance.vectors.format import (
    REMOVED,
    CallStep,
    JsonValue,
    TickStep,
    Vector,
)
from wayproof.spec.journey.clauses import clauses

PLACES_SHOWN = 12
"""At how many places of the state a difference is shown."""

CLAUSES_SHOWN = 6
"""How many clauses are told in words."""

_KINDS = {
    "reply": "another answer than expected",
    "code": "another code than expected",
    "detail": "another detail of the refusal than expected",
    "record": "an answer that is not the record of the catalogue",
    "version": "a record version out of order",
    "state": "another state than expected",
    "order": "an order that the contract forbids",
    "identity": "an identity that is not new",
    "read": "a read that was refused",
    "moment": "a moment at which it cannot have been committed",
}


def failure_text(result: Result, command: str) -> str:
    """Everything that is known of a result that is no pass.

    ``command`` is what the result's own arguments are added to, such as
    ``wayproof check --backend sqlite``.
    """
    return "\n".join(_lines(result, command))


def sentence(clause_id: str) -> str:
    """The clause in words."""
    known = clauses().get(clause_id)
    return known.text if known else "(not in this revision's register)"


def kind_in_words(kind: str) -> str:
    """What a divergence of this kind is."""
    return _KINDS.get(kind, kind)


def _lines(result: Result, command: str) -> Iterator[str]:
    yield f"{result.verdict.upper()}  {result.id}  {result.title}"
    if result.note:
        yield _line("because", result.note)
    if result.divergence is not None:
        yield from _divergence_lines(result.divergence)
    for line in result.trace.splitlines():
        yield f"  | {line}"
    if result.vector is not None:
        yield from _story_lines(result.vector)
    if result.replay:
        yield _line("replay", f"{command} {result.replay}")


def _divergence_lines(divergence: Divergence) -> Iterator[str]:
    kind = kind_in_words(divergence.kind)
    yield _line("at", f"step {divergence.step + 1}, {divergence.action}: {kind}")
    for clause in divergence.clauses[:CLAUSES_SHOWN]:
        yield _line("breaks", f"{clause}: {sentence(clause)}")
    if more := divergence.clauses[CLAUSES_SHOWN:]:
        yield _line("", f"or what else this story is about: {', '.join(more)}")
    if divergence.rests_on:
        rulings = ", ".join(map(str, divergence.rests_on))
        yield _line(
            "rests on", f"ruling {rulings}: the contract's own letter may be kept all the same"
        )
    if divergence.kind != "state" or not divergence.differences:
        yield _line("expected", _json(divergence.expected))
        yield _line("observed", _json(divergence.observed))
    places = list(divergence.differences.items())
    for pointer, (expected, observed) in places[:PLACES_SHOWN]:
        yield _line("state", pointer)
        yield f"{'':>14}before    {_before(divergence.before, pointer)}"
        yield f"{'':>14}expected  {_json(expected)}"
        yield f"{'':>14}observed  {_json(observed)}"
    if len(places) > PLACES_SHOWN:
        yield _line("state", f"and {len(places) - PLACES_SHOWN} places more")


def _story_lines(vector: Vector) -> Iterator[str]:
    """What was done, since no file says so."""
    for number, step in enumerate(vector.steps, start=1):
        done: str = step.do
        if isinstance(step, CallStep):
            done = f"{step.operation} {_json(step.arguments)}"
        elif isinstance(step, TickStep):
            done = f"tick to {step.to}"
        yield _line("story" if number == 1 else "", f"{number}. {done}")


def _line(word: str, text: str) -> str:
    return f"  {word:<10}  {text}"


def _before(state: JsonValue, pointer: str) -> str:
    try:
        return _json(value_at(state, pointer))
    except UnfittingChange:
        return "(absent)"


def _json(value: JsonValue) -> str:
    if value == REMOVED:
        return "(absent)"
    return (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    )
