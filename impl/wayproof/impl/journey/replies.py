"""What a service answers: an answer or a refusal, with the record version after it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wayproof.spec.journey.refusals import RefusalCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A request that was carried out."""

    value: Any
    """The reply record of the catalogue as a JSON value."""
    record_version: int
    """Of the journey that it concerns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A request that was not."""

    code: RefusalCode
    detail: Mapping[str, Any] = field(default_factory=dict)
    record_version: int | None = None
    """Of the journey that it concerns; absent where none may be revealed."""


Reply = Answered | Refused
