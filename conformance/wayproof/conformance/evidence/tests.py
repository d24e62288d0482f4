"""The tests behind the clauses that no vector can show (``tests.toml``)."""

import ast
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

EVIDENCE: Final = "tests.toml"


class EvidenceError(ValueError):
    """A table of tests that is not as its head says."""


@cache
def load_tests() -> Mapping[str, tuple[str, ...]]:
    """The tests of each clause, as ``FILE::FUNCTION``.

    Raises:
        EvidenceError: see :func:`parse_tests`.
    """
    return parse_tests(resources.files(__package__).joinpath(EVIDENCE).read_text(encoding="utf-8"))


def parse_tests(text: str) -> Mapping[str, tuple[str, ...]]:
    """The tests of each clause of a table's text.

    Raises:
        EvidenceError: if a clause stands twice or without a test, or a test is no
            ``FILE::FUNCTION``.
    """
    found: dict[str, tuple[str, ...]] = {}
    for entry in tomllib.loads(text).get("evidence", []):
        if set(entry) != {"clause", "tests"}:
            raise EvidenceError("an entry has a clause and tests, and nothing else")
        clause, tests = entry["clause"], tuple(entry["tests"])
        if clause in found:
            raise EvidenceError(f"{clause} stands twice")
        if not tests or any(test.count("::") != 1 for test in tests):
            raise EvidenceError(f"{clause}: its tests are not named as FILE::FUNCTION")
        found[clause] = tests
    return found


def missing_tests(tests: Mapping[str, tuple[str, ...]], root: Path) -> tuple[str, ...]:
    """The tests of a table that the checkout at ``root`` does not have, each with its clause."""
    return tuple(
        f"{clause}: {test}"
        for clause, named in tests.items()
        for test in named
        if test not in set(_tests_in(root, test.partition("::")[0]))
    )


@cache
def _tests_in(root: Path, file: str) -> tuple[str, ...]:
    path = root / file
    return tuple(_functions(path, file)) if path.is_file() else ()


def _functions(path: Path, file: str) -> Iterator[str]:
    """The test functions that pytest finds in a file, by name."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield f"{file}::{node.name}"
