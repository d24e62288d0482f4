"""Finding a backend by the name that a user gives."""

import importlib
import os
import sys
from collections.abc import Callable
from typing import Literal, cast

from wayproof.conformance.protocol.backend import Backend

Synchronous = Literal["NORMAL", "FULL"]
"""How long SQLite waits for the disk. A vector's restart closes and reopens the store without
cutting the power, so NORMAL loses nothing and judges the same."""


class BackendLoadError(Exception):
    """A backend that cannot be made."""


class UnknownBackendError(BackendLoadError):
    """A name of none of the known forms."""


class BackendImportError(BackendLoadError):
    """A module that cannot be imported."""


class BackendAttributeError(BackendLoadError):
    """A module without such a factory."""


class BackendFactoryError(BackendLoadError):
    """A factory that raised, or made something that is no backend."""


def load_backend(name: str, *, synchronous: Synchronous = "NORMAL") -> Backend:
    """Make a new backend over a new store.

    ``name`` is ``model``, ``sqlite`` or ``python:package.module:Factory``; the factory is called
    without arguments. Modules are looked for in the working directory too, after everything
    else.

    Raises:
        BackendLoadError: one of the four above.
    """
    factory = find_factory(name, synchronous=synchronous)
    try:
        backend = factory()
    except (Exception, SystemExit) as error:
        raise BackendFactoryError(f"{name} raised {type(error).__name__}: {error}") from error
    for needed in ("hello", "open", "close"):
        if not callable(getattr(backend, needed, None)):
            raise BackendFactoryError(f"{name} made what has no method {needed}")
    return backend


def check_name(name: str) -> None:
    """Check the form of a name, and import nothing.

    Raises:
        UnknownBackendError: if it is none of the known forms.
    """
    kind, _, place = name.partition(":")
    module, _, attribute = place.partition(":")
    dotted = (*module.split("."), *attribute.split("."))
    if name not in ("model", "sqlite") and not (
        kind == "python" and all(part.isidentifier() for part in dotted)
    ):
        raise UnknownBackendError(
            f"no backend is called {name!r}; say model, sqlite or python:package.module:Factory"
        )


def find_factory(name: str, *, synchronous: Synchronous = "NORMAL") -> Callable[[], Backend]:
    """What makes the backend, not called yet.

    Raises:
        UnknownBackendError, BackendImportError, BackendAttributeError: see :func:`load_backend`.
    """
    check_name(name)
    if name == "model":
        from wayproof.conformance.protocol.model_backend import ModelBackend  # noqa: PLC0415

        return ModelBackend
    if name == "sqlite":
        from wayproof.conformance.protocol.sqlite_backend import SqliteBackend  # noqa: PLC0415

        return lambda: SqliteBackend(synchronous=synchronous)
    _, module_name, attribute = name.split(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found: object = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise BackendImportError(
            f"{module_name} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise BackendAttributeError(f"{module_name} has nothing to call by the name {attribute}")
    return cast(Callable[[], Backend], found)
