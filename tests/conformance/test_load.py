from pathlib import Path

import pytest

from wayproof.conformance.protocol.load import (
    BackendAttributeError,
    BackendFactoryError,
    BackendImportError,
    UnknownBackendError,
    load_backend,
)
from wayproof.conformance.protocol.sqlite_backend import SqliteBackend

FAKES = "python:tests.conformance.fakes"


@pytest.mark.parametrize("name", ["model", "sqlite", f"{FAKES}:WrongReply"])
def test_a_known_backend_is_loaded(name: str) -> None:
    backend = load_backend(name)
    assert "durable_lifecycle" in backend.hello().capabilities
    backend.close()


@pytest.mark.parametrize("name", ["", "Model", "python:", "python:x", "python:x:", "python:a:b:c"])
def test_a_name_of_no_known_form(name: str) -> None:
    with pytest.raises(UnknownBackendError, match="model, sqlite or python:"):
        load_backend(name)


def test_a_module_that_is_not_there_or_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BackendImportError, match="no_such_module"):
        load_backend("python:no_such_module:Backend")
    (tmp_path / "exits_at_import.py").write_text("raise SystemExit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BackendImportError, match="SystemExit"):
        load_backend("python:exits_at_import:Backend")


def test_a_factory_that_is_not_there() -> None:
    with pytest.raises(BackendAttributeError, match="Nothing"):
        load_backend(f"{FAKES}:Nothing")


def test_a_factory_that_exits_or_makes_something_else() -> None:
    with pytest.raises(BackendFactoryError, match="SystemExit"):
        load_backend(f"{FAKES}:unmakeable")
    with pytest.raises(BackendFactoryError, match="hello"):
        load_backend("python:os:getcwd")


def test_the_sqlite_backend_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    backend = SqliteBackend()
    assert list(tmp_path.iterdir())
    backend.close()
    assert list(tmp_path.iterdir()) == []
