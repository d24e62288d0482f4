"""A pytest plugin: every vector as a test of its own, next to a backend's other tests.

``pytest --wayproof-backend=python:package.module:Factory`` adds one test for each vector, named by
its id, so that ``-k lease`` or a debugger at the failing step work as usual. All are played in
pytest's own process, by one backend over one store. This is for the work on a backend: fresh
sequences are not played, and so it is no verdict. ``wayproof check`` gives that.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:  # pytest loads this module in every run: what it needs is imported when wanted
    from wayproof.conformance.protocol.backend import Backend
    from wayproof.conformance.report.known import KnownFailure
    from wayproof.conformance.vectors.format import Vector

BACKEND: Final = "--wayproof-backend"
ONLY: Final = "--wayproof-only"
KNOWN: Final = "--wayproof-known"


class NotPassedError(Exception):
    """A vector that did not pass; the message says everything that is known."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the options."""
    group = parser.getgroup("wayproof", "judge a backend by the vectors of wayproof")
    group.addoption(BACKEND, metavar="NAME", help="python:package.module:Factory, sqlite or model")
    group.addoption(ONLY, metavar="GLOB", default="*", help="Play only vectors with such ids.")
    group.addoption(KNOWN, metavar="FILE", help="A file of declared failures.")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the vectors after the other tests, before any of them are deselected."""
    if config.getoption(BACKEND):
        suite = Suite.from_parent(session, name="wayproof", nodeid="wayproof")
        items.extend(suite.collect())


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which backend is judged."""
    backend = config.getoption(BACKEND)
    return [f"wayproof: {backend}, without fresh sequences"] if backend else []


class Suite(pytest.Collector):
    """All vectors that are wanted, and the backend that plays them, made when it is needed."""

    known: "tuple[KnownFailure, ...]" = ()
    _backend: "Backend | None" = None

    def collect(self) -> Iterator[pytest.Item]:
        """One item for each vector.

        Raises:
            pytest.UsageError: if an option's value cannot be used.
        """
        from wayproof.conformance.protocol.load import (  # noqa: PLC0415
            BackendLoadError,
            find_factory,
        )
        from wayproof.conformance.report.known import (  # noqa: PLC0415
            KnownFailuresError,
            read_known_failures,
        )
        from wayproof.conformance.vectors import VECTORS  # noqa: PLC0415
        from wayproof.conformance.vectors.reader import VectorProblem  # noqa: PLC0415
        from wayproof.conformance.vectors.suite import read_suite  # noqa: PLC0415

        known, only = self.config.getoption(KNOWN), self.config.getoption(ONLY)
        try:
            find_factory(self.config.getoption(BACKEND))
            vectors = read_suite(VECTORS / "journey", only)
            self.known = read_known_failures(Path(known), 1) if known else ()
        except (BackendLoadError, KnownFailuresError, VectorProblem, OSError) as error:
            raise pytest.UsageError(str(error)) from None
        if not vectors:
            raise pytest.UsageError(f"no vector's id fits {only!r}")
        for vector in vectors:
            item: VectorItem = VectorItem.from_parent(self, name=vector.id)
            item.vector = vector
            yield item

    def backend(self) -> "Backend":
        """The backend, the same for all vectors."""
        from wayproof.conformance.protocol.load import load_backend  # noqa: PLC0415

        if self._backend is None:
            self._backend = load_backend(self.config.getoption(BACKEND))
            self.config.add_cleanup(self._backend.close)
        return self._backend


class VectorItem(pytest.Item):
    """One vector."""

    vector: "Vector"

    def runtest(self) -> None:
        """Play it.

        Raises:
            NotPassedError: if it does not pass; a declared failure is expected to fail.
        """
        from wayproof.conformance.report.failure import failure_text  # noqa: PLC0415
        from wayproof.conformance.report.known import with_known  # noqa: PLC0415
        from wayproof.conformance.run.player import play  # noqa: PLC0415
        from wayproof.conformance.run.verdict import Verdict  # noqa: PLC0415

        suite = self.parent
        assert isinstance(suite, Suite)
        backend = suite.backend()
        result = with_known(play(self.vector, backend, backend.hello().capabilities), suite.known)
        if result.verdict is Verdict.NOT_APPLICABLE:
            pytest.skip(result.note)
        if result.verdict is Verdict.KNOWN_FAIL:
            pytest.xfail(result.note)
        if result.verdict is not Verdict.PASS:
            given = self.config.getoption(BACKEND)
            raise NotPassedError(failure_text(result, f"wayproof check --backend {given}"))

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Tell a vector that did not pass without the player's own frames."""
        if isinstance(excinfo.value, NotPassedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it stands: in no file of this project."""
        return Path("wayproof"), None, self.name
