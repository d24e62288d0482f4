"""All vectors of one contract, and the manifest that says which they are."""

import fnmatch
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from pydantic import TypeAdapter, ValidationError

from wayproof.conformance.progress import Progress, untold
from wayproof.conformance.report.words import plainly
from wayproof.conformance.vectors.format import (
    STRICT,
    CallStep,
    ContractName,
    ExpectedOneOf,
    ExpectedRefusal,
    FullDigest,
    Vector,
)
from wayproof.conformance.vectors.reader import VectorProblem
from wayproof.conformance.vectors.stored import StoredVector, read_vectors, vectors_in
from wayproof.conformance.vectors.writer import pretty_json, to_json, write_vectors

MANIFEST_FILE: Final = "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestFile:
    """One vector file."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    vectors: int
    steps: int
    digest: FullDigest
    """Of the file's bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How many vectors touch what."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    clauses: Mapping[str, int]
    operations: Mapping[str, int]
    refusals: Mapping[str, int]
    labels: Mapping[str, int]
    rulings: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a contract's folder holds."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    format: Literal["wayproof-manifest/1.0"] = "wayproof-manifest/1.0"
    contract: ContractName
    model_digest: FullDigest | None = None
    """Of the sources of the model that the vectors were generated from."""
    vectors: int
    steps: int
    files: Mapping[str, ManifestFile]
    """By path inside the folder."""
    coverage: Coverage


def write_suite(
    folder: Path,
    vectors: Iterable[Vector],
    model_digest: str | None = None,
    progress: Progress = untold,
) -> Manifest:
    """Seal and write all vectors of one contract; files that hold none of them are removed.

    Raises:
        ValueError: if an id is given twice, or the vectors are of several contracts, or of none.
    """
    held = tuple(vectors)
    (contract,) = {vector.contract for vector in held}
    if len({vector.id for vector in held}) != len(held):
        raise ValueError("two vectors have one id")
    written = set(write_vectors(folder, held))
    for stale in set(folder.glob("*/*.jsonl")) - written:
        stale.unlink()
    manifest = replace(manifest_of(folder, contract, progress), model_digest=model_digest)
    (folder / MANIFEST_FILE).write_bytes(pretty_json(to_json(manifest)))
    return manifest


def manifest_of(folder: Path, contract: str, progress: Progress = untold) -> Manifest:
    """The manifest of the files as they stand.

    Raises:
        VectorProblem, OSError: if a file cannot be read.
    """
    files: dict[str, ManifestFile] = {}
    held: list[Vector] = []
    for file in _vector_files(folder):
        progress("reading what was written", len(held))
        vectors = read_vectors(file)
        held += vectors
        files[file.relative_to(folder).as_posix()] = ManifestFile(
            vectors=len(vectors),
            steps=sum(len(vector.steps) for vector in vectors),
            digest=_digest_of_file(file),
        )
    return Manifest(
        contract=contract,
        vectors=len(held),
        steps=sum(file.steps for file in files.values()),
        files=files,
        coverage=coverage_of(held),
    )


def coverage_of(vectors: Iterable[Vector]) -> Coverage:
    """How many of the vectors touch each clause, operation, refusal, model rule and ruling."""
    clauses: Counter[str] = Counter()
    operations: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    rulings: Counter[str] = Counter()
    for vector in vectors:
        calls = [step for step in vector.steps if isinstance(step, CallStep)]
        clauses.update({*vector.clauses, *(c for step in vector.steps for c in step.clauses)})
        operations.update({call.operation for call in calls})
        refusals.update({code for call in calls for code in _expected_codes(call)})
        labels.update(set(vector.origin.labels))
        rulings.update(
            {*map(str, vector.rests_on)}
            | {str(r) for step in vector.steps for r in step.rests_on or ()}
        )
    return Coverage(
        clauses=clauses, operations=operations, refusals=refusals, labels=labels, rulings=rulings
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSuite:
    """What a contract's folder holds of what was asked for, not read yet."""

    contract: str
    vectors: tuple[StoredVector, ...]
    """By id."""


def find_suite(folder: Path, only: str = "*") -> StoredSuite:
    """Find the vectors of one contract whose id fits a glob; the manifest must fit the files.

    Raises:
        VectorProblem: if the manifest is wrong, or a line holds no id that belongs there.
        OSError: if a file, or the manifest, cannot be read.
    """
    manifest_file = folder / MANIFEST_FILE
    try:
        manifest = _manifest_adapter().validate_json(manifest_file.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"/{part}" for part in first["loc"])
        raise _manifest_problem(manifest_file, plainly(first["msg"]), place) from None
    files = {file.relative_to(folder).as_posix(): file for file in _vector_files(folder)}
    if differing := sorted(set(manifest.files) ^ set(files)):
        raise _manifest_problem(manifest_file, f"{differing[0]} is listed or there, not both")
    for name, file in files.items():
        if manifest.files[name].digest != _digest_of_file(file):
            raise _manifest_problem(manifest_file, f"{name} has another digest")
    return StoredSuite(
        contract=manifest.contract,
        vectors=tuple(
            stored
            for file in files.values()
            for stored in vectors_in(file)
            if fnmatch.fnmatchcase(stored.id, only)
        ),
    )


def read_suite(folder: Path, only: str = "*", progress: Progress = untold) -> tuple[Vector, ...]:
    """The vectors of one contract whose id fits a glob, by id; only these are read.

    Raises:
        VectorProblem: if a line or the manifest is wrong.
        OSError: if a file, or the manifest, cannot be read.
    """
    vectors: list[Vector] = []
    found = find_suite(folder, only).vectors
    for stored in found:
        progress("reading vectors", len(vectors), len(found))
        vectors.append(stored.read())
    return tuple(vectors)


def globs_like(folder: Path, only: str) -> list[str]:
    """The ids, and the globs of all ids of a topic, that are most like a glob, closest first.

    Raises:
        VectorProblem, OSError: see :func:`find_suite`.
    """
    ids = [stored.id for stored in find_suite(folder).vectors]
    topics = dict.fromkeys(name.rpartition("/")[0] + "/*" for name in ids)
    return get_close_matches(only, (*ids, *topics))


@cache
def _manifest_adapter() -> TypeAdapter[Manifest]:
    return TypeAdapter(Manifest)


def _manifest_problem(file: Path, message: str, pointer: str = "") -> VectorProblem:
    problem = VectorProblem("wrong_manifest", message, pointer)
    problem.file = file
    return problem


def _vector_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.jsonl"))


def _digest_of_file(file: Path) -> str:
    return "sha256:" + hashlib.sha256(file.read_bytes()).hexdigest()


def _expected_codes(call: CallStep) -> Iterator[str]:
    expect = call.expect
    for case in expect.one_of if isinstance(expect, ExpectedOneOf) else (expect,):
        if isinstance(case, ExpectedRefusal):
            yield case.err.code
