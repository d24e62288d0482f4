"""Importing changed copies of a package, beside the package itself, which is never touched."""

import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.abc import ExecutionLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Final

_numbers: Final = count(1)


@cache
def sources_of(package: str) -> Mapping[str, str]:
    """The text of each source file of a package, by path inside it, such as ``reports.py``. Read
    once, so that a change of a file under way does not mix two versions of it."""
    spec = find_spec(package)
    assert spec is not None and spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0])
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(folder.rglob("*.py"))
    }


def import_copy(package: str, sources: Mapping[str, str], label: str) -> ModuleType:
    """Import such sources of a package under a name that no other copy has.

    What they import of the package by its full name they get from the copy. Tracebacks name a
    file as :func:`file_name` does. Whatever the code raises when it is imported passes through.
    """
    name = f"wayproof_copy_{next(_numbers)}"
    own_name = re.compile(rf"\b{re.escape(package)}\b")
    renamed = {file: own_name.sub(name, text) for file, text in sources.items()}
    finder = _CopyFinder(name, renamed, label)
    sys.meta_path.append(finder)
    try:
        return import_module(name)
    except BaseException:
        sys.meta_path.remove(finder)
        raise


def file_name(label: str, file: str = "") -> str:
    """What tracebacks call a file of a copy; without a file, how all such names begin."""
    return f"<{label}>/{file}"


class _CopyFinder(MetaPathFinder):
    def __init__(self, name: str, sources: Mapping[str, str], label: str) -> None:
        self._name = name
        self._sources = sources
        self._label = label

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's spec, if it is one of this copy."""
        first, *rest = fullname.split(".")
        if first != self._name:
            return None
        for file in ("/".join([*rest, "__init__.py"]), "/".join(rest) + ".py"):
            if file in self._sources:
                loader = _CopyLoader(self._sources[file], file_name(self._label, file))
                return spec_from_loader(fullname, loader)
        return None


class _CopyLoader(ExecutionLoader):
    def __init__(self, source: str, file: str) -> None:
        self._source = source
        self._file = file

    def is_package(self, fullname: str) -> bool:
        """Whether the module has modules of its own."""
        return self._file.endswith("/__init__.py")

    def get_source(self, fullname: str) -> str:
        """The text, which tracebacks show too."""
        return self._source

    def get_filename(self, fullname: str) -> str:
        """The name of the file in tracebacks."""
        return self._file
