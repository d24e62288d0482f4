"""Records as JSON values, with the standard library alone."""

from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from wayproof.spec.journey.constraints import format_moment


def encode(value: object) -> Any:
    """The JSON value of a record: dataclasses become objects with every field, tuples lists,
    moments their one written form, enumeration members their values.

    Raises:
        TypeError: for anything that no record can hold.
    """
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return format_moment(value)
    if isinstance(value, tuple):
        return [encode(entry) for entry in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    raise TypeError(f"no record holds a {type(value).__name__}")
