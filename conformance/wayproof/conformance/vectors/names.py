"""Names in vectors: ``"$NAME"`` stands for a value, ``"$$..."`` for a string that begins with $."""

import json
import re
from collections.abc import Callable, Iterator, Mapping

from wayproof.conformance.vectors.format import JsonValue

REFERENCE = re.compile(r"\$([A-Za-z][A-Za-z0-9_]{0,31})")

NUMBER = "$number"
"""The only key of an object that stands for the JSON number that it spells."""


class UnknownName(Exception):
    """A ``$NAME`` that is neither a constant nor bound by now."""


def substitute(value: JsonValue, names: Mapping[str, JsonValue]) -> JsonValue:
    """The value with each ``$NAME`` replaced by what it stands for.

    Raises:
        UnknownName: if a string begins with ``$`` and names nothing.
    """

    def replaced(text: str) -> JsonValue:
        if not text.startswith("$"):
            return text
        if text.startswith("$$"):
            return text[1:]
        match = REFERENCE.fullmatch(text)
        if match is None or match[1] not in names:
            raise UnknownName(f"{text} stands for nothing")
        return names[match[1]]

    return map_strings(_with_numbers(value), replaced)


def _with_numbers(value: JsonValue) -> JsonValue:
    if isinstance(value, Mapping):
        if value.keys() == {NUMBER}:
            return json.loads(value[NUMBER])
        return {key: _with_numbers(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_with_numbers(part) for part in value]
    return value


def literal(value: JsonValue) -> JsonValue:
    """The value written so that no string in it reads as a name."""
    return map_strings(value, lambda text: "$" + text if text.startswith("$") else text)


def referenced(value: JsonValue) -> Iterator[str]:
    """Each string of the value that is written as a name, the ``$`` included."""
    if isinstance(value, str):
        if value.startswith("$") and not value.startswith("$$"):
            yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from referenced(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from referenced(part)


def map_strings(value: JsonValue, change: Callable[[str], JsonValue]) -> JsonValue:
    """The value with each string (no key) changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: map_strings(part, change) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [map_strings(part, change) for part in value]
    return value
