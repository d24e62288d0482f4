"""The results document: everything that the report formats are made from.

A run is a header, one entry for each result in the order of ids, its times, and an end. Times
stand apart, in one record of their own: all else is the same whenever the same backend gives the
same results. ``ndjson.py`` writes and reads it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from inspect import getsourcefile, getsourcelines
from typing import Any, ClassVar, Final, Literal

import wayproof.model.journey.step  # noqa: F401 - it registers every rule
from wayproof.conformance.report.failure import failure_text
from wayproof.conformance.report.summary import Summary, conclusion
from wayproof.conformance.run.check import Begun, Check
from wayproof.conformance.run.verdict import Divergence, Result, Verdict
from wayproof.conformance.vectors.changes import UnfittingChange, value_at
from wayproof.conformance.vectors.format import (
    REMOVED,
    STRICT,
    CallStep,
    JsonValue,
    Step,
    TickStep,
    Vector,
)
from wayproof.conformance.vectors.writer import to_json
from wayproof.model.journey.transition import RULES

FORMAT: Final = "wayproof-results/1.0"

LIFECYCLE: Final = "/snapshot/lifecycle_state"
"""How the pointer to a journey's lifecycle state ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The backend, as it was named by the user and as it introduced itself."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    given: str
    name: str
    version: str
    capabilities: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What was judged, and by what."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    record: Literal["header"] = "header"
    format: Literal["wayproof-results/1.0"] = "wayproof-results/1.0"
    contract: str
    backend: Judged
    only: str
    """The glob of what was played; ``*`` is everything."""
    fresh: int
    seed: int | None
    command: str
    """What an entry's own arguments are added to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTold:
    """The rule of the model that decides a step, and where its source stands."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    label: str
    place: str
    """File and line, or nothing for a label that is no rule's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTold:
    """One step that was played."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    action: str
    arguments: JsonValue = None
    expected: JsonValue = None
    """The expected answer of a call."""
    changes: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the step is expected to change, where that is a single value, by JSON Pointer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One place where two states differ; what is absent is ``{"$removed": true}``."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    pointer: str
    before: JsonValue
    expected: JsonValue
    observed: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class DivergenceTold:
    """The first step at which the backend did something else than the contract allows."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    step: int
    """From 0."""
    action: str
    kind: str
    expected: JsonValue
    observed: JsonValue
    clauses: tuple[str, ...]
    rests_on: tuple[int, ...]
    before: JsonValue
    """The state that was expected before the step; empty where it was not known."""
    differences: tuple[Difference, ...]
    rules: tuple[RuleTold, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What was played: up to the step at which it diverged, if it did."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    now: str
    """The moment at which it starts."""
    constants: Mapping[str, JsonValue]
    steps: tuple[StepTold, ...]
    unplayed: int
    """How many steps were left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One result. Of a pass only the first fields are told."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    record: Literal["result"] = "result"
    id: str
    title: str
    verdict: Verdict
    level: str
    commands: int
    clauses: tuple[str, ...] = ()
    """What it puts at stake."""
    transitions: tuple[tuple[str, str], ...] = ()
    """Lifecycle transitions that were seen and are as expected."""
    note: str = ""
    trace: str = ""
    replay: str = ""
    """The whole command."""
    message: str = ""
    """All of it as text."""
    divergence: DivergenceTold | None = None
    story: Story | None = None

    @property
    def topic(self) -> str:
        """The id without its number."""
        return self.id.rpartition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Everything that differs from run to run though the results are the same."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    record: Literal["times"] = "times"
    finished: str
    """A UTC moment."""
    milliseconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """What it comes to. Without it the document is cut off."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    record: Literal["end"] = "end"
    counts: Mapping[Verdict, int]
    """All seven."""
    commands: int
    cut_short: bool
    conclusion: str
    exit_code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One whole results document."""

    header: Header
    entries: tuple[Entry, ...]
    times: Times
    end: End

    def having(self, *verdicts: Verdict) -> tuple[Entry, ...]:
        """The entries with one of these verdicts."""
        return tuple(entry for entry in self.entries if entry.verdict in verdicts)


def header_of(check: Check, begun: Begun) -> Header:
    """The header of a check that has begun."""
    return Header(
        contract=begun.contract,
        backend=Judged(
            given=check.backend,
            name=begun.hello.name,
            version=begun.hello.version,
            capabilities=tuple(begun.hello.capabilities),
        ),
        only=check.only,
        fresh=begun.fresh,
        seed=begun.seed,
        command=begun.replay,
    )


def end_of(summary: Summary) -> End:
    """The end of a check that is over."""
    return End(
        counts=summary.counts,
        commands=summary.commands,
        cut_short=summary.cut_short,
        conclusion=conclusion(summary),
        exit_code=summary.exit_code,
    )


def entry_of(result: Result, vector: Vector | None, command: str) -> Entry:
    """What is told of a result; ``vector`` is what was played, where that is known."""
    entry = Entry(
        id=result.id,
        title=result.title,
        verdict=result.verdict,
        level=result.level,
        commands=result.commands,
        clauses=vector.at_stake if vector and not result.clauses else result.clauses,
        transitions=result.transitions,
    )
    if result.verdict is Verdict.PASS:
        return entry
    divergence = result.divergence
    return replace(
        entry,
        note=result.note,
        trace=result.trace,
        replay=f"{command} {result.replay}" if result.replay else "",
        message=failure_text(result, command),
        divergence=None if divergence is None else _divergence(divergence, vector),
        story=None if vector is None or divergence is None else _story(vector, divergence.step),
    )


def _divergence(divergence: Divergence, vector: Vector | None) -> DivergenceTold:
    return DivergenceTold(
        step=divergence.step,
        action=divergence.action,
        kind=divergence.kind,
        expected=divergence.expected,
        observed=divergence.observed,
        clauses=divergence.clauses,
        rests_on=divergence.rests_on,
        before=divergence.before,
        differences=tuple(
            Difference(
                pointer=pointer,
                before=_at(divergence.before, pointer),
                expected=expected,
                observed=observed,
            )
            for pointer, (expected, observed) in divergence.differences.items()
        ),
        rules=tuple(_rules(vector, divergence.step)) if vector else (),
    )


def _rules(vector: Vector, step: int) -> Iterator[RuleTold]:
    labels = vector.origin.labels[step : step + 1]
    for label in labels[0].split("+") if labels else ():
        if label in RULES:
            source = RULES[label].source
            file = getsourcefile(source) or ""
            place = f"{file[file.rfind('wayproof/') :]}:{getsourcelines(source)[1]}"
            yield RuleTold(label=label, place=place)


def _story(vector: Vector, last: int) -> Story:
    played = vector.steps[: last + 1]
    return Story(
        now=vector.start.now,
        constants=vector.config.constants,
        steps=tuple(map(_step, played)),
        unplayed=len(vector.steps) - len(played),
    )


def _step(step: Step) -> StepTold:
    changes = {
        pointer: value
        for pointer, value in (step.changes or {}).items()
        if not isinstance(value, Mapping | list)
    }
    if isinstance(step, CallStep):
        return StepTold(
            action=f"call {step.operation}",
            arguments=step.arguments,
            expected=to_json(step.expect),
            changes=changes,
        )
    action = f"tick to {step.to}" if isinstance(step, TickStep) else step.do
    return StepTold(action=action, changes=changes)


def _at(state: JsonValue, pointer: str) -> JsonValue:
    try:
        return value_at(state, pointer)
    except UnfittingChange:
        return REMOVED
