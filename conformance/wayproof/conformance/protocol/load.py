"""Finding a backend by the name that a user gives."""

import importlib
import os
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Literal, cast

from wayproof.conformance.protocol.backend import Backend
from wayproof.conformance.report.words import did_you_mean

Synchronous = Literal["NORMAL", "FULL"]
"""How long SQLite waits for the disk. A vector's restart closes and reopens the store without
cutting the power, so NORMAL loses nothing and judges the same."""


class BackendLoadError(Exception):
    """A backend that cannot be made."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace
        """The traceback of the backend's own error, if there is one."""


class UnknownBackendError(BackendLoadError):
    """A name that names nothing."""


class BackendFormError(UnknownBackendError):
    """A name of none of the known forms."""


class BackendAbsentError(UnknownBackendError):
    """A module that is not there."""


class BackendAttributeError(UnknownBackendError):
    """A module without such a factory."""


class BackendImportError(BackendLoadError):
    """A module that is there and fails while it is imported."""


class BackendFactoryError(BackendLoadError):
    """A factory that raised, or made something that is no backend."""


def load_backend(name: str, *, synchronous: Synchronous = "NORMAL") -> Backend:
    """Make a new backend over a new store.

    ``name`` is ``model``, ``sqlite`` or ``python:package.module:Factory``; the factory is called
    without arguments. Modules are looked for in the working directory too, after everything
    else.

    Raises:
        BackendLoadError: one of those above.
    """
    factory = find_factory(name, synchronous=synchronous)
    own_name = name.rpartition(":")[2]
    try:
        backend = factory()
    except (Exception, SystemExit) as error:
        raise BackendFactoryError(
            f"{own_name} raised {type(error).__name__}: {error}", _trace(error)
        ) from error
    for needed in ("hello", "open", "close"):
        if not callable(getattr(backend, needed, None)):
            raise BackendFactoryError(f"{own_name} made what has no method {needed}")
    return backend


def check_name(name: str) -> None:
    """Check the form of a name, and import nothing.

    Raises:
        BackendFormError: if it is none of the known forms.
    """
    kind, _, place = name.partition(":")
    module, _, attribute = place.partition(":")
    dotted = (*module.split("."), *attribute.split("."))
    if name not in ("model", "sqlite") and not (
        kind == "python" and all(part.isidentifier() for part in dotted)
    ):
        alike = did_you_mean(get_close_matches(name, ("model", "sqlite")))
        raise BackendFormError(
            f"no backend is called {name!r}; "
            f"say model, sqlite or python:package.module:Factory.{alike}"
        )


def find_factory(name: str, *, synchronous: Synchronous = "NORMAL") -> Callable[[], Backend]:
    """What makes the backend, not called yet.

    Raises:
        UnknownBackendError: if the name names nothing.
        BackendImportError: if the module is there and cannot be imported.
    """
    check_name(name)
    if name == "model":
        from wayproof.conformance.protocol.model_backend import ModelBackend  # noqa: PLC0415

        return ModelBackend
    if name == "sqlite":
        from wayproof.conformance.protocol.sqlite_backend import SqliteBackend  # noqa: PLC0415

        return lambda: SqliteBackend(synchronous=synchronous)
    _, module_name, attribute = name.split(":")
    alike = ""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found: object = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and _is_or_holds(error.name, module_name):
            alike = did_you_mean(get_close_matches(module_name, _modules_beside(module_name)))
            raise BackendAbsentError(
                f"{name}: there is no module {error.name}, neither in the working directory nor "
                f"where Python looks.{alike}"
            ) from error
        raise BackendImportError(
            f"{module_name} cannot be imported: {type(error).__name__}: {error}", _trace(error)
        ) from error
    for part in attribute.split("."):
        beside, found = dir(found), getattr(found, part, None)
        if found is None:
            alike = did_you_mean(get_close_matches(part, beside))
            break
    if not callable(found):
        raise BackendAttributeError(
            f"{name}: {module_name} has nothing to call by the name {attribute}.{alike}"
        )
    return cast(Callable[[], Backend], found)


def _is_or_holds(missing: str | None, module: str) -> bool:
    """Whether a missing module is that one or a package around it, and not one it imports."""
    return missing is not None and f"{module}.".startswith(f"{missing}.")


def _modules_beside(module: str) -> Iterator[str]:
    package, _, _ = module.rpartition(".")
    places = getattr(sys.modules.get(package), "__path__", ()) if package else [os.getcwd()]
    for found in pkgutil.iter_modules(places):
        yield f"{package}.{found.name}" if package else found.name


def _trace(error: BaseException) -> str:
    """The traceback of what a backend raised, without how we came there."""
    place = error.__traceback__
    ours = (__file__, importlib.__file__)
    while place is not None and (
        place.tb_frame.f_code.co_filename in ours
        or place.tb_frame.f_code.co_filename.startswith("<frozen importlib")
    ):
        place = place.tb_next
    return "".join(traceback.format_exception(type(error), error, place))
