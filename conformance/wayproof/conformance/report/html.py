"""The results as one HTML page that needs nothing else: no network, no other file.

The page's policy lets nothing run or load but its own style and script, by their digests.
"""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from wayproof.conformance.report import lifecycle
from wayproof.conformance.report.failure import kind_in_words, sentence
from wayproof.conformance.report.matrix import ranked, sections, spread, suspects_of, transitions
from wayproof.conformance.report.results import DivergenceTold, Entry, Report
from wayproof.conformance.report.summary import CONFORMS, COULD_NOT_RUN
from wayproof.conformance.report.text import shortened, writable
from wayproof.conformance.report.words import several
from wayproof.conformance.run.verdict import Verdict
from wayproof.conformance.vectors.changes import differences
from wayproof.conformance.vectors.format import REMOVED, JsonValue

MOST_DETAILED: Final = 100
"""How many results are told in full; of each broken clause one at least, if there are no more."""

MOST_SUSPECTS: Final = 5
"""How many of the clauses that the failures point at are told before them."""

LONGEST_VALUE: Final = 600
"""The characters that are shown of one value of a table."""

LONGEST_STATE: Final = 12_000
"""The characters that are shown of a whole state, or of a backend's traceback."""

TEMPLATE: Final = "report.html.jinja"

_TOLD: Final = (
    Verdict.FAIL,
    Verdict.STALE_KNOWN,
    Verdict.HARNESS_FAULT,
    Verdict.UNDECIDED,
    Verdict.KNOWN_FAIL,
)
"""What is told one by one, in this order."""

_TONES: Final = {CONFORMS: "passed", COULD_NOT_RUN: "unjudged"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The results of one family of vectors."""

    name: str
    topics: tuple[tuple[str, Mapping[Verdict, int]], ...]
    counts: Mapping[Verdict, int]

    @property
    def others(self) -> int:
        """What neither passed nor failed."""
        return sum(self.counts.values()) - self.counts[Verdict.PASS] - self.counts[Verdict.FAIL]


def html_document(report: Report) -> str:
    """The page."""
    report = ranked(report)
    told = [entry for verdict in _TOLD for entry in spread(report.having(verdict))]
    detailed = told[:MOST_DETAILED]
    detailed.sort(key=lambda entry: (_TOLD.index(entry.verdict), entry.id))
    brief = told[MOST_DETAILED:]
    brief.sort(key=lambda entry: entry.id)
    rows = transitions(report)
    style, script = _file("report.css"), _file("report.js")
    page = _environment().get_template(TEMPLATE)
    return writable(
        page.render(
            report=report,
            suspects=suspects_of(report)[:MOST_SUSPECTS],
            tone=_TONES.get(report.end.exit_code, "failed"),
            verdicts=tuple(Verdict),
            detailed=detailed,
            brief=brief,
            not_applicable=_by_note(report.having(Verdict.NOT_APPLICABLE)),
            sections=sections(report),
            groups=tuple(_groups(report)),
            rows=rows,
            drawing=lifecycle,
            lines=lifecycle.lines(rows),
            style=style,
            script=script,
            style_digest=_digest(style),
            script_digest=_digest(script),
        )
    )


def text_of(value: JsonValue, longest: int = LONGEST_VALUE) -> str:
    """A JSON value as people read it, shortened."""
    if value == REMOVED:
        return "(absent)"
    return shortened(json.dumps(value, ensure_ascii=False, sort_keys=True), longest)


def pretty(value: JsonValue, longest: int = LONGEST_STATE) -> str:
    """A JSON value over several lines, shortened."""
    return shortened(json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2), longest)


def allowed_answers(divergence: DivergenceTold) -> list[JsonValue]:
    """What was expected: one answer, or several that are allowed."""
    expected = divergence.expected
    if isinstance(expected, Mapping) and list(expected) == ["one_of"]:
        return list(expected["one_of"])
    return [expected]


def answer_differences(divergence: DivergenceTold) -> tuple[tuple[str, JsonValue, JsonValue], ...]:
    """Where the observed answer differs from the closest that is allowed: pointer, expected,
    observed."""
    if divergence.kind == "state":
        return ()  # the states say it all
    cases = allowed_answers(divergence)
    found = min((differences(case, divergence.observed) for case in cases), key=len)
    return tuple((pointer, *values) for pointer, values in found.items())


def state_changes(divergence: DivergenceTold) -> tuple[tuple[str, JsonValue, JsonValue], ...]:
    """What the backend changed, where no single state was expected: pointer, before, observed."""
    if divergence.kind != "state" or divergence.differences or not divergence.before:
        return ()
    found = differences(divergence.before, divergence.observed)
    return tuple((pointer, *values) for pointer, values in found.items())


def _by_note(entries: tuple[Entry, ...]) -> Mapping[str, int]:
    return dict(sorted(Counter(entry.note for entry in entries).items()))


def _groups(report: Report) -> Iterator[Group]:
    families: dict[str, dict[str, Counter[Verdict]]] = {}
    for entry in report.entries:
        family, _, topic = entry.topic.partition("/")
        topics = families.setdefault(family, {})
        topics.setdefault(topic or "random sequences", Counter())[entry.verdict] += 1
    for family, topics in families.items():
        yield Group(
            name=family,
            topics=tuple(topics.items()),
            counts=sum(topics.values(), Counter[Verdict]()),
        )


def _file(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("wayproof.conformance.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "sentence": sentence,
        "several": several,
        "kind": kind_in_words,
        "json": text_of,
        "pretty": pretty,
        "shortened": shortened,
        "allowed_answers": allowed_answers,
        "answer_differences": answer_differences,
        "state_changes": state_changes,
    }
    return environment
