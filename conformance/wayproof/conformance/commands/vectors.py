"""``wayproof vectors``: build the suite from the model, or verify that it still holds."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    add_completion=False,
    help="Write the vectors, and verify them.",
    epilog="Example: wayproof vectors verify",
    no_args_is_help=True,
)

Root = Annotated[Path, typer.Option(help="The repository's root.", exists=True, file_okay=False)]


@app.command()
def build(root: Root = Path()) -> None:
    """Build every vector from the model and write the files that changed.

    It takes some minutes.

    Example: wayproof vectors build
    """
    from wayproof.conformance.generate.files import VECTOR_FOLDER, vector_files  # noqa: PLC0415
    from wayproof.conformance.progress import ProgressLine  # noqa: PLC0415
    from wayproof.conformance.report.words import several  # noqa: PLC0415

    with ProgressLine() as progress:
        files = vector_files(progress)
    changed = 0
    for path, content in files.items():
        target = root / path
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            changed += 1
    stale = {file for file in (root / VECTOR_FOLDER).rglob("*") if file.is_file()} - {
        root / path for path in files
    }
    for file in stale:
        file.unlink()
    typer.echo(f"{several(len(files), 'file')}, {changed} written, {len(stale)} removed.")


@app.command()
def verify(root: Root = Path()) -> None:
    """Read every vector strictly and play it on the model and on SQLite.

    The reader checks schema, digests and states without the generator; the model
    and the SQLite store then have to answer every vector.

    Exit codes: 0 everything holds, 1 something does not.

    Example: wayproof vectors verify
    """
    from wayproof.conformance.generate.verify import verify_suite  # noqa: PLC0415
    from wayproof.conformance.progress import ProgressLine  # noqa: PLC0415

    with ProgressLine() as progress:

        def say(text: str) -> None:
            progress.clear()
            typer.echo(text)

        problems = verify_suite(root / "conformance" / "vectors" / "journey", progress, say)
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise typer.Exit(1)
