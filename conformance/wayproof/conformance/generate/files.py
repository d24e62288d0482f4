"""The suite as files."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from wayproof.conformance.generate.suite import build, model_digest
from wayproof.conformance.progress import Progress, untold
from wayproof.conformance.vectors.schema import write_schema
from wayproof.conformance.vectors.suite import write_suite

VECTOR_FOLDER: Final = Path("conformance/vectors")
"""From the root of a checkout."""


def vector_files(progress: Progress = untold) -> Mapping[Path, bytes]:
    """Every vector file, the manifest and the format's schema, by path from the root."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_suite(folder / "journey", build(progress), model_digest(), progress)
        write_schema(folder)
        return {
            VECTOR_FOLDER / file.relative_to(folder): file.read_bytes()
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }
