import ast
from enum import Enum

import pytest
from tests.conformance import stories

from wayproof.conformance.mutants.catalogue import candidates_of
from wayproof.conformance.mutants.copies import sources_of
from wayproof.conformance.mutants.generated import (
    PACKAGE,
    GeneratedMutant,
    generated_mutants,
    load_generated,
)
from wayproof.conformance.mutants.load import MutantBrokenError
from wayproof.conformance.mutants.operators import Change, changes
from wayproof.conformance.mutants.run import Game, play_games
from wayproof.conformance.run.player import play
from wayproof.conformance.run.verdict import Verdict
from wayproof.model.journey.transition import RULES


class Colour(Enum):
    RED = 1
    BLUE = 2


def changed(body: str, head: str = "def f(a, b, c):") -> dict[str, list[str]]:
    """Operator to the texts that it makes of a function's body."""
    text = f"# Ünicode before it\n{head}\n{body}\n"
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    made: dict[str, list[str]] = {}
    for change in changes(function, text, {"Colour": Colour}):
        mutated = ast.parse(change.apply(text)).body[0]
        assert isinstance(mutated, ast.FunctionDef)
        made.setdefault(change.operator, []).append("\n".join(map(ast.unparse, mutated.body)))
    return made


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (" return a < b", {"lt-to-le": ["return a <= b"], "lt-to-ge": ["return a >= b"]}),
        (" return a >= b", {"ge-to-gt": ["return a > b"], "ge-to-lt": ["return a < b"]}),
        (" return a is b", {"is-to-is-not": ["return a is not b"]}),
        (" return a not in b", {"not-in-to-in": ["return a in b"]}),
        (" return a is None", {}),
        (
            " return a == b != c",
            {"eq-to-ne": ["return a != b != c"], "ne-to-eq": ["return a == b == c"]},
        ),
        (" return min(a, b)", {"min-to-max": ["return max(a, b)"]}),
        (" return max(a, key=b)", {"max-to-min": ["return min(a, key=b)"]}),
        (" return a + b", {"plus-to-minus": ["return a - b"]}),
        (" return a - (b)", {"minus-to-plus": ["return a + b"]}),
        (" return not a", {"drop-not": ["return a"]}),
        (" return 7", {"one-more": ["return 8"]}),
        (" return True", {"flip": ["return False"]}),
        (" return a if b else c", {"drop-choice": ["return c"]}),
        (" return 'label' if a else 'other'", {}),
        (" return Colour.RED", {"wrong-member": ["return Colour.BLUE"]}),
        (" return Colour.BLUE", {"wrong-member": ["return Colour.RED"]}),
        (" return Colour.mro", {}),
        (
            " return a._replace(b=b, c=c)",
            {"drop-field": ["return a._replace(c=c)", "return a._replace(b=b)"]},
        ),
        (
            " return (a and b) or c",
            {
                "or-to-and": ["return (a and b) and c"],
                "and-to-or": ["return (a or b) or c"],
                "drop-condition": [
                    "return c",
                    "return b or c",
                    "return a or c",
                    "return a and b",
                ],
            },
        ),
        (" return [x for x in a if x]", {"drop-filter": ["return [x for x in a if True]"]}),
        (" if a:\n  return b\n return c", {"drop-guard": ["if False:\n    return b\nreturn c"]}),
        (
            " if a:\n  b()\n elif c:\n  d()",
            {
                "drop-branch": [
                    "if False:\n    b()\nelif c:\n    d()",
                    "if a:\n    b()\nelif False:\n    d()",
                ],
                "swap-branches": ["if c:\n    d()\nelif a:\n    b()"],
            },
        ),
        (' """A < B."""\n assert a < b\n return f"{a < b}"', {}),
        (" x: 'a < b' = c\n return x", {}),
    ],
)
def test_each_operator(body: str, expected: dict[str, list[str]]) -> None:
    made = changed(body)
    assert {operator: sorted(texts) for operator, texts in made.items()} == {
        operator: sorted(texts) for operator, texts in expected.items()
    }


def test_a_default_is_changed_too() -> None:
    assert "flip" in changed(" return a", head="def f(a, *, b=False):")


def test_guards_are_swapped_where_that_makes_sense() -> None:
    first = "x = a()\nif x:\n    return x\n"
    second = "y = b()\nif y:\n    return y\n"
    body = "".join(f" {line}\n" for line in (first + second + "return c").splitlines())
    assert changed(body)["swap-guards"] == [f"{second}{first}return c"]
    needs_the_first = body.replace("b()", "b(x)")
    assert "swap-guards" not in changed(needs_the_first)
    something_between = body.replace(" y = b()", " c()\n y = b()")
    assert "swap-guards" not in changed(something_between)


def test_there_are_a_few_hundred_each_of_another_kind_and_by_a_name_that_stays() -> None:
    mutants = generated_mutants()
    assert 200 <= len(mutants) <= 600
    assert len({mutant.name for mutant in mutants}) == len(mutants)
    generated_mutants.cache_clear()
    assert generated_mutants() == mutants
    originals = {file: ast.dump(ast.parse(text)) for file, text in sources_of(PACKAGE).items()}
    seen = set()
    for mutant in mutants:
        dumped = ast.dump(ast.parse(mutant.change.apply(sources_of(PACKAGE)[mutant.file])))
        assert dumped != originals[mutant.file]
        seen.add((mutant.file, dumped))
    assert len(seen) == len(mutants)


def test_each_changes_one_function_that_applies_the_rules_of_its_clauses() -> None:
    for mutant in generated_mutants():
        before = _functions(sources_of(PACKAGE)[mutant.file])
        after = _functions(mutant.change.apply(sources_of(PACKAGE)[mutant.file]))
        (changed_one,) = (name for name in before if before[name] != after[name])
        module = f"{PACKAGE}.{mutant.file.removesuffix('.py')}"
        assert set(mutant.clauses) == {
            clause
            for rule in RULES.values()
            if (rule.source.__module__, rule.source.__name__) == (module, changed_one)
            for clause in rule.clauses
        }


def _functions(text: str) -> dict[str, str]:
    body = ast.parse(text).body
    return {node.name: ast.dump(node) for node in body if isinstance(node, ast.FunctionDef)}


def test_every_rule_function_has_mutants() -> None:
    functions = {(r.source.__module__, r.source.__name__) for r in RULES.values()}
    words = {f"{m.rpartition('.')[2]}-{name}".replace("_", "-") for m, name in functions}
    names = [mutant.name.removeprefix("generated-") for mutant in generated_mutants()]
    without = {word for word in words if not any(name.startswith(word + "-") for name in names)}
    # Neither decides anything: decoding is the specification's, and a restart changes nothing.
    assert without <= {"world-undecodable", "simulate-restart"}


def test_a_change_is_played_and_the_model_stays_as_it_is() -> None:
    (mutant,) = (
        m
        for m in generated_mutants()
        if m.name == "generated-ownership-begin-journey-wrong-member-1"
    )
    backend = load_generated(mutant)
    capabilities = backend.hello().capabilities
    assert play(stories.COMPLETED, backend, capabilities).verdict is Verdict.FAIL
    (candidate,) = (c for c in candidates_of(("generated",)) if c.name == mutant.name)
    (outcome,) = play_games([Game(candidate=candidate, vectors=stories.STORIES)])
    assert outcome.kill is not None and outcome.kill.how == "fail" and not outcome.unsound


def test_a_change_that_cannot_be_imported_is_no_mutant() -> None:
    mutant = generated_mutants()[0]
    broken = GeneratedMutant(
        name="broken",
        file=mutant.file,
        clauses=mutant.clauses,
        change=Change(operator="x", line=1, before="", after="", replacements=((0, 0, "("),)),
    )
    with pytest.raises(MutantBrokenError, match="broken cannot be made: SyntaxError"):
        load_generated(broken)
