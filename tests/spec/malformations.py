"""Every way in which a field of a request can be malformed, derived from the request's type.

The types are walked, so no field and no operation can be forgotten, and a kind of field that is
new here stops the walk.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from enum import EnumMeta
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from tests.spec.samples import good_request

from wayproof.spec.journey.constraints import Bounds, Items, Text
from wayproof.spec.journey.operations import OPERATIONS

Path = tuple[str | int, ...]

SCHEMA = "unsupported_schema_version"
INVALID = "invalid_request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformation:
    """One bad value for one field, and how it is refused."""

    what: str
    value: Any
    problem: str | None
    """Absent where the refusal has no problem in its detail."""
    code: str = INVALID


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRequest:
    """One good request with one thing wrong, and how it is refused."""

    operation: str
    what: str
    arguments: Any
    code: str
    pointer: str
    problem: str | None

    def __str__(self) -> str:
        return f"{self.operation} {self.pointer or '(whole)'}: {self.what}"


def bad_requests(operation: str, good: Any = None) -> Iterator[BadRequest]:
    """Every bad request of one operation: the good one, or another good one, spoilt."""
    good = good or good_request(operation)
    for what, arguments in (
        ("null instead of an object", None),
        ("a list instead of an object", []),
        ("a text instead of an object", "x"),
        ("a number instead of an object", 1),
        ("true instead of an object", True),
    ):
        yield BadRequest(
            operation=operation,
            what=what,
            arguments=arguments,
            code=INVALID,
            pointer="",
            problem="wrong_type",
        )
    yield from _bad_records(operation, good, OPERATIONS[operation].request, ())


def field_pointers(operation: str) -> set[str]:
    """The pointer of every field that :func:`bad_requests` spoils, list entries included."""
    return {pointer_of(path) for path, _, _ in walk(OPERATIONS[operation].request)}


def pointer_of(path: Path) -> str:
    return "".join(f"/{part}" for part in path)


def at(arguments: Any, path: Path) -> Any:
    """The value at a path."""
    for part in path:
        arguments = arguments[part]
    return arguments


def with_value(arguments: Any, path: Path, value: Any) -> Any:
    """A copy of the arguments with another value at a path."""
    if not path:
        return value
    changed = deepcopy(arguments)
    at(changed, path[:-1])[path[-1]] = value
    return changed


def walk(record: type, path: Path = ()) -> Iterator[tuple[Path, Any, bool]]:
    """The path, type and nullability of every field and list entry below a record."""
    hints = get_type_hints(record, include_extras=True)
    for field in fields(record):
        yield from _walk_value(hints[field.name], (*path, field.name))


def base_of(hint: Any) -> Any:
    """A field's type without its bounds."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _walk_value(hint: Any, path: Path) -> Iterator[tuple[Path, Any, bool]]:
    hint, nullable = _without_null(hint)
    yield path, hint, nullable
    base = base_of(hint)
    if isinstance(base, type) and is_dataclass(base):
        yield from walk(base, path)
    elif get_origin(base) is tuple:
        yield from _walk_value(get_args(base)[0], (*path, 0))


def _without_null(hint: Any) -> tuple[Any, bool]:
    arguments = get_args(hint)
    if NoneType in arguments and get_origin(hint) is not Literal:
        (other,) = (argument for argument in arguments if argument is not NoneType)
        return other, True
    return hint, False


def _bad_records(operation: str, good: Any, record: type, path: Path) -> Iterator[BadRequest]:
    yield from _spoilt_objects(operation, good, record, path)
    for field_path, hint, nullable in walk(record, path):
        base = base_of(hint)
        if isinstance(base, type) and is_dataclass(base):
            yield from _spoilt_objects(operation, good, base, field_path)
        for malformation in malformations(operation, field_path, hint, at(good, field_path)):
            yield BadRequest(
                operation=operation,
                what=malformation.what,
                arguments=with_value(good, field_path, malformation.value),
                code=malformation.code,
                pointer=pointer_of(field_path),
                problem=malformation.problem,
            )
        if not nullable and hint is not Any:
            yield BadRequest(
                operation=operation,
                what="null",
                arguments=with_value(good, field_path, None),
                code=INVALID,
                pointer=pointer_of(field_path),
                problem="not_allowed" if _is_enumerated(hint) else "wrong_type",
            )


def _spoilt_objects(operation: str, good: Any, record: type, path: Path) -> Iterator[BadRequest]:
    """One object with a missing field, or with an unknown one."""
    for field in fields(record):
        if field.default is MISSING and field.default_factory is MISSING:
            value = dict(at(good, path))
            del value[field.name]
            yield BadRequest(
                operation=operation,
                what=f"{field.name} is missing",
                arguments=with_value(good, path, value),
                code=INVALID,
                pointer=pointer_of((*path, field.name)),
                problem="missing",
            )
    for name in ("extra", "journey_key", "journey_instance_id", "", "\ud800", "~/\x00", "x" * 5000):
        yield BadRequest(
            operation=operation,
            what=f"an unknown field {ascii(name)[:20]}",
            arguments=with_value(good, path, {**at(good, path), name: "value"}),
            code=INVALID,
            pointer=pointer_of(path),
            problem="unknown_field",
        )


def malformations(operation: str, path: Path, hint: Any, good: Any) -> Iterator[Malformation]:
    """Every malformation of one field that has this good value."""
    base, *markers = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if base is Any:
        return  # usage: every JSON value is well-formed evidence
    if _is_enumerated(base):
        yield from _bad_choices(operation, path)
    elif base is str:
        (text,) = markers
        yield from _bad_texts(text)
    elif base is int:
        (bounds,) = markers
        yield from _bad_integers(bounds)
    elif base is bool:
        yield from _wrong_types(int, float, str, list, dict)
    elif base is datetime:
        yield from _bad_moments()
    elif get_origin(base) is tuple:
        (items,) = markers
        yield from _bad_lists(items, good)
    elif is_dataclass(base):
        yield from _wrong_types(list, str, int, float, bool)
    else:
        raise TypeError(f"nobody says how {pointer_of(path)} of {operation} can be malformed")


def _is_enumerated(hint: Any) -> bool:
    return get_origin(hint) is Literal or isinstance(hint, EnumMeta)


_TYPES: dict[type, Any] = {
    bool: True,
    int: 1,
    float: 1.5,
    str: "text",
    list: [],
    dict: {"some": "object"},
}


def _wrong_types(*types: type, problem: str = "wrong_type") -> Iterator[Malformation]:
    for wrong in types:
        yield Malformation(what=f"a {wrong.__name__}", value=_TYPES[wrong], problem=problem)


def _bad_choices(operation: str, path: Path) -> Iterator[Malformation]:
    if path[-1] == "schema_version":
        for version in ("wayproof.journey.start_request.v2", "v1", "", "x" * 1000, "\ud800"):
            yield Malformation(
                what=f"version {ascii(version)[:40]}", value=version, problem=None, code=SCHEMA
            )
    elif (operation, path) == ("cancel", ("reason_code",)):
        yield Malformation(
            what="an unregistered reason",
            value="weather",
            problem=None,
            code="unsupported_cancellation_reason",
        )
    else:
        yield Malformation(what="an unknown word", value="weather", problem="not_allowed")
    if path[-1] != "schema_version":
        for word in ("", "two words", "\x00", "\ud800", "x" * 1000):
            yield Malformation(what=f"{ascii(word)[:20]}", value=word, problem="not_allowed")
    yield from _wrong_types(bool, int, float, list, dict, problem="not_allowed")


def _bad_texts(text: Text) -> Iterator[Malformation]:
    yield Malformation(what="too long", value="x" * (text.maximum + 1), problem="out_of_bounds")
    yield Malformation(what="far too long", value="x" * 50_000, problem="out_of_bounds")
    if text.minimum:
        yield Malformation(what="empty", value="", problem="out_of_bounds")
    for character in "\x00\x01\x08\x0b\x0c\x0e\x1f\x7f\ud800\udfff":
        yield Malformation(
            what=f"the character {character!a}", value=f"a{character}b", problem="wrong_form"
        )
    if text.minimum:  # an identifier or a reference
        for bad in (
            "two words",
            "tab\tbed",
            "line\n",
            "\n",
            "r\r",
            "\N{LATIN SMALL LETTER A WITH DIAERESIS}",
            "\u2028",
            "\ufeff",
        ):
            yield Malformation(what=f"the text {bad!a}", value=bad, problem="wrong_form")
    yield from _wrong_types(bool, int, float, list, dict)


def _bad_integers(bounds: Bounds) -> Iterator[Malformation]:
    for number in (
        bounds.minimum - 1,
        bounds.maximum + 1,
        -1,
        2**53,
        2**63,
        2**64,
        -(2**63) - 1,
        10**400,
        10**5000,
        -(10**5000),
    ):
        yield Malformation(
            what=f"the number {number:.3g}" if abs(number) < 10**300 else "a huge number",
            value=number,
            problem="out_of_bounds",
        )
    for fraction in (1.0, 1.5, -0.0, 1e300, float("nan"), float("inf"), float("-inf")):
        yield Malformation(what=f"the fraction {fraction}", value=fraction, problem="wrong_type")
    yield Malformation(what="a number as text", value="1", problem="wrong_type")
    yield from _wrong_types(bool, str, list, dict)


def _bad_moments() -> Iterator[Malformation]:
    for moment in (
        "2030-01-01T00:00:00.000",
        "2030-01-01 00:00:00.000Z",
        "2030-01-01T00:00:00.000+01:00",
        "2030-01-01T00:00:00.000-00:00",
        "2030-01-01T00:00:00.0001Z",
        "2030-01-01T00:00:00.000001+00:00",
        "2030-01-01T00:00:00.Z",
        "2030-01-01T00:00:00.000z",
        "2030-01-01t00:00:00.000Z",
        "2030-01-01T00:00:00.000Z\n",
        " 2030-01-01T00:00:00.000Z",
        "2030-01-01T00:00:00.000ZZ",
        "2030-01-01T00:00Z",
        "2030-01-01",
        "2030-1-1T00:00:00Z",
        "2030-02-30T00:00:00.000Z",
        "2030-02-29T00:00:00.000Z",
        "2030-13-01T00:00:00.000Z",
        "2030-00-01T00:00:00.000Z",
        "2030-01-00T00:00:00.000Z",
        "2030-01-01T24:00:00.000Z",
        "2030-01-01T00:60:00.000Z",
        "2030-01-01T00:00:60.000Z",
        "1969-12-31T23:59:59.999Z",
        "0000-01-01T00:00:00.000Z",
        "10000-01-01T00:00:00.000Z",
        "-2030-01-01T00:00:00.000Z",
        "\uff12\uff10\uff13\uff10-01-01T00:00:00.000Z",
        "1893456000000",
        "now",
        "",
        "\x00",
        "\ud800",
    ):
        yield Malformation(what=f"the moment {moment!a}", value=moment, problem="wrong_form")
    yield Malformation(
        what="a long moment",
        value="2030-01-01T00:00:00.0000000000000000000000Z",
        problem="out_of_bounds",
    )
    yield Malformation(what="a very long text", value="2" * 50_000, problem="out_of_bounds")
    yield Malformation(
        what="milliseconds since 1970", value=1_893_456_000_000, problem="wrong_type"
    )
    yield Malformation(what="NaN", value=float("nan"), problem="wrong_type")
    yield from _wrong_types(bool, float, list, dict)


def _bad_lists(items: Items, good: list[Any]) -> Iterator[Malformation]:
    yield Malformation(
        what="too many entries",
        value=[good[0]] * (items.maximum + 1),
        problem="out_of_bounds",
    )
    if items.minimum:
        yield Malformation(what="no entries", value=[], problem="out_of_bounds")
    yield Malformation(what="an object like a list", value={"0": good[0]}, problem="wrong_type")
    yield from _wrong_types(bool, int, float, str, dict)


CROSS_FIELD: dict[str, list[tuple[str, Path, Callable[[Any], Any], str]]] = {
    "start": [
        (
            "delete with a moment",
            ("policy", "partial_artifact_policy"),
            lambda value: {**value, "on_non_success": "delete"},
            "wrong_form",
        ),
        (
            "retain_until without a moment",
            ("policy", "partial_artifact_policy"),
            lambda value: {"on_non_success": "retain_until"},
            "wrong_form",
        ),
    ],
    "claim_attempt": [
        (
            "one counter twice",
            (),
            lambda value: {**value, "counters": ["task_attempt_starts"] * 2},
            "wrong_form",
        )
    ],
}
"""What no single field shows: by hand, since no type says it."""

MALFORMED_USAGE: list[Any] = [
    None,
    True,
    False,
    -1,
    2**53,
    10**400,
    -(10**5000),
    1.0,
    1.5,
    float("nan"),
    float("inf"),
    "100",
    "\ud800",
    "\x00",
    "x" * 100_000,
    [100],
    {"total_tokens": 100},
    {1: 2},
    b"bytes",
    object(),
]
"""What a provider may report that is no usage: an outcome of its own, and no bad request."""
