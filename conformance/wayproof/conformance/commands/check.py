"""``wayproof check``: judge a backend by the suite."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

WRONG_INPUT = 2
COULD_NOT_RUN = 3

ONLY_HELP = (
    "Play only such ids. It chooses among fresh sequences too, which are called fresh/SEED; most "
    "globs leave them all out."
)


class Synchronous(StrEnum):
    """How long SQLite waits for the disk."""

    NORMAL = "NORMAL"
    FULL = "FULL"


def check(
    *,
    contract: Annotated[
        str, typer.Option(metavar="NAME", help="The contract to judge by.")
    ] = "journey",
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="sqlite, model or python:MODULE:FACTORY.")
    ] = "sqlite",
    only: Annotated[str, typer.Option(metavar="GLOB", help=ONLY_HELP)] = "*",
    fresh: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Play so many sequences that no vector file holds, too."
        ),
    ] = 200,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=2**53 - 1,
            metavar="N",
            help="Of the first fresh sequence.",
            show_default="random",
        ),
    ] = None,
    synchronous: Annotated[
        Synchronous, typer.Option(help="How long sqlite waits for the disk.")
    ] = Synchronous.NORMAL,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Worker processes.", show_default="one for each processor"
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, metavar="S", help="How long one vector may take.")
    ] = 60.0,
    known: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="A file of declared failures.")
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(
            exists=True, file_okay=False, help="Where vectors are.", show_default="the checkout's"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="Stop at the first failure or fault.")
    ] = False,
    save: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help="A new folder for the vectors of fresh sequences that fail."
        ),
    ] = None,
    ndjson: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the results, a line each.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(dir_okay=False, help="Write JUnit XML.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write Markdown for a pull request.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write one HTML page that needs no other.")
    ] = None,
) -> None:
    """Judge a backend by the suite.

    Exit codes: 0 conforms, 1 does not, 2 wrong input, 3 could not be judged.

    Example: wayproof check --backend python:package.module:Factory --fresh 100
    """
    # Imported here, so that help and completion are quick.
    import json  # noqa: PLC0415
    import shlex  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415

    from wayproof.conformance.report.console import output  # noqa: PLC0415
    from wayproof.conformance.report.document import report_document  # noqa: PLC0415
    from wayproof.conformance.report.files import (  # noqa: PLC0415
        Files,
        UnwritableError,
        recording,
    )
    from wayproof.conformance.report.terminal import print_report  # noqa: PLC0415
    from wayproof.conformance.run.check import Check, carry_out  # noqa: PLC0415
    from wayproof.conformance.run.suite import (  # noqa: PLC0415
        CouldNotRunError,
        WrongInputError,
    )
    from wayproof.conformance.vectors import VECTORS  # noqa: PLC0415

    wanted = Check(
        backend=backend,
        contract=contract,
        only=only,
        fresh=fresh,
        seed=seed,
        synchronous=synchronous.value,
        jobs=jobs,
        seconds=seconds,
        vectors=vectors or VECTORS,
        known=known,
        fail_fast=fail_fast,
        save=save,
    )
    try:
        files = Files(ndjson=ndjson, html=html, junit=junit, markdown=markdown)
        with recording(files) as recorder:
            summary = carry_out(wanted, Console(stderr=True), recorder)
            if recorder is not None:
                recorder.end(summary)
    except (WrongInputError, UnwritableError) as error:
        sys.stderr.write(f"error: {error}\n")
        raise typer.Exit(WRONG_INPUT) from error
    except CouldNotRunError as error:
        sys.stderr.write(f"{error.trace}error: {backend} could not be run: {error.message}\n")
        raise typer.Exit(COULD_NOT_RUN) from error
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: there is no verdict\n")
        raise typer.Exit(COULD_NOT_RUN) from None
    if as_json:
        typer.echo(json.dumps(report_document(summary), ensure_ascii=False, indent=1))
    else:
        print_report(summary, output())
    if save is not None and (save / contract).is_dir():
        words = ["wayproof", "check", "--backend", backend, "--vectors", str(save), "--fresh", "0"]
        again = shlex.join(words)
        sys.stderr.write(f"the fresh sequences that failed are saved; to play them: {again}\n")
    raise typer.Exit(summary.exit_code)
