"""Everything that is generated, and whether the files on disk are what would be written today."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wayproof.conformance.generate.files import VECTOR_FOLDER, vector_files
from wayproof.conformance.golden.files import GOLDEN_FOLDER, golden_files
from wayproof.conformance.progress import Progress, untold
from wayproof.conformance.publish.pages import page_files
from wayproof.conformance.publish.schemas import SCHEMA_FOLDER, schema_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator:
    """One thing that writes files into the repository."""

    name: str
    files: Callable[[Progress], Mapping[Path, bytes]]
    """What it writes: the content of each file, by its path from the repository's root. The same
    on every machine and on every day. It is told whom to tell how far it is."""
    folders: tuple[Path, ...] = ()
    """Folders that are wholly its own: a file there that it does not write is stale."""


GENERATORS: Final[list[Generator]] = [
    Generator(name="schemas", files=lambda _: schema_files(), folders=(SCHEMA_FOLDER,)),
    Generator(name="pages", files=lambda _: page_files()),
    Generator(name="golden bytes", files=lambda _: golden_files(), folders=(GOLDEN_FOLDER,)),
    Generator(name="vectors", files=vector_files, folders=(VECTOR_FOLDER,)),
]
"""Every generator, in the order in which they run."""


def generated_files(progress: Progress = untold) -> dict[Path, bytes]:
    """The content of every generated file, by its path from the repository's root.

    Raises:
        ValueError: if two generators write one file.
    """
    files: dict[Path, bytes] = {}
    for generator in GENERATORS:
        progress(f"making {generator.name}", len(files))
        written = generator.files(progress)
        twice = sorted(str(path) for path in files.keys() & written.keys())
        if twice:
            raise ValueError(f"{generator.name} writes what another generator writes: {twice}")
        files.update(written)
    return files


def stale_files(root: Path, progress: Progress = untold) -> list[Path]:
    """The generated files under ``root`` that are missing, differ or are written by nobody."""
    return _stale(root, generated_files(progress))


def _stale(root: Path, files: Mapping[Path, bytes]) -> list[Path]:
    stale = {path for path, content in files.items() if not _holds(root / path, content)}
    return sorted(stale | orphans(root, files))


def write_files(root: Path, progress: Progress = untold) -> list[Path]:
    """Bring the generated files under ``root`` up to date; answer those that changed."""
    files = generated_files(progress)
    changed = _stale(root, files)
    for path in changed:
        if path in files:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(files[path])
        else:
            (root / path).unlink()
    return changed


def orphans(root: Path, files: Mapping[Path, bytes]) -> set[Path]:
    """The files in folders of generators that no generator writes."""
    folders = [root / folder for generator in GENERATORS for folder in generator.folders]
    found = {
        path.relative_to(root) for folder in folders for path in folder.rglob("*") if path.is_file()
    }
    return found - files.keys()


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content
