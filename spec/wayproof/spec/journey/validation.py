"""Strict decoding of requests and records: the contract's only boundary.

Built by pydantic from the annotations of ``requests.py`` and ``records.py``. An error names the
field by JSON Pointer and its problem by a closed word, and never repeats what the request
contained, unknown names of fields included.
"""

import json
import re
from collections.abc import Iterator
from enum import StrEnum, unique
from itertools import count
from typing import Any, Final, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import CancelRequest, Request
from wayproof.spec.journey.vocabulary import MAXIMUM_INTEGER, CancellationReason

__all__ = [
    "MAXIMUM_DEPTH",
    "MAXIMUM_REQUEST_BYTES",
    "Problem",
    "adapter",
    "decode",
    "decode_record",
    "detail_of",
    "encode",
    "well_formed_usage",
]

MAXIMUM_REQUEST_BYTES: Final = 65_536
"""A request's canonical JSON may have this many bytes of UTF-8. The ``usage`` of a response is
not counted: however long, it is evidence, and only a number is kept of it."""

MAXIMUM_DEPTH: Final = 16
"""How deep lists and objects may nest; no record is that deep."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")

Record = TypeVar("Record")


@unique
class Problem(StrEnum):
    """What is wrong with one field of an ``invalid_request``."""

    NOT_JSON = "not_json"
    """The request contains something that is no JSON value."""
    TOO_LARGE = "too_large"
    """The request has more than :data:`MAXIMUM_REQUEST_BYTES`."""
    TOO_DEEP = "too_deep"
    """The request is nested deeper than :data:`MAXIMUM_DEPTH`."""
    MISSING = "missing"
    """A required field is absent."""
    UNKNOWN_FIELD = "unknown_field"
    """The object has a field that its schema does not name; the pointer names the object."""
    WRONG_TYPE = "wrong_type"
    """Another JSON type than the schema's; true, 1.5 and 1.0 are no integers."""
    OUT_OF_BOUNDS = "out_of_bounds"
    """A number, text or list outside its bounds."""
    NOT_ALLOWED = "not_allowed"
    """None of the enumerated values."""
    WRONG_FORM = "wrong_form"
    """A text that does not match its pattern, or fields that do not go together."""


_PROBLEMS: Final = {
    "missing": Problem.MISSING,
    "extra_forbidden": Problem.UNKNOWN_FIELD,
    "unexpected_keyword_argument": Problem.UNKNOWN_FIELD,
    "greater_than_equal": Problem.OUT_OF_BOUNDS,
    "less_than_equal": Problem.OUT_OF_BOUNDS,
    "int_parsing_size": Problem.OUT_OF_BOUNDS,
    "string_too_short": Problem.OUT_OF_BOUNDS,
    "string_too_long": Problem.OUT_OF_BOUNDS,
    "too_short": Problem.OUT_OF_BOUNDS,
    "too_long": Problem.OUT_OF_BOUNDS,
    "string_pattern_mismatch": Problem.WRONG_FORM,
    "value_error": Problem.WRONG_FORM,
    "literal_error": Problem.NOT_ALLOWED,
    "enum": Problem.NOT_ALLOWED,
}
"""pydantic's types of error; every other one is a wrong type."""

_UNREGISTERED_REASON: Final = re.compile(r"[A-Za-z0-9._:+@/-]{1,128}")

_BEYOND_EVERY_BOUND: Final = 2**60
"""Stands for every integer that is greater still."""

_ADAPTERS: Final[dict[type, TypeAdapter[Any]]] = {}


def adapter(record: type[Record]) -> TypeAdapter[Record]:
    """The pydantic adapter of one record type, built once."""
    if record not in _ADAPTERS:
        _ADAPTERS[record] = TypeAdapter(record)
    return _ADAPTERS[record]


def decode(operation: object, arguments: object) -> Request:
    """Decode and bound the arguments of one operation.

    Whatever a provider reported as ``usage`` is reduced to a number, or to None if it is
    malformed (ruling 21), so that a bad report is still a good request.

    Raises:
        Refusal: ``unknown_operation``, ``unsupported_schema_version``, ``invalid_request`` or
            ``unsupported_cancellation_reason``; all but the first with the ``pointer`` of the
            field, ``invalid_request`` also with its ``problem``.
    """
    catalogued = OPERATIONS.get(operation) if isinstance(operation, str) else None
    if catalogued is None:
        raise Refusal(RefusalCode.UNKNOWN_OPERATION)
    if isinstance(arguments, dict):
        if operation == "report_response" and "usage" in arguments:
            arguments = {**arguments, "usage": well_formed_usage(arguments["usage"])}
        if operation == "cancel" and _is_unregistered(arguments.get("reason_code")):
            # Everything else must be right before the reason itself is looked at.
            decode_record(CancelRequest, {**arguments, "reason_code": "caller_requested"})
            raise Refusal(RefusalCode.UNSUPPORTED_CANCELLATION_REASON, {"pointer": "/reason_code"})
    return cast(Request, decode_record(catalogued.request, arguments))


def decode_record(record: type[Record], value: object) -> Record:
    """Decode one record from a JSON value; see :func:`decode` for what it raises."""
    text = json.dumps(
        _writable(value, depth=0, nodes=count(1)), ensure_ascii=False, separators=(",", ":")
    ).encode()
    if len(text) > MAXIMUM_REQUEST_BYTES:
        raise _invalid("", Problem.TOO_LARGE)
    try:
        return adapter(record).validate_json(text)
    except ValidationError as error:
        raise _refusal(error.errors(include_url=False, include_context=False)) from None


def well_formed_usage(usage: object) -> int | None:
    """The number, if it is an integer from 0 to 2**53-1; None if the usage is malformed."""
    if isinstance(usage, int) and not isinstance(usage, bool) and 0 <= usage <= MAXIMUM_INTEGER:
        return usage
    return None


def detail_of(record: object) -> dict[str, Any]:
    """A refusal detail that carries a record under ``outcome``."""
    return {"outcome": encode(record)}


def _is_unregistered(reason: object) -> bool:
    return (
        isinstance(reason, str)
        and _UNREGISTERED_REASON.fullmatch(reason) is not None
        and reason not in frozenset(CancellationReason)
    )


def _writable(value: object, *, depth: int, nodes: Iterator[int]) -> Any:
    """The value as JSON can write it. A leaf that UTF-8 or pydantic could not take is replaced by
    one that its field refuses for the same reason, so that the refusal still names the field.
    """
    if next(nodes) > MAXIMUM_REQUEST_BYTES:  # every node takes a byte or more
        raise _invalid("", Problem.TOO_LARGE)
    if depth > MAXIMUM_DEPTH:
        raise _invalid("", Problem.TOO_DEEP)
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return max(-_BEYOND_EVERY_BOUND, min(value, _BEYOND_EVERY_BOUND))
    if isinstance(value, str):
        return _writable_text(value)
    if isinstance(value, list | tuple):
        return [_writable(entry, depth=depth + 1, nodes=nodes) for entry in value]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {
            _writable_text(name): _writable(entry, depth=depth + 1, nodes=nodes)
            for name, entry in value.items()
        }
    raise _invalid("", Problem.NOT_JSON)


def _writable_text(text: str) -> str:
    """The text, or a control character, which no field accepts, for one with a lone surrogate."""
    return text if text.isascii() or not _SURROGATE.search(text) else "\x00"


def _refusal(problems: list[ErrorDetails]) -> Refusal:
    for problem in problems:
        if (
            problem["loc"][-1:] == ("schema_version",)
            and problem["type"] == "literal_error"
            and isinstance(problem["input"], str)
        ):
            return Refusal(
                RefusalCode.UNSUPPORTED_SCHEMA_VERSION, {"pointer": _pointer(problem["loc"])}
            )
    first = problems[0]
    name = _PROBLEMS.get(first["type"], Problem.WRONG_TYPE)
    location = first["loc"]
    return _invalid(_pointer(location[:-1] if name is Problem.UNKNOWN_FIELD else location), name)


def _pointer(location: tuple[int | str, ...]) -> str:
    return "".join(f"/{part}" for part in location)


def _invalid(pointer: str, problem: Problem) -> Refusal:
    return Refusal(RefusalCode.INVALID_REQUEST, {"pointer": pointer, "problem": problem.value})
