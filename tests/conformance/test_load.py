from pathlib import Path

import pytest

from wayproof.conformance.protocol.load import (
    BackendAbsentError,
    BackendAttributeError,
    BackendFactoryError,
    BackendFormError,
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
    with pytest.raises(BackendFormError, match="model, sqlite or python:"):
        load_backend(name)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("python:no_such_module:Backend", "no_such_module"),
        ("python:no_such.module:Backend", "no_such"),
        ("python:os.no_such:Backend", "os.no_such"),
    ],
)
def test_a_module_that_is_not_there(name: str, missing: str) -> None:
    with pytest.raises(BackendAbsentError, match=f"^{name}: there is no module {missing},"):
        load_backend(name)


def test_a_module_that_fails_while_it_is_imported_is_no_wrong_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "exits_at_import.py").write_text("raise SystemExit(0)\n")
    (tmp_path / "imports_nothing.py").write_text("\nimport no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BackendImportError, match="SystemExit"):
        load_backend("python:exits_at_import:Backend")
    with pytest.raises(BackendImportError, match="no_such_module") as caught:
        load_backend("python:imports_nothing:Backend")
    assert not isinstance(caught.value, UnknownBackendError)
    first, place, *_ = caught.value.trace.splitlines()
    assert first.startswith("Traceback")
    assert 'imports_nothing.py", line 2' in place


def test_a_factory_that_is_not_there() -> None:
    with pytest.raises(BackendAttributeError, match=r"Nothing\.$"):
        load_backend(f"{FAKES}:Nothing")
    with pytest.raises(BackendAttributeError, match=r"WrongReply\.nothing\.$"):
        load_backend(f"{FAKES}:WrongReply.nothing")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("sqllite", "sqlite"),
        ("python:tests.conformance.fake:WrongReply", "tests.conformance.fakes"),
        (f"{FAKES}:WrongReplie", "WrongReply"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_closest(name: str, meant: str) -> None:
    with pytest.raises(UnknownBackendError, match=rf"Did you mean {meant}( or .*)?\?$"):
        load_backend(name)


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
