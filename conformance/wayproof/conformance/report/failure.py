"""One failure, told so that it can be mended: what, why it matters, and how to see it again."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from wayproof.conformance.report.words import several
from wayproof.conformance.run.verdict import Divergence, Result
from wayproof.conformance.vectors.changes import UnfittingChange, differences, value_at
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

SHORT = 160
"""Up to how many characters an answer is shown whole."""

CLAUSES_SHOWN = 6
"""How many clauses are told in words."""

KINDS: Final = {
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
"""Every kind of divergence, in words."""


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
    return KINDS.get(kind, kind)


def _lines(result: Result, command: str) -> Iterator[str]:
    yield f"{result.verdict.upper()}  {result.id}  {result.title}"
    if result.note:
        yield _line("because", result.note)
    if result.divergence is not None:
        yield from _divergence_lines(result.divergence)
    for clause in result.at_stake[:CLAUSES_SHOWN]:
        yield _line("at stake", f"{clause}: {sentence(clause)}")
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
        word = "ruling" if len(divergence.rests_on) == 1 else "rulings"
        numbers = ", ".join(map(str, divergence.rests_on))
        kept = "the contract's own letter may be kept all the same"
        yield _line("rests on", f"{word} {numbers}: {kept}")
    if divergence.kind != "state":
        yield from _answer_lines(divergence.expected, divergence.observed)
    elif not divergence.differences:
        yield from _undecided_state_lines(divergence)
    yield from _places(
        "state",
        [
            (
                pointer,
                {
                    "before": _before(divergence.before, pointer),
                    "expected": _json(expected),
                    "observed": _json(observed),
                },
            )
            for pointer, (expected, observed) in divergence.differences.items()
        ],
    )


def _answer_lines(expected: JsonValue, observed: JsonValue) -> Iterator[str]:
    """Short answers and such as are unlike in kind as a whole, others where they differ."""
    several = isinstance(expected, Mapping) and list(expected) == ["one_of"]
    cases = list(expected["one_of"]) if several else [expected]
    told = _json(expected), _json(observed)
    alike = [case for case in cases if _kind(case) == _kind(observed) is not None]
    if max(map(len, told)) <= SHORT or not alike:
        yield _line("expected", told[0])
        yield _line("observed", told[1])
        return
    if several:
        yield _line("expected", f"one of {len(cases)} answers; the closest differs here")
    closest = min((differences(case, observed) for case in alike), key=len)
    yield from _places(
        "answer",
        [
            (pointer, {"expected": _json(wanted), "observed": _json(seen)})
            for pointer, (wanted, seen) in closest.items()
        ],
    )


def _undecided_state_lines(divergence: Divergence) -> Iterator[str]:
    """A state that is none of several, by what has changed."""
    yield _line("expected", _json(divergence.expected))
    if not divergence.before:
        yield _line("observed", _json(divergence.observed))
        return
    changed = differences(divergence.before, divergence.observed)
    if not changed:
        yield _line("observed", "the state before, unchanged")
    yield from _places(
        "changed",
        [
            (pointer, {"before": _json(before), "observed": _json(seen)})
            for pointer, (before, seen) in changed.items()
        ],
    )


def _places(word: str, places: Sequence[tuple[str, Mapping[str, str]]]) -> Iterator[str]:
    for pointer, values in places[:PLACES_SHOWN]:
        yield _line(word, pointer)
        for name, value in values.items():
            yield f"{'':>14}{name:<8}  {value}"
    if len(places) > PLACES_SHOWN:
        yield _line(word, f"and {several(len(places) - PLACES_SHOWN, 'place')} more")


def _kind(answer: JsonValue) -> tuple[str, ...] | None:
    """What answers that are compared place by place have in common; None for no object."""
    return tuple(sorted(answer)) if isinstance(answer, Mapping) else None


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
