"""The JSON Schemas of every request, every record, the registry and the workflow port.

They say what the annotations in ``spec/`` say, for tools in any language. A request's schema
describes what is read, so a moment may be written in several ways; a reply's describes what is
written, so a moment has its one form.
"""

import inspect
import json
import re
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from wayproof.conformance.publish.docstrings import attribute_docstrings, one_line
from wayproof.spec.journey import constraints, definitions, ports, records, requests
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.registries import PRESENTATION
from wayproof.spec.journey.validation import adapter

SCHEMA_FOLDER: Final = Path("spec/wayproof/spec/journey/schemas")

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

MARKER: Final = "Written by `wayproof generate` from spec/. Do not edit."

PORT_MESSAGES: Final = (
    ports.RunRequest,
    ports.ResumeRequest,
    ports.RunResult,
    ports.WorkflowCancelRequest,
)
"""What crosses the workflow port."""

Schema = dict[str, Any]
Mode = Literal["validation", "serialization"]


def schema_files() -> dict[Path, bytes]:
    """Every schema, by its path from the repository's root."""
    schemas: dict[str, Schema] = {
        f"requests/{operation.name}": schema_of(operation.request, mode="validation")
        for operation in OPERATIONS.values()
    }
    for record in public_records():
        mode: Mode = "serialization" if record.__name__ in _written_records() else "validation"
        schemas[f"records/{snake_case(record.__name__)}"] = schema_of(record, mode=mode)
    for definition in (definitions.Registry, definitions.ResolvedDefinition):
        schemas[f"definitions/{snake_case(definition.__name__)}"] = schema_of(
            definition, mode="validation"
        )
    _let_present(schemas["definitions/registry"])
    for message in PORT_MESSAGES:
        schemas[f"ports/{snake_case(message.__name__)}"] = schema_of(message, mode="validation")
    return {
        SCHEMA_FOLDER / f"{name}.json": written(identified(name, schema))
        for name, schema in schemas.items()
    }


def schema_of(record: type, *, mode: Mode) -> Schema:
    """The schema of one record: pydantic's, without the titles that repeat a field's name and
    with the docstrings of its fields.
    """
    schema = adapter(record).json_schema(mode=mode)
    for definition in (schema, *schema.get("$defs", {}).values()):
        described_type = _types()[definition["title"]]
        definition["description"] = one_line(definition["description"])
        for name, field in definition.get("properties", {}).items():
            field.pop("title", None)
            description = attribute_docstrings(described_type).get(name)
            if description is not None:
                field["description"] = description
    return _with_named_texts(schema, mode)


def _let_present(schema: Schema) -> None:
    """A registry, and everything that it declares, may carry what only presents."""
    declaring = ("Declaration", "Overlay")
    for definition in (schema, *schema["$defs"].values()):
        if definition is schema or definition.get("title", "").endswith(declaring):
            for name in PRESENTATION:
                definition["properties"][name] = {
                    "description": "Any JSON that only presents; no part of a definition."
                }


NAMED_TEXTS: Final[Mapping[str, tuple[Any, str]]] = {
    "Identifier": (
        constraints.Identifier,
        "An opaque name: 1 to 128 ASCII letters, digits and . _ : + @ / -",
    ),
    "Reference": (constraints.Reference, "An opaque reference: 1 to 256 visible ASCII characters."),
    "Moment": (
        constraints.Moment,
        "A moment: RFC 3339, UTC, whole milliseconds, from 1970 to 9999.",
    ),
}
"""The texts that many fields share: named once in a schema, and referred to."""


def _with_named_texts(schema: Schema, mode: Mode) -> Schema:
    named = {
        name: TypeAdapter(text).json_schema(mode=mode) for name, (text, _) in NAMED_TEXTS.items()
    }
    used: Schema = {}

    def replaced(value: Any) -> Any:
        if isinstance(value, list):
            return [replaced(entry) for entry in value]
        if not isinstance(value, dict):
            return value
        for name, text in named.items():
            if text.items() <= value.items():
                used[name] = {"description": NAMED_TEXTS[name][1], **text}
                others = {key: entry for key, entry in value.items() if key not in text}
                return {"$ref": f"#/$defs/{name}", **others}
        return {key: replaced(entry) for key, entry in value.items()}

    referring: Schema = replaced(schema)
    return {**referring, "$defs": referring.get("$defs", {}) | dict(sorted(used.items()))}


def identified(name: str, schema: Schema) -> Schema:
    """The schema with its dialect, its identity and the marker of a generated file."""
    head = {
        "$schema": DIALECT,
        "$id": f"urn:wayproof:journey:1:{name.replace('/', ':')}",
        "$comment": MARKER,
    }
    return {**head, **{key: schema[key] for key in sorted(schema, key=_READING_ORDER.index)}}


_READING_ORDER: Final = (
    "title",
    "description",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "$defs",
)


def written(schema: Schema) -> bytes:
    """The file of a schema."""
    return (json.dumps(schema, indent=2, ensure_ascii=False) + "\n").encode()


def public_records() -> list[type]:
    """Every record of ``records.py``, in the order of definition."""
    return [
        member
        for member in vars(records).values()
        if isinstance(member, type)
        and is_dataclass(member)
        and member.__module__ == records.__name__
    ]


def snake_case(name: str) -> str:
    """``JourneySnapshot`` as ``journey_snapshot``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _written_records() -> set[str]:
    """The names of all records that a reply or a refusal's detail can contain."""
    names = {records.OutcomeSummary.__name__}
    for operation in OPERATIONS.values():
        schema = adapter(operation.reply).json_schema(mode="serialization")
        names |= {schema["title"], *schema.get("$defs", {})}
    return names


def _types() -> Mapping[str, type]:
    """The types that schemas are made of, by name."""
    modules: tuple[ModuleType, ...] = (records, requests, definitions, ports)
    return {
        name: member
        for module in modules
        for name, member in inspect.getmembers(module, inspect.isclass)
    }
