"""A failure is told so that its reader sees where it is, and no more than that."""

from typing import Any

from wayproof.conformance.report.failure import PLACES_SHOWN, SHORT, failure_text
from wayproof.conformance.run.verdict import Divergence, Result, Verdict

LONG = "x" * SHORT


def told(
    expected: Any,
    observed: Any,
    kind: str = "reply",
    before: Any = None,
    rests_on: tuple[int, ...] = (),
) -> str:
    divergence = Divergence(
        step=2,
        action="call snapshot",
        kind=kind,
        expected=expected,
        observed=observed,
        clauses=("observe-01",),
        rests_on=rests_on,
        before=before,
    )
    result = Result(id="a/b/0001", title="a", verdict=Verdict.FAIL, divergence=divergence)
    _, lines = failure_text(result, "wayproof check").split("observe-01: ", maxsplit=1)
    return lines.partition("\n")[2]


def place(word: str, pointer: str, **values: str) -> str:
    lines = [f"  {word:<10}  {pointer}"]
    return "\n".join([*lines, *(f"{'':>14}{name:<8}  {value}" for name, value in values.items())])


def test_answers_of_one_kind_are_told_where_they_differ() -> None:
    expected = {"ok": {"a": 1, "tokens": {"reserved": 30, "sum": 0}, "text": LONG}}
    observed = {"ok": {"a": 1, "tokens": {"reserved": 31, "sum": 0}, "text": LONG, "more": True}}
    assert told(expected, observed) == "\n".join(
        [
            place("answer", "/ok/more", expected="(absent)", observed="true"),
            place("answer", "/ok/tokens/reserved", expected="30", observed="31"),
        ]
    )


def test_short_answers_are_told_whole() -> None:
    assert told({"ok": {"a": 1}}, {"ok": {"a": 2}}) == (
        '  expected    {"ok": {"a": 1}}\n  observed    {"ok": {"a": 2}}'
    )


def test_answers_that_are_unlike_in_kind_are_told_whole() -> None:
    refused = {"err": {"code": "fenced", "detail": {}}}
    text = told({"ok": {"text": LONG}}, refused)
    assert f'expected    {{"ok": {{"text": "{LONG}"}}}}' in text
    assert 'observed    {"err": {"code": "fenced", "detail": {}}}' in text
    text = told(f"a record of some kind: {LONG}", {"ok": LONG})
    assert "  expected    a record of some kind" in text and "  observed    {" in text


def test_of_several_answers_the_closest_of_the_same_kind_is_compared() -> None:
    cases = [
        {"err": {"code": "fenced", "detail": {}}},
        {"ok": {"a": 1, "b": 1, "text": LONG}},
        {"ok": {"a": 2, "b": 1, "text": LONG}},
    ]
    text = told({"one_of": cases}, {"ok": {"a": 2, "b": 2, "text": LONG}})
    assert text == "\n".join(
        [
            "  expected    one of 3 answers; the closest differs here",
            place("answer", "/ok/b", expected="1", observed="2"),
        ]
    )


def test_a_state_that_is_none_of_several_is_told_by_what_has_changed() -> None:
    text = told(
        "one of the 2 states that are allowed",
        {"J": {"state": "running", "text": LONG}},
        kind="state",
        before={"J": {"state": "pending", "text": LONG}},
    )
    assert text == "\n".join(
        [
            "  expected    one of the 2 states that are allowed",
            place("changed", "/J/state", before="pending", observed="running"),
        ]
    )
    same = {"J": {"state": "pending", "text": LONG}}
    assert told("one of 2", same, kind="state", before=same) == (
        "  expected    one of 2\n  observed    the state before, unchanged"
    )


def test_the_rulings_that_an_expectation_rests_on_are_told() -> None:
    kept = "the contract's own letter may be kept all the same"
    assert told(1, 2, rests_on=(5,)).splitlines()[0] == f"  rests on    ruling 5: {kept}"
    assert told(1, 2, rests_on=(5, 20)).splitlines()[0] == f"  rests on    rulings 5, 20: {kept}"


def test_of_very_many_places_the_first_are_told() -> None:
    many = {f"field_{number:02}": number for number in range(PLACES_SHOWN + 3)}
    text = told({"ok": many}, {"ok": {name: -1 for name in many}})
    assert text.count("  answer    ") == PLACES_SHOWN + 1
    assert text.endswith("and 3 places more")
