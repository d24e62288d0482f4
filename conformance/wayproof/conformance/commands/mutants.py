"""``wayproof mutants``: see that every planted fault is caught."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

COULD_NOT_RUN = 3


class Set(StrEnum):
    """Which mutants."""

    NAMED = "named"
    BLIND = "blind"
    GENERATED = "generated"
    ALL = "all"


def mutants(
    name: Annotated[str, typer.Argument(metavar="NAME-GLOB", help="Only such mutants.")] = "*",
    *,
    only: Annotated[
        Set, typer.Option("--set", help="Written ones, ones written blind, or generated ones.")
    ] = Set.ALL,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Play every vector on every mutant; takes long.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 2,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long one vector may take.")] = 20.0,
    vectors: Annotated[
        Path | None,
        typer.Option(
            exists=True, file_okay=False, help="Where vectors are.", show_default="the checkout's"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Play the suite on backends that are wrong in one way each, and see that it fails them.

    A mutant meets the vectors about its own clauses first; the first that fails it kills it.

    Exit codes: 0 all killed, but for the excused; 1 survivors; 2 wrong input; 3 not all judged.

    Example: wayproof mutants 'lease-*' --set named
    """
    # Imported here, so that help and completion are quick.
    import fnmatch  # noqa: PLC0415
    import json  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415

    from wayproof.conformance.mutants.catalogue import (  # noqa: PLC0415
        SETS,
        CatalogueError,
        candidates_of,
    )
    from wayproof.conformance.mutants.run import Game, in_order, play_games  # noqa: PLC0415
    from wayproof.conformance.report.mutants import (  # noqa: PLC0415
        document,
        exit_code,
        print_outcomes,
    )
    from wayproof.conformance.vectors import VECTORS  # noqa: PLC0415
    from wayproof.conformance.vectors.reader import VectorProblem  # noqa: PLC0415
    from wayproof.conformance.vectors.suite import read_suite  # noqa: PLC0415

    try:
        sets = [held for held in SETS if only in (Set.ALL, held)]
        chosen = [c for c in candidates_of(sets) if fnmatch.fnmatchcase(c.name, name)]
        if not chosen:
            raise typer.BadParameter(f"no mutant's name fits {name!r}")
        suite = read_suite((vectors or VECTORS) / "journey")
    except (CatalogueError, VectorProblem, OSError) as error:
        raise typer.BadParameter(str(error)) from error
    games = [
        Game(candidate=c, vectors=in_order(c, suite), enough=_never if matrix else bool)
        for c in chosen
    ]
    outcomes = []
    try:
        for outcome in play_games(games, jobs=jobs, seconds=seconds):
            outcomes.append(outcome)
            _progress(len(outcomes), len(games), outcome.candidate.name)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: not all were judged\n")
        raise typer.Exit(COULD_NOT_RUN) from None
    place = {c.name: number for number, c in enumerate(chosen)}
    outcomes.sort(key=lambda outcome: place[outcome.candidate.name])
    if as_json:
        typer.echo(json.dumps(document(outcomes, matrix), ensure_ascii=False, indent=1))
    else:
        print_outcomes(outcomes, Console(), matrix)
    raise typer.Exit(exit_code(outcomes))


def _never(kills: object) -> bool:
    return False


def _progress(done: int, total: int, name: str) -> None:
    """Say how far it is, on a terminal only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{done} of {total}: {name}\r")
        sys.stderr.flush()
