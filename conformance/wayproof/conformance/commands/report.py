"""``wayproof report``: make report files from a run's results, and compare two runs."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from wayproof.conformance.report.results import Report

REGRESSION = 1
WRONG_INPUT = 2

app = typer.Typer(
    add_completion=False,
    help="Make report files from a run's results, and compare two runs.",
    no_args_is_help=True,
)

_RESULTS = typer.Argument(exists=True, dir_okay=False, help="As check --ndjson writes it.")


@app.command()
def render(
    results: Annotated[Path, _RESULTS],
    *,
    html: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write one HTML page that needs no other.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(dir_okay=False, help="Write JUnit XML.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write Markdown for a pull request.")
    ] = None,
) -> None:
    """Make report files from the results of a run, just as check makes them.

    Exit codes: 0 written, 2 wrong input.

    Example: wayproof report render results.ndjson --html report.html
    """
    from wayproof.conformance.report.files import (  # noqa: PLC0415
        Files,
        UnwritableError,
        write_files,
    )

    if html is None and junit is None and markdown is None:
        raise _wrong_input("say what to write: --html, --junit or --markdown")
    report = _read(results)
    try:
        write_files(report, Files(html=html, junit=junit, markdown=markdown))
    except UnwritableError as error:
        raise _wrong_input(str(error)) from error


@app.command()
def diff(
    old: Annotated[Path, _RESULTS],
    new: Annotated[Path, _RESULTS],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Say what a newer run has changed.

    A regression is a vector that fails and did not fail before, or that had a verdict and has none.

    Exit codes: 0 no regression, 1 a regression, 2 wrong input.

    Example: wayproof report diff main.ndjson branch.ndjson
    """
    from wayproof.conformance.report.diff import (  # noqa: PLC0415
        DifferentContractsError,
        compare,
        document,
        lines,
    )

    try:
        comparison = compare(_read(old), _read(new))
    except DifferentContractsError as error:
        raise _wrong_input(str(error)) from error
    if as_json:
        typer.echo(json.dumps(document(comparison), ensure_ascii=False, indent=1))
    else:
        for line in lines(comparison):
            typer.echo(line)
    raise typer.Exit(REGRESSION if comparison.regression else 0)


def _read(file: Path) -> "Report":
    from wayproof.conformance.report.ndjson import ResultsProblem, read_report  # noqa: PLC0415

    try:
        return read_report(file)
    except (ResultsProblem, OSError) as error:
        raise _wrong_input(str(error)) from error


def _wrong_input(message: str) -> typer.Exit:
    sys.stderr.write(f"error: {message}\n")
    return typer.Exit(WRONG_INPUT)
