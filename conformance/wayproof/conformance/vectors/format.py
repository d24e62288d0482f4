"""A vector: one short story of requests, with everything that a backend must answer.

A vector file is JSON Lines: one vector on each line, in canonical JSON (UTF-8, sorted keys,
integers only, no needless whitespace), lines ended by LF. The reader refuses any other spelling,
so equal vectors are equal bytes.

**Names.** In ``arguments`` and expectations a string ``"$NAME"`` stands for a whole JSON value:
a constant of ``config.constants``, or a value bound from an earlier reply by ``bind``. A literal
string that begins with ``$`` is written with one ``$`` more. ``bind`` names what a reply makes
anew (a journey, a run, a fencing token), each once. ``{"$number": "1.5"}`` stands for the JSON
number of that spelling, where a request must hold one that is no exact integer.

**States.** The projection is what can be read of all bound journeys (``run/projection.py``), with
the bound names in the place of server-made identities and without record versions. It is empty,
``{}``, at the start. A step that carries ``digest`` says exactly how it stands after the step;
``changes`` says how it differs from the last state that was known. Where the contract allows
several states (something is due and no sweep has come yet), both are absent; then
``digest_one_of`` names every state that is allowed, unless there are too many to tell.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Discriminator, Field, StringConstraints, Tag

JsonValue = Any
"""A JSON value whose numbers are integers."""

FORMAT: Final = "wayproof-vector/1.0"
"""The format that is written. Every minor revision of major 1 is read."""

STRICT: dict[str, Any] = {"extra": "forbid", "strict": True}

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,31}$")]
"""A constant or a binding, written without its ``$``."""

ClauseId = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z_]*-\d{2,3}$")]
"""A clause of the contract's register."""

Pointer = Annotated[str, StringConstraints(pattern=r"^(/([^~/]|~[01])*)+$")]
"""A JSON Pointer to something inside a value."""

MomentText = Annotated[
    str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$")
]
"""A UTC moment in its one written form."""

StateDigest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
"""The first 32 hexadecimal digits of the SHA-256 of a projection's canonical JSON."""

MOST_DIGESTS: Final = 8
"""How many states a step can allow by name."""

StateDigests = Annotated[tuple[StateDigest, ...], Field(max_length=MOST_DIGESTS)]
"""The digests of all states that are allowed, in order; none, or two at least."""

ContractName = Annotated[str, StringConstraints(pattern=r"^[a-z]+/\d+$")]
"""A contract and its revision."""

FullDigest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
"""``sha256:`` and the whole SHA-256 of some canonical JSON."""

Word = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
"""A name of the contract's vocabulary: an operation, a code, a capability."""

Sentence = Annotated[str, StringConstraints(min_length=1, max_length=500)]

Changes = Mapping[Pointer, JsonValue]
"""JSON Pointer to new value, or to :data:`REMOVED`; see ``changes.py``."""

REMOVED: Final[dict[str, JsonValue]] = {"$removed": True}
"""The new value of what is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedAnswer:
    """The request is carried out and answers this."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    ok: JsonValue
    """The reply without record versions, names in the place of identities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalExpectation:
    """A code, and the part of the detail that the contract fixes."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    code: Word
    detail: Mapping[str, JsonValue] = field(default_factory=dict)
    """``outcome``, ``missing`` and ``journey_id``; what is absent here must be absent there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRefusal:
    """The request is refused with this."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    err: RefusalExpectation


def _shape(expectation: object) -> str | None:
    """Which expectation a JSON object is, so that a fault in it is reported of that one only."""
    for key, shape in _SHAPES.items():
        if isinstance(expectation, Mapping) and key in expectation:
            return shape
    name = type(expectation).__name__
    return name if name in _SHAPES.values() else None


_SHAPES: Final = {"ok": "ExpectedAnswer", "err": "ExpectedRefusal", "one_of": "ExpectedOneOf"}

_Answer = Annotated[ExpectedAnswer, Tag("ExpectedAnswer")]
_Refusal = Annotated[ExpectedRefusal, Tag("ExpectedRefusal")]
_AnswerOrRefusal = Annotated[_Answer | _Refusal, Discriminator(_shape)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedOneOf:
    """The contract allows each of these."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    one_of: Annotated[tuple[_AnswerOrRefusal, ...], Field(min_length=2)]


Expectation = ExpectedAnswer | ExpectedRefusal | ExpectedOneOf


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStep:
    """One request."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    do: Literal["call"] = "call"
    operation: Annotated[str, StringConstraints(min_length=1, max_length=128)]
    """Of the catalogue, except where the vector asks for an unknown one."""
    arguments: JsonValue
    bind: Mapping[Name, Pointer] = field(default_factory=dict)
    """Name to place in the answer."""
    expect: Annotated[
        _Answer | _Refusal | Annotated[ExpectedOneOf, Tag("ExpectedOneOf")],
        Discriminator(_shape),
    ]
    version: Literal["raised", "same", "any"] = "any"
    """The record version of the journey concerned against the last one seen of it: greater,
    equal, or merely not smaller."""
    clauses: tuple[ClauseId, ...] = ()
    """What a failure of this very step breaks; the vector's own, if there is none."""
    rests_on: tuple[int, ...] | None = None
    """Rulings that this step rests on; the vector's own, if it says nothing."""
    changes: Changes | None = None
    digest: StateDigest | None = None
    digest_one_of: StateDigests = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TickStep:
    """The clock moves; nothing else happens by it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    do: Literal["tick"] = "tick"
    to: MomentText
    clauses: tuple[ClauseId, ...] = ()
    rests_on: tuple[int, ...] | None = None
    changes: Changes | None = None
    digest: StateDigest | None = None
    digest_one_of: StateDigests = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepStep:
    """Everything that is due takes effect."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    do: Literal["sweep"] = "sweep"
    clauses: tuple[ClauseId, ...] = ()
    rests_on: tuple[int, ...] | None = None
    changes: Changes | None = None
    digest: StateDigest | None = None
    digest_one_of: StateDigests = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartStep:
    """The backend's process dies and comes back; the store stays."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    do: Literal["restart"] = "restart"
    clauses: tuple[ClauseId, ...] = ()
    rests_on: tuple[int, ...] | None = None
    changes: Changes | None = None
    digest: StateDigest | None = None
    digest_one_of: StateDigests = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconfigureStep:
    """The registry is edited; journeys keep what they pinned."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    do: Literal["reconfigure"] = "reconfigure"
    registry: Mapping[str, JsonValue]
    """The new registry, as a whole."""
    clauses: tuple[ClauseId, ...] = ()
    rests_on: tuple[int, ...] | None = None
    changes: Changes | None = None
    digest: StateDigest | None = None
    digest_one_of: StateDigests = ()


Step = CallStep | TickStep | SweepStep | RestartStep | ReconfigureStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the namespace is opened with, and the constants of the story."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    registry: Mapping[str, JsonValue] = field(default_factory=dict)
    withheld_capabilities: tuple[Word, ...] = ()
    constants: Mapping[Name, JsonValue] = field(default_factory=dict)
    """Literal values; no name is looked for inside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How the namespace stands before the first step: empty, at this moment."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    now: MomentText


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where the vector comes from. Nothing is judged by it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    generator: str
    labels: tuple[str, ...] = ()
    """The model's rule for each step, or none at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """One vector."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    format: Annotated[str, StringConstraints(pattern=r"^wayproof-vector/1\.(0|[1-9]\d{0,3})$")] = (
        FORMAT
    )
    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+/[a-z0-9-]+/\d{4}$")]
    """Family, topic, number: permanent, never given twice."""
    contract: ContractName = "journey/1"
    level: Literal["must", "should", "may"] = "must"
    title: Sentence
    why: Sentence
    """One plain sentence: what would go wrong in the world if a backend failed this."""
    clauses: Annotated[tuple[ClauseId, ...], Field(min_length=1)]
    rests_on: tuple[int, ...] = ()
    """Rulings; none means that the seed's own letter says so."""
    requires: tuple[Word, ...] = ()
    """Capabilities without which the vector does not apply."""
    config: Config
    start: Start
    steps: Annotated[
        tuple[Annotated[Step, Field(discriminator="do")], ...],
        Field(min_length=1, max_length=1000),
    ]
    origin: Origin
    final: Mapping[str, JsonValue] | None = None
    """The last state that is known, in full, for those who do not apply the steps' changes."""
    digest: FullDigest | None = None
    """Of this vector's canonical JSON without this field. Absent only before it is sealed."""

    @property
    def at_stake(self) -> tuple[str, ...]:
        """Every clause that the vector or one of its steps names, in order, each once."""
        named = (*self.clauses, *(clause for step in self.steps for clause in step.clauses))
        return tuple(sorted(set(named)))

    @property
    def family(self) -> str:
        """The first part of the id: its folder."""
        return self.id.split("/")[0]

    @property
    def topic(self) -> str:
        """The second part of the id: its file."""
        return self.id.split("/")[1]
