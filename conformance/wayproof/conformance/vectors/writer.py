"""Writing vectors: the same vectors are always the same bytes."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from wayproof.conformance.vectors.format import JsonValue, Vector
from wayproof.spec.journey.digests import canonical_json, digest_of


def to_json(part: object) -> JsonValue:
    """The JSON value of a vector or of a part of it; optional fields left empty are left out."""
    if part is None or isinstance(part, str | int):
        return part
    if dataclasses.is_dataclass(part):
        return {
            field.name: to_json(value)
            for field in dataclasses.fields(part)
            if not _is_left_empty(field, value := getattr(part, field.name))
        }
    if isinstance(part, Mapping):
        return {key: to_json(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [to_json(value) for value in part]
    return part


def digest_of_vector(vector: Vector) -> str:
    """The digest that the vector has to carry."""
    document = to_json(vector)
    document.pop("digest", None)
    return digest_of(document)


def seal(vector: Vector) -> Vector:
    """The vector with its digest."""
    return dataclasses.replace(vector, digest=digest_of_vector(vector))


def vector_line(vector: Vector) -> bytes:
    """A sealed vector's line, without its LF."""
    return canonical_json(to_json(vector))


def write_vectors(folder: Path, vectors: Iterable[Vector]) -> tuple[Path, ...]:
    """Seal the vectors of one contract and write them, one file for each family and topic.

    Within a file they are ordered by id. Files that hold other vectors are left alone.
    """
    files: dict[Path, list[Vector]] = {}
    for vector in vectors:
        file = folder / vector.family / f"{vector.topic}.jsonl"
        files.setdefault(file, []).append(seal(vector))
    for file, held in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        held.sort(key=lambda vector: vector.id)
        file.write_bytes(b"".join(vector_line(vector) + b"\n" for vector in held))
    return tuple(sorted(files))


def pretty_json(value: JsonValue) -> bytes:
    """JSON for files that people read in reviews: sorted, indented, ended by LF."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1).encode() + b"\n"


def _is_left_empty(field: "dataclasses.Field[object]", value: object) -> bool:
    return (field.default is None and value is None) or (
        value in ((), {})
        and (field.default == () or field.default_factory is not dataclasses.MISSING)
    )
