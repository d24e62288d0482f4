"""The generated pages of the documentation: the catalogue of operations, and the rulings."""

import inspect
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from wayproof.conformance.publish.docstrings import attribute_docstrings, summary
from wayproof.conformance.publish.schemas import (
    MARKER,
    NAMED_TEXTS,
    SCHEMA_FOLDER,
    Schema,
    public_records,
    schema_of,
    snake_case,
)
from wayproof.spec.journey import vocabulary
from wayproof.spec.journey.operations import COMMON_RULES, OPERATIONS, SWEEP_RULES
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.rulings import load_rulings
from wayproof.spec.journey.validation import (
    MAXIMUM_DEPTH,
    MAXIMUM_REQUEST_BYTES,
    Problem,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One row of a table of fields."""

    name: str
    values: str
    presence: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One row of a table of enumerated values."""

    value: str
    meaning: str


def page_files() -> dict[Path, bytes]:
    """Every generated page, by its path from the repository's root."""
    return {
        Path("docs/operations.md"): _rendered(
            "operations.md.jinja",
            operations=list(OPERATIONS.values()),
            common_rules=COMMON_RULES,
            sweep_rules=SWEEP_RULES,
            ladder=_ladder(),
            refusals=members_of(RefusalCode),
            problems=members_of(Problem),
            maximum_request_bytes=MAXIMUM_REQUEST_BYTES,
            maximum_depth=MAXIMUM_DEPTH,
            named_texts={name: meaning for name, (_, meaning) in NAMED_TEXTS.items()},
            records=public_records(),
            vocabulary=vocabulary,
            enumerations=_enumerations(),
            schema_folder=SCHEMA_FOLDER.as_posix(),
        ),
        Path("docs/rulings.md"): _rendered("rulings.md.jinja", rulings=load_rulings()),
    }


def fields_of(record: type) -> list[Field]:
    """The fields of a request or record, in the order of definition."""
    schema = schema_of(record, mode="validation")
    required = schema.get("required", [])
    return [
        Field(
            name=name,
            values=values_of(field),
            presence="required" if name in required else f"default {_written(field['default'])}",
            meaning=field.get("description", ""),
        )
        for name, field in schema.get("properties", {}).items()
    ]


def values_of(field: Schema) -> str:
    """The values that a field's schema admits, in words."""
    match field:
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            return name if name in NAMED_TEXTS else f"[{name}](#{name.lower()})"
        case {"const": constant}:
            return f"`{constant}`"
        case {"enum": list(values)}:
            return ", ".join(f"`{value}`" for value in values)
        case {"anyOf": [admitted, {"type": "null"}]}:
            return f"{values_of(admitted)}, or null"
        case {"type": "integer", "minimum": int(least), "maximum": int(most)}:
            return f"integer, {least} to {_number(most)}"
        case {"type": "string", "minLength": int(least), "maxLength": int(most)}:
            return f"text of {least} to {most} characters"
        case {"type": "array", "items": dict(items), "maxItems": int(most)}:
            return f"list of {field['minItems']} to {most}: {values_of(items)}"
        case {"type": "array", "items": dict(items)}:
            return f"list of {values_of(items)}"
        case {"type": "boolean"}:
            return "true or false"
        case _ if "type" not in field:
            return "any JSON value"
    raise ValueError(f"no words for {sorted(field)}")


def members_of(enumeration: type[StrEnum]) -> list[Member]:
    """The members of an enumeration, in the order of definition."""
    documented = attribute_docstrings(enumeration)
    return [
        Member(value=member.value, meaning=documented.get(member.name, ""))
        for member in enumeration
    ]


def _enumerations() -> list[type[StrEnum]]:
    """Every enumeration that a field can have as its type."""
    return [
        member
        for member in vars(vocabulary).values()
        if isinstance(member, type)
        and issubclass(member, StrEnum)
        and member.__module__ == vocabulary.__name__
        and member not in (vocabulary.Counter, vocabulary.Capability)  # have tables of their own
    ]


def _ladder() -> str:
    """The tree that the module of refusals opens with."""
    documentation = inspect.getdoc(inspect.getmodule(RefusalCode)) or ""
    return inspect.cleandoc(documentation.partition("::\n\n")[2])


def _number(value: int) -> str:
    return "2**53-1" if value == vocabulary.MAXIMUM_INTEGER else f"{value:,}"


def _written(default: Any) -> str:
    match default:
        case None:
            return "null"
        case []:
            return "empty"
        case _:
            return f"`{default}`"


def _prose(text: str) -> str:
    """Text of a docstring or a rule as Markdown: ``2**53`` is no bold type there."""
    return re.sub(r":\w+:(?=`)", "", text).replace("``", "`").replace("**", "\\*\\*")


def _cell(text: str) -> str:
    """Text as it may stand in a cell of a table."""
    return _prose(text).replace("|", "\\|")


def _rendered(template: str, **values: Any) -> bytes:
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=StrictUndefined,
        autoescape=False,  # Markdown, and every value is our own
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {"prose": _prose, "cell": _cell}
    templates.globals |= {
        "marker": MARKER,
        "fields_of": fields_of,
        "members_of": members_of,
        "summary": summary,
        "snake_case": snake_case,
    }
    return templates.get_template(template).render(values).encode()
