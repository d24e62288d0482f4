"""Registries as they are written: read from JSON, their presentation left out, overlays applied.

Seed: "Illustrative Public Contract". A registry file may carry ``ui`` and ``meta`` members, of any
form, beside what execution depends on. They are bounded and left out when the file is read, so
that no definition and no digest can depend on them. Every other unknown member is an error.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from wayproof.spec.journey.definitions import Registry
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.validation import Problem, decode_record

PRESENTATION: Final = ("ui", "meta")
"""The members that only present: of a registry, an overlay, and everything that they declare."""

MAXIMUM_REGISTRY_BYTES: Final = 1_048_576
"""A registry file may have this many bytes."""

MAXIMUM_PRESENTATION_BYTES: Final = 65_536
"""Each ``ui`` and each ``meta`` may have this many bytes as canonical JSON."""

_DECLARED: Final[Mapping[str, Mapping[str, Any]]] = {
    "workflows": {},
    "entrypoints": {},
    "transitions": {"options": {}},
    "workflow_sequences": {"steps": {}},
}
_REGISTRY: Final[Mapping[str, Any]] = {**_DECLARED, "overlays": _DECLARED}


def decode_registry(value: object) -> Registry:
    """Decode a registry from a JSON value, without what only presents.

    Raises:
        Refusal: ``invalid_request`` with the ``pointer`` of the member and its ``problem``.
    """
    return decode_record(Registry, _without_presentation(value, _REGISTRY, ""))


def read_registry(text: bytes) -> Registry:
    """Read a registry file: UTF-8, JSON, no object with one member twice.

    Raises:
        Refusal: as :func:`decode_registry`; ``not_json`` or ``too_large`` for the file as a whole.
    """
    if len(text) > MAXIMUM_REGISTRY_BYTES:
        _refuse("", Problem.TOO_LARGE)
    try:
        value = json.loads(text.decode(), object_pairs_hook=_without_twins)
    except (ValueError, RecursionError):
        _refuse("", Problem.NOT_JSON)
    return decode_registry(value)


def _without_presentation(value: object, within: Mapping[str, Any], pointer: str) -> object:
    if not isinstance(value, dict):
        return value
    kept: dict[object, object] = {}
    for name, part in value.items():
        here = f"{pointer}/{name}"
        if name in PRESENTATION:
            _require_bounded(part, here)
        elif name in within and isinstance(part, list):
            kept[name] = [
                _without_presentation(each, within[name], f"{here}/{place}")
                for place, each in enumerate(part)
            ]
        else:
            kept[name] = part
    return kept


def _require_bounded(value: object, pointer: str) -> None:
    try:
        size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    except (TypeError, ValueError, RecursionError):
        _refuse(pointer, Problem.NOT_JSON)
    if size > MAXIMUM_PRESENTATION_BYTES:
        _refuse(pointer, Problem.TOO_LARGE)


def _without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError("an object has one member twice")
    return named


def _refuse(pointer: str, problem: Problem) -> NoReturn:
    raise Refusal(RefusalCode.INVALID_REQUEST, {"pointer": pointer, "problem": problem.value})
