"""``wayproof variants``: see that every allowed deviation passes."""

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from wayproof.conformance.commands.check import ONLY_HELP

WRONG_INPUT = 2


def variants(
    name: Annotated[str, typer.Argument(metavar="GLOB", help="Only such variants.")] = "*",
    *,
    only: Annotated[str, typer.Option(metavar="GLOB", help=ONLY_HELP)] = "*",
    every: Annotated[int, typer.Option(min=1, metavar="N", help="Play only every Nth vector.")] = 1,
    fresh: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Play so many sequences that no vector file holds, too."
        ),
    ] = 20,
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
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="How many at a time.", show_default="one for each processor"
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, metavar="S", help="How long one vector may take.")
    ] = 60.0,
    vectors: Annotated[
        Path | None,
        typer.Option(
            exists=True, file_okay=False, help="Where vectors are.", show_default="the checkout's"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Play the suite on backends that differ only as the contract allows.

    Each has to pass everything: what one of them fails demands more than the contract does.

    Exit codes: 0 all pass, 1 a false alarm, 2 wrong input, 3 not all could be judged.

    Example: wayproof variants 'sweeps-*' --every 10
    """
    # Imported here, so that help and completion are quick.
    import fnmatch  # noqa: PLC0415
    import json  # noqa: PLC0415
    import os  # noqa: PLC0415
    import secrets  # noqa: PLC0415
    from difflib import get_close_matches  # noqa: PLC0415

    from wayproof.conformance.progress import ProgressLine  # noqa: PLC0415
    from wayproof.conformance.report import variants as report  # noqa: PLC0415
    from wayproof.conformance.report.console import output  # noqa: PLC0415
    from wayproof.conformance.report.words import did_you_mean  # noqa: PLC0415
    from wayproof.conformance.run.check import chunks  # noqa: PLC0415
    from wayproof.conformance.run.worker import Task  # noqa: PLC0415
    from wayproof.conformance.variants.judge import (  # noqa: PLC0415
        COULD_NOT_RUN,
        exit_code,
        judge,
    )
    from wayproof.conformance.variants.variant import variants as all_variants  # noqa: PLC0415
    from wayproof.conformance.vectors import VECTORS  # noqa: PLC0415
    from wayproof.conformance.vectors.reader import VectorProblem  # noqa: PLC0415
    from wayproof.conformance.vectors.suite import globs_like, read_suite  # noqa: PLC0415

    known = all_variants()
    chosen = [v for v in known.values() if fnmatch.fnmatchcase(v.name, name)]
    if not chosen:
        alike = did_you_mean(get_close_matches(name, known))
        _refuse(f"no variant's name fits {name!r}.{alike}")
    try:
        with ProgressLine() as progress:
            suite = read_suite((vectors or VECTORS) / "journey", only, progress)[::every]
    except (VectorProblem, OSError) as error:
        _refuse(str(error))
    first = secrets.randbelow(2**31) if seed is None else seed
    seeds = [s for s in range(first, first + fresh) if fnmatch.fnmatchcase(f"fresh/{s}", only)]
    tasks: list[Task] = [*suite, *chunks(seeds)]
    if not tasks:
        alike = did_you_mean(globs_like((vectors or VECTORS) / "journey", only))
        _refuse(f"no vector's id fits {only!r}.{alike}")
    judgements = []
    try:
        with ProgressLine() as progress:
            progress("playing on variants", 0, len(chosen))
            for judgement in judge(
                chosen, tasks, jobs=jobs or len(os.sched_getaffinity(0)), seconds=seconds
            ):
                judgements.append(judgement)
                progress("playing on variants", len(judgements), len(chosen))
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: not all were judged\n")
        raise typer.Exit(COULD_NOT_RUN) from None
    if as_json:
        written = report.document(judgements, first, len(seeds))
        typer.echo(json.dumps(written, ensure_ascii=False, indent=1))
    else:
        report.print_judgements(judgements, first, len(seeds), output())
    raise typer.Exit(exit_code(judgements))


def _refuse(message: str) -> NoReturn:
    sys.stderr.write(f"error: {message}\n")
    raise typer.Exit(WRONG_INPUT)
