"""One request and its reply, with the faults of the adapter kept apart from the backend's.

An adapter that raises, exits or answers what is no JSON value has told nothing about its
backend: that is a :class:`HarnessFault`. A JSON value that is not the record which the catalogue
promises is a :class:`Mismatch`, and the backend's own.
"""

import json
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from wayproof.conformance.protocol.backend import Answer, JsonValue, Refused, World
from wayproof.conformance.vectors.changes import copied
from wayproof.spec.journey.digests import canonical_json
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.validation import adapter

Returned = TypeVar("Returned")


class HarnessFault(Exception):
    """The adapter broke, or answered what is no reply."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.trace = trace


class Mismatch(Exception):
    """The backend did something that the contract never allows, whatever the vector expects."""

    def __init__(
        self, kind: str, expected: JsonValue, observed: JsonValue, clauses: tuple[str, ...] = ()
    ) -> None:
        super().__init__(f"{kind}: expected {expected}")
        self.kind = kind
        self.expected = expected
        self.observed = observed
        self.clauses = clauses


class StoreUnavailable(Exception):
    """The store could not commit or be read, which the contract always allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A request that was carried out."""

    value: JsonValue
    record: Any
    """The same as the record of ``wayproof.spec`` that the catalogue promises, or None."""
    record_version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """A request that was refused."""

    code: str
    detail: Mapping[str, JsonValue]
    record_version: int | None


def guarded(action: Callable[[], Returned]) -> Returned:
    """What a call into the adapter returns.

    Raises:
        HarnessFault: if it raises anything but the user's own interrupt, an exit included.
    """
    try:
        return action()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        name = type(error).__name__
        raise HarnessFault(f"the adapter raised {name}", traceback.format_exc()) from None


def ask(world: World, operation: str, arguments: JsonValue) -> Answered | Declined:
    """Send one request, and check the form of its reply.

    Raises:
        HarnessFault: if the adapter raises, or returns what is no reply.
        Mismatch: if an answer is not the record that the catalogue promises.
    """
    sent = copied(arguments)  # an adapter may take apart what it is given
    reply: object = guarded(lambda: world.call(operation, sent))
    if not isinstance(reply, Answer | Refused):
        raise HarnessFault(f"{operation} returned {type(reply).__name__}, which is no reply")
    version: object = reply.record_version
    if version is not None and (type(version) is not int or version < 1):
        raise HarnessFault(f"{operation} returned a record version that is no positive integer")
    if isinstance(reply, Refused):
        detail = json.loads(_text(operation, reply.detail))
        code: object = reply.code
        if not isinstance(code, str) or not isinstance(detail, dict):
            raise HarnessFault(f"{operation} was refused without a code and an object as detail")
        return Declined(code=str(code), detail=detail, record_version=version)
    text = _text(operation, reply.value)
    value = json.loads(text)
    return Answered(value=value, record=_record(operation, value, text), record_version=version)


def _text(operation: str, value: object) -> bytes:
    try:
        return canonical_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise HarnessFault(f"{operation} returned what is no JSON value: {error}") from None


def _record(operation: str, value: JsonValue, text: bytes) -> object:
    catalogued = OPERATIONS.get(operation)
    if catalogued is None:
        raise Mismatch("reply", "a refusal: there is no such operation", value)
    if value is None and catalogued.nullable:
        return None
    try:
        record: object = adapter(catalogued.reply).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = "".join(f"/{part}" for part in first["loc"])
        expected = f"{catalogued.reply.__name__}; at {place or '/'}: {first['msg']}"
        raise Mismatch("record", expected, value) from None
    return record
