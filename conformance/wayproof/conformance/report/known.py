"""Declared deviations: failures that a backend's author knows of.

A TOML file that lives with the backend::

    [[known]]
    vector = "retry/rate-limit/*"      # a glob over vector ids
    step = 4                           # optional: the step at which it fails, from 1
    kind = "code"                      # optional: the kind of divergence
    reason = "we answer 429 ourselves"
    until = 1                          # optional: the last revision of the contract it holds for

A failure that fits an entry is a *known-fail*. A pass that does is a *stale-known*, and an error:
the declaration has to go.
"""

import fnmatch
import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, TypeAdapter, ValidationError

from wayproof.conformance.report.failure import KINDS
from wayproof.conformance.report.words import plainly
from wayproof.conformance.run.verdict import Result, Verdict
from wayproof.conformance.vectors.format import STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """One declaration."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    vector: str
    reason: str
    step: Annotated[int, Field(ge=1)] | None = None
    kind: str | None = None
    issue: str | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Declarations:
    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    known: list[KnownFailure]


class KnownFailuresError(ValueError):
    """A file of declarations that cannot be used."""


def read_known_failures(file: Path, revision: int) -> tuple[KnownFailure, ...]:
    """The declarations of a file.

    Raises:
        KnownFailuresError: if it is not as above, or an entry holds for earlier revisions only.
        OSError: if it cannot be read.
    """
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
        entries = _adapter().validate_json(json.dumps(document, default=str)).known
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise KnownFailuresError(
            f"{file}: {_place(first['loc'])}: {plainly(first['msg'])}"
        ) from None
    except ValueError as error:
        raise KnownFailuresError(f"{file}: {error}") from None
    for number, entry in enumerate(entries, start=1):
        if entry.kind not in (None, *KINDS):
            raise KnownFailuresError(
                f"{file}: entry {number}, kind: there is no kind {entry.kind!r}; "
                f"there are {', '.join(KINDS)}"
            )
        if entry.until is not None and entry.until < revision:
            raise KnownFailuresError(
                f"{file}: {entry.vector} was declared until revision {entry.until}; "
                f"this is revision {revision}"
            )
    return tuple(entries)


def with_known(result: Result, known: Iterable[KnownFailure]) -> Result:
    """The result as it stands after the declarations."""
    for entry in known:
        if not fnmatch.fnmatchcase(result.id, entry.vector):
            continue
        if result.verdict is Verdict.PASS:
            note = f"declared to fail: {entry.reason}"
            return replace(result, verdict=Verdict.STALE_KNOWN, note=note)
        divergence = result.divergence
        if (
            result.verdict is Verdict.FAIL
            and divergence is not None
            and entry.step in (None, divergence.step + 1)
            and entry.kind in (None, divergence.kind)
        ):
            return replace(result, verdict=Verdict.KNOWN_FAIL, note=entry.reason)
    return result


def _place(location: tuple[int | str, ...]) -> str:
    """Where in the file, as its author counts."""
    match location:
        case ("known", int(index), *rest):
            return ", ".join((f"entry {index + 1}", *map(str, rest)))
        case _:
            return ".".join(map(str, location))


@cache
def _adapter() -> TypeAdapter[_Declarations]:
    return TypeAdapter(_Declarations)
