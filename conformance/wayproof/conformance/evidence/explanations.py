"""What can be said of one name: its meaning, its source, and what shows it."""

import inspect
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Any

from wayproof.conformance.evidence.chain import Chain, Link, derive
from wayproof.conformance.publish.docstrings import attribute_docstrings
from wayproof.conformance.report.failure import sentence
from wayproof.conformance.vectors import VECTORS
from wayproof.conformance.vectors.format import CallStep, TickStep, Vector
from wayproof.conformance.vectors.stored import Sketch, StoredVector
from wayproof.conformance.vectors.suite import find_suite
from wayproof.conformance.vectors.writer import to_json
from wayproof.model.journey.properties.contract import (
    JOURNEY_CONTRACTS,
    WORLD_CONTRACTS,
    Contract,
)
from wayproof.model.journey.transition import RULES, Rule
from wayproof.spec.journey.clauses import clauses
from wayproof.spec.journey.operations import OPERATIONS, Operation
from wayproof.spec.journey.refusals import PRECEDENCE, RefusalCode
from wayproof.spec.journey.rulings import Ruling, load_rulings
from wayproof.spec.journey.vocabulary import TerminalReason

MOST_SHOWN = 8
"""How many vectors are named."""

CLAUSES_GUESSED = 3
"""How many clauses are told of a name that no rule and no sentence has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One name explained: paragraphs by heading, and source code by heading."""

    title: str
    text: str
    facts: dict[str, list[str]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The explanation as JSON."""
        return {
            "title": self.title,
            "text": self.text,
            "facts": self.facts,
            "sources": self.sources,
        }


@cache
def stored_vectors() -> tuple[StoredVector, ...]:
    """All vectors, found once."""
    return find_suite(VECTORS / "journey").vectors


def _holding(text: str) -> list[Sketch]:
    """The vectors that hold a text."""
    sought = text.encode()
    return [stored.sketch() for stored in stored_vectors() if sought in stored.text()]


def rulings() -> dict[int, Ruling]:
    """The rulings by number."""
    return {ruling.number: ruling for ruling in load_rulings()}


def explanation_of(name: str) -> Explanation | None:
    """Explain a name; None if nothing has it.

    Raises:
        VectorProblem, OSError: if the vectors cannot be read.
    """
    chain = derive(())
    if name in chain.links:
        return _clause(derive(_holding(json.dumps(name))).links[name])
    if name.isdecimal() and int(name) in rulings():
        return _ruling(int(name), chain)
    if name in OPERATIONS:
        return _operation(OPERATIONS[name])
    if name in RULES:
        return _rule(RULES[name])
    if name in _codes():
        return _code(name)
    vector = next((stored.read() for stored in stored_vectors() if stored.id == name), None)
    return None if vector is None else _vector(vector)


def names_like(name: str) -> list[str]:
    """The names that can be explained and are most like one that cannot, the closest first.

    Raises:
        VectorProblem, OSError: if the vectors cannot be read.
    """
    if "/" in name:
        return get_close_matches(name, [stored.id for stored in stored_vectors()])
    known = (*clauses(), *map(str, rulings()), *OPERATIONS, *RULES, *_codes())
    return get_close_matches(name, dict.fromkeys(known))


def _codes() -> list[str]:
    return [*RefusalCode, *TerminalReason]


def _clause(link: Link) -> Explanation:
    clause = link.clause
    facts = {
        "Section": [clause.section],
        "Capability": [str(clause.capability or "none: it binds every backend")],
        "Seen from outside": [clause.observability, *([clause.reason] if clause.reason else [])],
        "Status": [clause.status],
        "Rulings": [f"{n}: {rulings()[n].title}" for n in clause.rulings],
        "Rules": link.rules,
        "Properties": link.properties,
        "Vectors": _first(link.vectors),
        "Tests": link.tests,
    }
    sources = {f"rule {label}": _source(RULES[label].source) for label in link.rules[:2]}
    sources |= {
        f"property {name}": _source(contract.check)
        for name in link.properties
        if (contract := _contract(name))
    }
    return Explanation(
        title=clause.id,
        text=clause.text,
        facts={k: v for k, v in facts.items() if v},
        sources=sources,
    )


def _ruling(number: int, chain: Chain) -> Explanation:
    ruling = rulings()[number]
    completes = [
        f"{link.clause.id}: {link.clause.text}"
        for link in chain.links.values()
        if number in link.clause.rulings
    ]
    return Explanation(
        title=f"ruling {number}: {ruling.title}", text=ruling.text, facts={"Completes": completes}
    )


def _operation(operation: Operation) -> Explanation:
    labels = [label for label in RULES if label.startswith(f"{operation.name}.")]
    realised = sorted({c for label in labels for c in RULES[label].clauses})
    return Explanation(
        title=f"{operation.name} ({operation.actor})",
        text=operation.summary,
        facts={
            "Effects": list(operation.effects),
            "Refusals, in order": [code.value for code in operation.refusals],
            "Capability": [operation.capability.value],
            "Rules": labels,
            "Clauses": _in_words(realised),
        },
    )


def _rule(rule: Rule) -> Explanation:
    shown = [
        sketch.id
        for sketch in _holding(rule.label)
        if any(rule.label in labels.split("+") for labels in sketch.labels)
    ]
    return Explanation(
        title=f"rule {rule.label}",
        text=inspect.getdoc(rule.source) or "",
        facts={"Clauses": _in_words(rule.clauses), "Vectors": _first(shown)},
        sources={"source": _source(rule.source)},
    )


def _code(name: str) -> Explanation:
    facts: dict[str, list[str]] = {}
    text = []
    if name in set(RefusalCode):
        code = RefusalCode(name)
        place = PRECEDENCE.index(code)
        text = [
            attribute_docstrings(RefusalCode)[code.name],
            f"Refusal {place + 1} of {len(PRECEDENCE)} in the order of precedence.",
        ]
        facts["Checked after"] = [c.value for c in PRECEDENCE[max(0, place - 3) : place]]
        facts["Checked before"] = [c.value for c in PRECEDENCE[place + 1 : place + 4]]
        facts["Given by"] = [o.name for o in OPERATIONS.values() if code in o.refusals]
    if name in set(TerminalReason):
        text.append("A terminal reason: why a journey ended.")
    labels = [label for label in RULES if label.endswith(f".{name}")]
    holding = _holding(json.dumps(name))
    facts["Clauses"] = _in_words(clauses_about(name, labels, holding))
    facts["Rules"] = labels
    facts["Vectors"] = _first([sketch.id for sketch in holding])
    return Explanation(
        title=name,
        text="\n".join(text),
        facts=facts,
        sources={label: _source(RULES[label].source) for label in labels[:1]},
    )


def clauses_about(name: str, labels: Sequence[str], holding: Sequence[Sketch]) -> list[str]:
    """The clauses of the rules of that name and those that say it; where there are none, those
    that are most often at stake in a step that comes to it."""
    about = {clause for label in labels for clause in RULES[label].clauses}
    about |= {clause.id for clause in clauses().values() if re.search(rf"\b{name}\b", clause.text)}
    if about:
        return sorted(about)
    quoted = json.dumps(name)
    steps = (step for sketch in holding for step in sketch.steps)
    counted = Counter(
        clause for step in steps if quoted in json.dumps(step.outcome) for clause in step.clauses
    )
    return [clause for clause, _ in counted.most_common(CLAUSES_GUESSED)]


def _vector(vector: Vector) -> Explanation:
    return Explanation(
        title=f"vector {vector.id}: {vector.title}",
        text=vector.why,
        facts={
            "Timeline": list(timeline(vector)),
            "Clauses": _in_words(vector.clauses),
            "Rests on rulings": [str(number) for number in vector.rests_on],
            "Replay": [f"wayproof check --only {vector.id}"],
        },
    )


def timeline(vector: Vector) -> Iterator[str]:
    """The steps of a vector, a line each."""
    for number, step in enumerate(vector.steps, start=1):
        if isinstance(step, CallStep):
            shown = {k: v for k, v in _arguments(step).items() if k not in ("access", "policy")}
            told = ", ".join(f"{key}={value}" for key, value in shown.items())
            line = f"{step.operation}({told}) -> {_answer(to_json(step.expect))}"
        elif isinstance(step, TickStep):
            line = f"the clock moves to {step.to}"
        else:
            line = step.do
        changes = "; ".join(
            f"{pointer} = {value}"
            for pointer, value in (step.changes or {}).items()
            if not isinstance(value, dict | list)
        )
        yield f"{number:2}. {line}" + (f"   [{changes}]" if changes else "")


def _arguments(step: CallStep) -> dict[str, Any]:
    return step.arguments if isinstance(step.arguments, dict) else {"arguments": step.arguments}


def _answer(expect: Any) -> str:
    if "ok" in expect:
        return "ok"
    if "err" in expect:
        return str(expect["err"]["code"])
    return " or ".join(_answer(case) for case in expect["one_of"])


def _in_words(ids: Iterable[str]) -> list[str]:
    return [f"{clause}: {sentence(clause)}" for clause in ids]


def _first(ids: list[str]) -> list[str]:
    more = len(ids) - MOST_SHOWN
    return ids[:MOST_SHOWN] + ([f"and {more} more"] if more > 0 else [])


def _contract(name: str) -> Contract | None:
    return JOURNEY_CONTRACTS.get(name) or WORLD_CONTRACTS.get(name)


def _source(function: Any) -> str:
    file = inspect.getsourcefile(function) or ""
    _, line = inspect.getsourcelines(function)
    place = file[file.rfind("wayproof/") :]
    return f"# {place}:{line}\n{inspect.getsource(function)}"
