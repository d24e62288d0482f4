"""Vectors where they stand: found in a moment, and read strictly one by one when they are wanted.

To find a vector costs a look at its line, to read it strictly a hundred times as much. So whoever
plays vectors finds all, and leaves the reading to the process that plays each.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wayproof.conformance.vectors.format import JsonValue, Vector
from wayproof.conformance.vectors.reader import VectorProblem, parse_vector


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVector:
    """One line of a vector file."""

    id: str
    file: Path
    line: int
    """From 1."""
    offset: int
    """In bytes, from the beginning of the file."""
    length: int
    """In bytes, without the LF."""

    def text(self) -> bytes:
        """The line.

        Raises:
            OSError: if the file cannot be read.
        """
        with self.file.open("rb") as lines:
            lines.seek(self.offset)
            return lines.read(self.length)

    def read(self) -> Vector:
        """The vector, read strictly.

        Raises:
            VectorProblem: if the line is not as the format says.
            OSError: if the file cannot be read.
        """
        try:
            vector = parse_vector(self.text())
            if vector.id != self.id:
                raise VectorProblem("misplaced_id", f"{vector.id} stands for {self.id}", "/id")
        except VectorProblem as problem:
            problem.file, problem.line = self.file, self.line
            raise
        return vector

    def sketch(self) -> "Sketch":
        """What the vector is about, without a strict look at it.

        Raises:
            VectorProblem: if the line is so wrong that it does not say.
            OSError: if the file cannot be read.
        """
        try:
            document = json.loads(self.text())
            steps = tuple(
                SketchedStep(
                    clauses=tuple(step.get("clauses", ())),
                    outcome=(step.get("expect"), step.get("changes")),
                )
                for step in document["steps"]
            )
            own = (*document["clauses"], *(clause for step in steps for clause in step.clauses))
            return Sketch(
                id=self.id,
                at_stake=tuple(sorted(set(own))),
                labels=tuple(document["origin"].get("labels", ())),
                steps=steps,
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            self.read()
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class SketchedStep:
    """What a step is about, and what is expected of it."""

    clauses: tuple[str, ...]
    outcome: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """What a vector is about."""

    id: str
    at_stake: tuple[str, ...]
    """Every clause that the vector or one of its steps names, in order, each once."""
    labels: tuple[str, ...]
    """The model's rules for its steps."""
    steps: tuple[SketchedStep, ...]


def vectors_in(file: Path) -> Iterator[StoredVector]:
    """The vectors of one file, in order.

    Raises:
        VectorProblem: if a line holds no id that belongs into this file, or holds it twice; or if
            the last line is not ended.
        OSError: if the file cannot be read.
    """
    place = f"{file.parent.name}/{file.stem}"
    own_id = re.compile(rb'"id":"(' + re.escape(place).encode() + rb'/\d{4})"')
    found: set[str] = set()
    line, offset = 0, 0
    *texts, rest = file.read_bytes().split(b"\n")
    try:
        for line, text in enumerate(texts, start=1):
            name = _id_of(text, own_id, place)
            if name in found:
                raise VectorProblem("duplicate_id", f"{name} stands twice", "/id")
            found.add(name)
            yield StoredVector(id=name, file=file, line=line, offset=offset, length=len(text))
            offset += len(text) + 1
        line += 1
        if rest or not found:
            raise VectorProblem("not_canonical", "every line is ended by LF, and there is one")
    except VectorProblem as problem:
        problem.file, problem.line = file, line
        raise


def read_vectors(file: Path) -> tuple[Vector, ...]:
    """All vectors of one file, in order.

    Raises:
        VectorProblem: if a line is not as the format says.
        OSError: if the file cannot be read.
    """
    return tuple(stored.read() for stored in vectors_in(file))


def _id_of(text: bytes, own_id: re.Pattern[bytes], place: str) -> str:
    match own_id.findall(text):
        case [name]:
            return str(name, "ascii")
    # Anything else takes a strict look: the id is wrong, or a request holds such a text too.
    vector = parse_vector(text)
    if (vector.family, vector.topic) != tuple(place.split("/")):
        right = f"{vector.family}/{vector.topic}.jsonl"
        raise VectorProblem("misplaced_id", f"{vector.id} belongs into {right}", "/id")
    return vector.id
