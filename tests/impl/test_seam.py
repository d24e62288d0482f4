"""The store is a seam: it touches nothing but its own files (clause ``capability-10``)."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from tests.impl.clients import Client, serving
from tests.impl.script import STEPS

from wayproof.impl.journey import service

_OUTSIDE: Final = ("subprocess.", "socket.", "os.exec", "os.fork", "os.posix_spawn", "os.system")
_CHANGES: Final = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink")

_listening: list[tuple[Path, list[str]]] = []


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    for folder, heard in _listening:
        if event.startswith(_OUTSIDE) or (
            (event in _CHANGES or (event == "open" and _writes(arguments)))
            and not Path(os.fsdecode(arguments[0])).is_relative_to(folder)
        ):
            heard.append(event)


def _writes(arguments: tuple[Any, ...]) -> bool:
    path, mode, flags = arguments
    return isinstance(path, str | bytes) and (
        any(letter in (mode or "") for letter in "wax+") or bool(flags & (os.O_WRONLY | os.O_RDWR))
    )


sys.addaudithook(_listen)  # for good: there is no way to remove one, so it listens on demand


@contextmanager
def effects_outside(folder: Path) -> Iterator[list[str]]:
    """What this process does besides: to other files, to other processes, to the network."""
    heard: list[str] = []
    _listening.append((folder, heard))
    try:
        yield heard
    finally:
        _listening.clear()


def effects_of_every_operation(folder: Path) -> list[str]:
    with effects_outside(folder) as heard, serving(folder / "store.db") as served:
        client = Client(served)
        for _, act in STEPS:
            act(client)
    return heard


def test_no_operation_has_an_effect_outside_the_store(tmp_path: Path) -> None:
    assert effects_of_every_operation(tmp_path) == []


def starts_a_workflow(_: Path) -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def changes_an_artifact(elsewhere: Path) -> None:
    (elsewhere / "artifact").write_text("changed")


def makes_a_folder(elsewhere: Path) -> None:
    (elsewhere / "semantics").mkdir()


@pytest.mark.parametrize("effect", [starts_a_workflow, changes_an_artifact, makes_a_folder])
def test_an_effect_outside_the_store_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, effect: Callable[[Path], None]
) -> None:
    (tmp_path / "store").mkdir()
    begin = service._HANDLERS["begin_journey"]

    def meddling(*given: Any) -> Any:
        effect(tmp_path)
        return begin(*given)

    monkeypatch.setitem(service._HANDLERS, "begin_journey", meddling)
    assert effects_of_every_operation(tmp_path / "store")
