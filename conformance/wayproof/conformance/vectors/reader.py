"""The strict reader. What it refuses, it refuses with file, line, JSON Pointer and code.

The codes: of a line's spelling ``not_utf8``, ``not_json``, ``not_an_integer``,
``not_canonical``; of its version ``unsupported_format``; of its schema ``missing``,
``unknown_field``, ``wrong_type``, ``wrong_form``, ``out_of_bounds``, ``not_allowed``; and of its
story, which no schema can check, ``wrong_digest``, ``wrong_state_digest``, ``wrong_final``,
``unfitting_change``, ``changes_without_digest``, ``two_states``, ``wrong_alternatives``,
``unknown_name``, ``name_bound_twice``,
``bad_number``, ``clock_runs_back``, ``bad_registry``, ``wrong_labels``, ``duplicate_id``,
``misplaced_id``, ``wrong_manifest``.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NoReturn

from pydantic import ValidationError

from wayproof.conformance.vectors.changes import UnfittingChange, apply_changes, state_digest
from wayproof.conformance.vectors.format import (
    CallStep,
    ExpectedAnswer,
    ExpectedOneOf,
    JsonValue,
    ReconfigureStep,
    Step,
    TickStep,
    Vector,
)
from wayproof.conformance.vectors.names import NUMBER, referenced
from wayproof.conformance.vectors.schema import vector_adapter
from wayproof.conformance.vectors.writer import vector_line
from wayproof.spec.journey.constraints import parse_moment, to_milliseconds
from wayproof.spec.journey.digests import canonical_json, digest_of
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.registries import decode_registry

_PROBLEMS: Final = {
    "missing": "missing",
    "unexpected_keyword_argument": "unknown_field",
    "string_pattern_mismatch": "wrong_form",
    "string_too_short": "out_of_bounds",
    "string_too_long": "out_of_bounds",
    "too_short": "out_of_bounds",
    "too_long": "out_of_bounds",
    "literal_error": "not_allowed",
    "union_tag_invalid": "not_allowed",
    "union_tag_not_found": "missing",
}

_NUMBER: Final = re.compile(r"-?(0|[1-9]\d{0,39})(\.\d{1,40})?([eE][+-]?\d{1,2})?", re.ASCII)
"""Bounded, so that every reader can hold it."""

_SHAPES: Final = frozenset(
    {
        "call",
        "tick",
        "sweep",
        "restart",
        "reconfigure",
        "ExpectedAnswer",
        "ExpectedRefusal",
        "ExpectedOneOf",
    }
)
"""What pydantic puts into an error's location for the shape of a union that it tried."""


class VectorProblem(Exception):
    """A vector that cannot be used: where, the code, and one sentence."""

    def __init__(self, code: str, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.pointer = pointer
        self.file: Path | None = None
        self.line: int | None = None

    def __str__(self) -> str:
        place = [
            *([str(self.file)] if self.file else []),
            *([f"line {self.line}"] if self.line else []),
            *([self.pointer] if self.pointer else []),
        ]
        return ": ".join([", ".join(place), self.code, self.message] if place else [self.message])


def parse_vector(line: bytes) -> Vector:
    """One vector from one line, without its LF.

    Raises:
        VectorProblem: without file and line.
    """
    document = _document(line)
    _check_format(document)
    try:
        vector = vector_adapter().validate_json(line)
    except ValidationError as error:
        raise _schema_problem(error, document) from None
    if vector_line(vector) != line:
        raise VectorProblem(
            "not_canonical", "an optional field is written although it is empty, or the reverse"
        )
    if vector.digest is None:
        raise VectorProblem("missing", "a vector carries its digest", "/digest")
    if vector.digest != digest_of({k: v for k, v in document.items() if k != "digest"}):
        raise VectorProblem("wrong_digest", "the vector's digest is another one", "/digest")
    _check_story(vector)
    expected_states(vector)
    return vector


def expected_states(vector: Vector) -> tuple[JsonValue, ...]:
    """The projection that is expected after each step; None where nothing is compared.

    Raises:
        VectorProblem: if changes, digests and the final state do not fit together.
    """
    states: list[JsonValue] = []
    known: JsonValue = {}
    for index, step in enumerate(vector.steps):
        place = f"/steps/{index}"
        if (step.changes is None) != (step.digest is None):
            raise VectorProblem("changes_without_digest", "they go together", place)
        _check_alternatives(step, f"{place}/digest_one_of")
        if step.changes is None:
            states.append(None)
            continue
        try:
            known = apply_changes(known, step.changes)
        except UnfittingChange as problem:
            raise VectorProblem("unfitting_change", str(problem), f"{place}/changes") from None
        if state_digest(known) != step.digest:
            raise VectorProblem(
                "wrong_state_digest", "the changes lead to another state", f"{place}/digest"
            )
        states.append(known)
    if vector.final is not None and canonical_json(known) != canonical_json(vector.final):
        raise VectorProblem("wrong_final", "the steps lead to another state", "/final")
    return tuple(states)


def _check_alternatives(step: Step, place: str) -> None:
    allowed = step.digest_one_of
    if allowed and step.digest is not None:
        raise VectorProblem("two_states", "one state is expected, or one of several", place)
    if len(allowed) == 1 or list(allowed) != sorted(set(allowed)):
        raise VectorProblem("wrong_alternatives", "two at least, each once, in order", place)


def _document(line: bytes) -> dict[str, JsonValue]:
    def refuse(number: str) -> NoReturn:
        raise VectorProblem("not_an_integer", f"{number[:40]} is no integer")

    try:
        document = json.loads(line.decode(), parse_float=refuse, parse_constant=refuse)
        canonical = canonical_json(document)
    except UnicodeError:  # also half a surrogate pair, written as an escape
        raise VectorProblem("not_utf8", "not all of it is UTF-8") from None
    except (ValueError, RecursionError) as problem:
        raise VectorProblem("not_json", str(problem)) from None
    if not isinstance(document, dict):
        raise VectorProblem("wrong_type", "a vector is a JSON object")
    if canonical != line:
        raise VectorProblem(
            "not_canonical", "keys are sorted, each stands once; no needless space or escape"
        )
    return document


def _check_format(document: dict[str, JsonValue]) -> None:
    written = document.get("format")
    if not isinstance(written, str):
        raise VectorProblem("missing", "a vector names its format", "/format")
    if not written.startswith("wayproof-vector/1."):
        raise VectorProblem("unsupported_format", "known is wayproof-vector/1.*", "/format")


def _check_story(vector: Vector) -> None:
    _check_registry(vector.config.registry, "/config/registry")
    if vector.origin.labels and len(vector.origin.labels) != len(vector.steps):
        raise VectorProblem("wrong_labels", "there is one for each step", "/origin/labels")
    now = _milliseconds(vector.start.now, "/start/now")
    names = set(vector.config.constants)
    for index, step in enumerate(vector.steps):
        place = f"/steps/{index}"
        if isinstance(step, ReconfigureStep):
            _check_registry(step.registry, f"{place}/registry")
        if isinstance(step, TickStep):
            earlier, now = now, _milliseconds(step.to, f"{place}/to")
            if now < earlier:
                raise VectorProblem("clock_runs_back", "it is later already", f"{place}/to")
        if isinstance(step, CallStep):
            _check_names(step.arguments, names, f"{place}/arguments")
            _check_numbers(step.arguments, f"{place}/arguments")
            if twice := sorted(names & set(step.bind)):
                raise VectorProblem("name_bound_twice", f"${twice[0]} is taken", f"{place}/bind")
            names |= set(step.bind)
            for value in _expected_values(step):
                _check_names(value, names, f"{place}/expect")


def _check_registry(registry: Mapping[str, JsonValue], place: str) -> None:
    try:
        decode_registry(registry)
    except Refusal as refusal:
        pointer, problem = refusal.detail.get("pointer", ""), refusal.detail.get("problem", "")
        raise VectorProblem("bad_registry", problem, place + pointer) from None


def _expected_values(step: CallStep) -> Iterator[JsonValue]:
    expect = step.expect
    for case in expect.one_of if isinstance(expect, ExpectedOneOf) else (expect,):
        yield case.ok if isinstance(case, ExpectedAnswer) else case.err.detail


def _check_names(value: JsonValue, names: set[str], place: str) -> None:
    for reference in referenced(value):
        if reference[1:] not in names:
            raise VectorProblem("unknown_name", f"{reference} names nothing", place)


def _check_numbers(value: JsonValue, place: str) -> None:
    if isinstance(value, Mapping) and NUMBER in value:
        spelling = value[NUMBER]
        if len(value) > 1 or not isinstance(spelling, str) or not _NUMBER.fullmatch(spelling):
            raise VectorProblem("bad_number", "it spells no JSON number", place)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            _check_numbers(part, f"{place}/{key}")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            _check_numbers(part, f"{place}/{index}")


def _milliseconds(text: str, place: str) -> int:
    try:
        return to_milliseconds(parse_moment(text))
    except ValueError as problem:
        raise VectorProblem("wrong_form", str(problem), place) from None


def _schema_problem(error: ValidationError, document: dict[str, JsonValue]) -> VectorProblem:
    # Of several the deepest: a union reports a fault once for each shape that it tried.
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    deepest = max(problems, key=lambda problem: len(_place(problem["loc"], document)))
    code = _PROBLEMS.get(deepest["type"], "wrong_type")
    pointer = "".join(f"/{part}" for part in _place(deepest["loc"], document))
    return VectorProblem(code, deepest["msg"], pointer)


def _place(location: tuple[int | str, ...], document: JsonValue) -> list[int | str]:
    place: list[int | str] = []
    value = document
    for part in location:
        held = isinstance(value, dict) and part in value
        if part in _SHAPES and not held:
            continue
        place.append(part)
        if held or (isinstance(value, list) and isinstance(part, int)):
            value = value[part]
    return place
