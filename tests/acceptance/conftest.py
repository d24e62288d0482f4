"""Every scenario runs against the model, an eager reading of it, and the SQLite implementation."""

from collections.abc import Iterator

import pytest
from tests.acceptance.driver import Journeys
from tests.acceptance.eager import EagerBackend

from wayproof.conformance.protocol.backend import Backend
from wayproof.conformance.protocol.load import load_backend


@pytest.fixture(scope="session", params=["model", "eager model", "sqlite"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """One backend of each kind for all scenarios; each scenario has worlds of its own."""
    name = str(request.param)
    loaded = load_backend(name.removeprefix("eager "))
    backend: Backend = EagerBackend(loaded) if name.startswith("eager ") else loaded
    yield backend
    backend.close()


@pytest.fixture
def journey(backend: Backend) -> Iterator[Journeys]:
    """The worlds and journeys of one scenario."""
    journeys = Journeys(backend)
    yield journeys
    journeys.close()
