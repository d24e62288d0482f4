"""Every scenario runs against the model and against the SQLite implementation."""

from collections.abc import Iterator

import pytest
from tests.acceptance.driver import Journeys

from wayproof.conformance.protocol.backend import Backend
from wayproof.conformance.protocol.load import load_backend


@pytest.fixture(scope="session", params=["model", "sqlite"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """One backend of each kind for all scenarios; each scenario has worlds of its own."""
    loaded = load_backend(request.param)
    yield loaded
    loaded.close()


@pytest.fixture
def journey(backend: Backend) -> Iterator[Journeys]:
    """The worlds and journeys of one scenario."""
    journeys = Journeys(backend)
    yield journeys
    journeys.close()
