"""The format as pydantic checks it, and as the JSON Schema that is published of it."""

from functools import cache
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from wayproof.conformance.vectors.format import JsonValue, Vector
from wayproof.conformance.vectors.writer import pretty_json

SCHEMA_FILE: Final = "vector.schema.json"


@cache
def vector_adapter() -> TypeAdapter[Vector]:
    """Pydantic's adapter of the format."""
    return TypeAdapter(Vector)


def vector_schema() -> dict[str, JsonValue]:
    """The JSON Schema of one vector."""
    schema = vector_adapter().json_schema()
    for record in (schema, *schema["$defs"].values()):
        _require_what_is_written(record)
    schema["required"] = sorted({*schema["required"], "digest"})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "wayproof vector",
    }


def _require_what_is_written(record: dict[str, JsonValue]) -> None:
    """Require what the writer always writes, though Python has a default for it."""
    required = set(record.get("required", ()))
    for name, field in record.get("properties", {}).items():
        if field.get("default") not in (None, [], {}):
            del field["default"]
            required.add(name)
    record["required"] = sorted(required)


def write_schema(folder: Path) -> None:
    """Write the schema into the folder that holds all vectors."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SCHEMA_FILE).write_bytes(pretty_json(vector_schema()))
