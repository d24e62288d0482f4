"""What the play of one vector can come to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum, unique

from wayproof.conformance.vectors.format import JsonValue, Vector


@unique
class Verdict(StrEnum):
    """The seven verdicts, in the order in which they are counted."""

    PASS = "pass"
    FAIL = "fail"
    KNOWN_FAIL = "known-fail"
    """It fails as its author declared."""
    STALE_KNOWN = "stale-known"
    """It was declared to fail, and passes."""
    NOT_APPLICABLE = "not-applicable"
    """It needs a capability that the backend does not advertise."""
    UNDECIDED = "undecided"
    """Neither: the store could not commit, or the vector could not be gone on with."""
    HARNESS_FAULT = "harness-fault"
    """The adapter broke: nothing is known of the backend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """The first step at which a backend did something else than the contract allows."""

    step: int
    """Its index, from 0."""
    action: str
    """What was done, such as ``call reserve``."""
    kind: str
    """``reply``, ``code``, ``detail``, ``record``, ``version``, ``state``, ``order``,
    ``identity`` or ``read``."""
    expected: JsonValue
    observed: JsonValue
    clauses: tuple[str, ...]
    rests_on: tuple[int, ...]
    """The rulings that the expectation rests on; none means that the seed itself is broken."""
    before: JsonValue = None
    """The state that was expected before the step, where it was known."""
    differences: Mapping[str, tuple[JsonValue, JsonValue]] = field(default_factory=dict)
    """The states after the step, where they differ: JSON Pointer to expected and observed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The verdict on one vector, and what there is to say about it."""

    id: str
    title: str
    verdict: Verdict
    level: str = "must"
    clauses: tuple[str, ...] = ()
    """What it puts at stake; unknown of a fresh sequence that passes."""
    transitions: tuple[tuple[str, str], ...] = ()
    """The lifecycle transitions that were seen and are as expected, each once."""
    divergence: Divergence | None = None
    note: str = ""
    """Why it does not apply, is undecided, or could not be judged."""
    at_stake: tuple[str, ...] = ()
    """What the step is about that could not be judged, if the adapter broke."""
    trace: str = ""
    """The adapter's traceback, if it broke."""
    commands: int = 0
    """How many steps were carried out, reads of the state not counted."""
    seconds: float = 0.0
    replay: str = ""
    """The arguments of ``wayproof check`` that play just this again."""
    vector: Vector | None = None
    """What was played, if it failed and no file holds it."""
