"""Strict decoding of requests and strict encoding of records: the contract's only boundary.

Built by pydantic from the annotations of ``requests.py`` and ``records.py``. An error names the
field by JSON Pointer, has a stable code, and never repeats what the request contained.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import CancelRequest, Request
from wayproof.spec.journey.vocabulary import CancellationReason

MAXIMUM_REQUEST_BYTES: Final = 65_536
"""A request's canonical JSON may have this many bytes of UTF-8."""

_UNREGISTERED: Final = re.compile(r"[A-Za-z0-9._:+@/-]{1,128}")

Record = TypeVar("Record")

__all__ = ["MAXIMUM_REQUEST_BYTES", "adapter", "decode", "decode_record", "detail_of", "encode"]

_PROBLEMS: Final = {
    "missing": "missing",
    "extra_forbidden": "unknown_field",
    "unexpected_keyword_argument": "unknown_field",
    "greater_than_equal": "out_of_bounds",
    "less_than_equal": "out_of_bounds",
    "int_parsing_size": "out_of_bounds",
    "string_too_short": "out_of_bounds",
    "string_too_long": "out_of_bounds",
    "too_short": "out_of_bounds",
    "too_long": "out_of_bounds",
    "string_pattern_mismatch": "wrong_form",
    "value_error": "wrong_form",
    "literal_error": "not_allowed",
    "enum": "not_allowed",
}


_ADAPTERS: Final[dict[type, TypeAdapter[Any]]] = {}


def adapter(record: type[Record]) -> TypeAdapter[Record]:
    """pydantic's adapter of one record type, built once."""
    if record not in _ADAPTERS:
        _ADAPTERS[record] = TypeAdapter(record)
    return _ADAPTERS[record]


def decode(operation: str, arguments: object) -> Request:
    """Decode and bound the arguments of one operation.

    Raises:
        Refusal: ``unknown_operation``, ``unsupported_schema_version``, ``invalid_request`` or
            ``unsupported_cancellation_reason``, with ``pointer`` and ``problem`` in its detail.
    """
    catalogued = OPERATIONS.get(operation)
    if catalogued is None:
        raise Refusal(RefusalCode.UNKNOWN_OPERATION)
    if operation == "cancel" and isinstance(arguments, Mapping):
        reason = arguments.get("reason_code")
        if isinstance(reason, str) and _UNREGISTERED.fullmatch(reason):
            # Everything else must be right before the reason itself is looked at.
            if reason not in frozenset(CancellationReason):
                decode_record(CancelRequest, {**arguments, "reason_code": "caller_requested"})
                raise Refusal(
                    RefusalCode.UNSUPPORTED_CANCELLATION_REASON, {"pointer": "/reason_code"}
                )
    return cast(Request, decode_record(catalogued.request, arguments))


def decode_record(record: type[Record], value: object) -> Record:
    """Decode one record from a JSON value; see :func:`decode` for what it raises."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise _invalid("", "not_json") from None
    if len(text) > MAXIMUM_REQUEST_BYTES:
        raise _invalid("", "too_large")
    try:
        return adapter(record).validate_json(text)
    except ValidationError as error:
        raise _refusal(error.errors(include_url=False, include_context=False)) from None


def _refusal(problems: list[ErrorDetails]) -> Refusal:
    for problem in problems:
        if problem["loc"][-1:] == ("schema_version",) and isinstance(problem["input"], str):
            return Refusal(
                RefusalCode.UNSUPPORTED_SCHEMA_VERSION, {"pointer": _pointer(problem["loc"])}
            )
    first = problems[0]
    name = _PROBLEMS.get(first["type"], "wrong_type")
    location = first["loc"]
    return _invalid(_pointer(location[:-1] if name == "unknown_field" else location), name)


def _pointer(location: tuple[int | str, ...]) -> str:
    return "".join(f"/{part}" for part in location)


def _invalid(pointer: str, problem: str) -> Refusal:
    return Refusal(RefusalCode.INVALID_REQUEST, {"pointer": pointer, "problem": problem})


def detail_of(record: object) -> Mapping[str, Any]:
    """A refusal detail that carries a record under ``outcome``."""
    return {"outcome": encode(record)}
