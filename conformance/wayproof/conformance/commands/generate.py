"""``wayproof generate``: write what is generated, or check that it is written."""

from pathlib import Path
from typing import Annotated

import typer


def generate(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail if a file is not up to date.")
    ] = False,
    root: Annotated[
        Path, typer.Option(help="The repository's root.", exists=True, file_okay=False)
    ] = Path(),
) -> None:
    """Write the generated files of this repository: schemas, pages, vectors.

    It takes some minutes.

    Exit codes: 0 up to date or written, 1 --check found a stale file, 2 wrong input.

    Example: wayproof generate --check
    """
    from wayproof.conformance.progress import ProgressLine  # noqa: PLC0415
    from wayproof.conformance.publish.generators import stale_files, write_files  # noqa: PLC0415

    if not (root / "spec").is_dir():
        typer.echo(
            f"error: {root.resolve()} is no checkout of wayproof (no spec/ in it).", err=True
        )
        typer.echo("Run it in the repository's root, or give --root.", err=True)
        raise typer.Exit(2)
    with ProgressLine() as progress:
        changed = stale_files(root, progress) if check else write_files(root, progress)
    for path in changed:
        typer.echo(f"{'stale' if check else 'written'}: {path}")
    if check and changed:
        typer.echo("Run `wayproof generate` and commit what it changed.", err=True)
        raise typer.Exit(1)
    if not changed:
        typer.echo("Every generated file is up to date.")
