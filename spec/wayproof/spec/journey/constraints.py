"""Bounds of the contract's fields, written as annotations on standard-library dataclasses.

Each marker tells pydantic, through the documented ``__get_pydantic_core_schema__`` hook, how
to validate and to write one field. The contract types themselves need no pydantic.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from wayproof.spec.journey.vocabulary import MAXIMUM_INTEGER

type_of_schema = dict[str, Any]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LATEST_MOMENT: Final = datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)
"""The last moment a record can hold; derived moments beyond it are clamped to it (ruling 50)."""


def to_milliseconds(moment: datetime) -> int:
    """Whole milliseconds since 1970-01-01T00:00:00Z of a timezone-aware moment (ruling 32)."""
    return (moment - EPOCH) // timedelta(milliseconds=1)


def from_milliseconds(milliseconds: int) -> datetime:
    """The UTC moment of that many milliseconds since 1970, at most :data:`LATEST_MOMENT`."""
    return min(EPOCH + timedelta(milliseconds=milliseconds), LATEST_MOMENT)


LATEST_MILLISECONDS: Final = to_milliseconds(LATEST_MOMENT)


def format_moment(moment: datetime) -> str:
    """The one written form of a moment: ``2030-01-01T00:00:00.000Z``."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


_MOMENT: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,3}0*)?(?:Z|\+00:00)", re.ASCII
)


def parse_moment(value: object) -> datetime:
    """Read a moment: RFC 3339, UTC (``Z`` or ``+00:00``), whole milliseconds, year 1970 to 9999.

    Raises:
        ValueError: for anything else; the message never contains the value.
    """
    if isinstance(value, datetime):
        if value.utcoffset() != timedelta(0) or value.microsecond % 1000 or value < EPOCH:
            raise ValueError("not a whole millisecond in UTC since 1970")
        return value.astimezone(UTC)
    if not isinstance(value, str) or len(value) > 40 or not _MOMENT.fullmatch(value):
        raise ValueError("not an RFC 3339 moment in UTC with whole milliseconds")
    body, _, fraction = value.removesuffix("Z").removesuffix("+00:00").partition(".")
    moment = datetime.strptime(body, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
    moment += timedelta(milliseconds=int(fraction.ljust(3, "0")[:3])) if fraction else timedelta(0)
    if moment < EPOCH:
        raise ValueError("before 1970")
    return moment


@dataclass(frozen=True, slots=True)
class Bounds:
    """An integer from ``minimum`` to ``maximum``, both included; no boolean, no float."""

    minimum: int
    maximum: int = MAXIMUM_INTEGER

    def __get_pydantic_core_schema__(
        self, source: Any, handler: Callable[[Any], Any]
    ) -> type_of_schema:
        return {"type": "int", "strict": True, "ge": self.minimum, "le": self.maximum}


@dataclass(frozen=True, slots=True)
class Text:
    """A string of ``minimum`` to ``maximum`` characters that matches ``pattern`` as a whole."""

    maximum: int
    minimum: int = 1
    pattern: str = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$"
    """By default anything but control characters (tab and line breaks are allowed)."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: Callable[[Any], Any]
    ) -> type_of_schema:
        return {
            "type": "str",
            "strict": True,
            "min_length": self.minimum,
            "max_length": self.maximum,
            "pattern": self.pattern,
        }

    def __get_pydantic_json_schema__(
        self, schema: Any, handler: Callable[[Any], Any]
    ) -> type_of_schema:
        written: type_of_schema = handler(schema)
        if not re.fullmatch(self.pattern, "\n"):
            # Some engines let `$` match before a final line break too.
            written["not"] = {"pattern": "\\n"}
        return written


@dataclass(frozen=True, slots=True)
class Items:
    """A list of at most ``maximum`` and at least ``minimum`` entries."""

    maximum: int
    minimum: int = 0
    unique: bool = False
    """Whether the published schema says that no entry comes twice; the record checks it."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: Callable[[Any], Any]
    ) -> type_of_schema:
        return {**handler(source), "min_length": self.minimum, "max_length": self.maximum}

    def __get_pydantic_json_schema__(
        self, schema: Any, handler: Callable[[Any], Any]
    ) -> type_of_schema:
        written: type_of_schema = handler(schema)
        return {**written, "uniqueItems": True} if self.unique else written


@dataclass(frozen=True, slots=True)
class UtcMoment:
    """A timezone-aware UTC datetime with whole milliseconds; an RFC 3339 string in JSON."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: Callable[[Any], Any]
    ) -> type_of_schema:
        parse = {"type": "no-info", "function": parse_moment}
        text = {"type": "str", "strict": True, "max_length": 40}
        return {
            "type": "json-or-python",
            "json_schema": {"type": "function-after", "schema": text, "function": parse},
            "python_schema": {"type": "function-plain", "function": parse},
            "serialization": {
                "type": "function-plain",
                "function": format_moment,
                "when_used": "json",
            },
        }

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> type_of_schema:
        written = handler.mode == "serialization"
        return {
            "type": "string",
            "format": "date-time",
            "maxLength": 40,
            "pattern": _WRITTEN_MOMENT if written else _READABLE_MOMENT,
            "not": {"pattern": "\\n"},
        }


_DATE_AND_TIME: Final = (
    "^(19[7-9][0-9]|[2-9][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    "T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
)
_READABLE_MOMENT: Final = _DATE_AND_TIME + r"(\.[0-9]{1,3}0*)?(Z|\+00:00)$"
_WRITTEN_MOMENT: Final = _DATE_AND_TIME + r"\.[0-9]{3}Z$"
"""What the published schemas say of a moment that is read, and of one that is written."""

MAXIMUM_IDENTIFIER: Final = 128
"""Characters."""

Identifier = Annotated[str, Text(MAXIMUM_IDENTIFIER, pattern=r"^[A-Za-z0-9._:+@/-]+$")]
"""An opaque name: 1 to 128 ASCII letters, digits and ``. _ : + @ / -``."""

Reference = Annotated[str, Text(256, pattern=r"^[!-~]+$")]
"""An opaque typed reference, such as a digest: 1 to 256 visible ASCII characters."""

Moment = Annotated[datetime, UtcMoment()]
"""A UTC moment with whole milliseconds."""

Tokens = Annotated[int, Bounds(0)]
"""A number of tokens, 0 to 2**53-1."""

Count = Annotated[int, Bounds(0)]
"""How many of something, 0 to 2**53-1."""

Milliseconds = Annotated[int, Bounds(1, 86_400_000)]
"""A lease's length: 1 millisecond to one day."""

GraceSeconds = Annotated[int, Bounds(1, 31_536_000)]
"""A grace period: 1 second to 365 days."""

FencingToken = Annotated[int, Bounds(1)]
"""Grows with every owner lease of one journey; the latest unexpired one is live."""
