"""``wayproof mutants``: see that every planted fault is caught."""

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from wayproof.conformance.mutants.catalogue import Candidate
    from wayproof.conformance.mutants.run import Game, Outcome
    from wayproof.conformance.mutants.serving import Serving
    from wayproof.conformance.progress import Progress
    from wayproof.conformance.vectors.format import Vector

SURVIVORS = 1
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
        Set,
        typer.Option(
            "--set", metavar="SET", help="named, blind (written blind), generated, or all."
        ),
    ] = Set.ALL,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Play every vector on every mutant; takes long.")
    ] = False,
    served: Annotated[
        bool, typer.Option("--served", help="Say which clauses no mutant shows to be tested.")
    ] = False,
    excused: Annotated[
        bool,
        typer.Option("--excused", help="Play the excused too, to see that nothing kills them."),
    ] = False,
    write: Annotated[
        bool, typer.Option("--write-score", help="Write the score file, and judge as usual.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Worker processes.")] = 2,
    seconds: Annotated[
        float, typer.Option(min=0.1, metavar="S", help="How long one vector may take.")
    ] = 20.0,
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
    Those that are excused, since no vector can tell them apart, are listed but not played.

    Exit codes: 0 all killed but the excused, or all clauses served; 1 not so;
    2 wrong input; 3 not all could be judged.

    Example: wayproof mutants 'lease-*' --set named
    """
    # Imported here and below, so that help and completion are quick.
    import json  # noqa: PLC0415

    from wayproof.conformance.mutants.run import Game, in_order  # noqa: PLC0415
    from wayproof.conformance.progress import ProgressLine  # noqa: PLC0415
    from wayproof.conformance.report import mutants as report  # noqa: PLC0415
    from wayproof.conformance.report.console import output  # noqa: PLC0415

    if write and (name != "*" or only is not Set.ALL or matrix or served):
        raise typer.BadParameter("the score is that of all mutants; say --write-score alone")
    if served and (matrix or excused):
        raise typer.BadParameter("say --matrix or --served; --served never plays the excused")
    serving: Serving | None = None
    outcomes: list[Outcome] = []
    try:
        with ProgressLine() as progress:
            chosen, suite = _input(name, only, vectors, progress)
            if not served:
                enough = _never if matrix else bool
                games = [
                    Game(
                        candidate=candidate,
                        vectors=in_order(candidate, suite)
                        if excused or not candidate.excuse
                        else (),
                        enough=enough,
                    )
                    for candidate in chosen
                ]
                outcomes = _play(games, jobs, seconds, progress)
            if served or write:
                serving = _serve(chosen, suite, jobs, seconds, progress)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: not all were judged\n")
        raise typer.Exit(COULD_NOT_RUN) from None
    if serving is not None and served:
        if as_json:
            typer.echo(json.dumps(report.serving_document(serving), indent=1))
        else:
            report.print_serving(serving, output())
        raise typer.Exit(SURVIVORS if serving.unserved else 0)
    if serving is not None:
        _write_score(outcomes, serving)
    if as_json:
        typer.echo(json.dumps(report.document(outcomes, matrix), ensure_ascii=False, indent=1))
    else:
        report.print_outcomes(outcomes, output(), matrix)
    raise typer.Exit(report.exit_code(outcomes))


def _input(
    name: str, only: Set, vectors: Path | None, progress: "Progress"
) -> tuple[tuple["Candidate", ...], tuple["Vector", ...]]:
    import fnmatch  # noqa: PLC0415
    from difflib import get_close_matches  # noqa: PLC0415

    from wayproof.conformance.mutants.catalogue import (  # noqa: PLC0415
        SETS,
        CatalogueError,
        candidates_of,
    )
    from wayproof.conformance.report.words import did_you_mean  # noqa: PLC0415
    from wayproof.conformance.vectors import VECTORS  # noqa: PLC0415
    from wayproof.conformance.vectors.reader import VectorProblem  # noqa: PLC0415
    from wayproof.conformance.vectors.suite import read_suite  # noqa: PLC0415

    try:
        candidates = candidates_of([held for held in SETS if only in (Set.ALL, held)])
        chosen = tuple(c for c in candidates if fnmatch.fnmatchcase(c.name, name))
        if not chosen:
            alike = did_you_mean(get_close_matches(name, [c.name for c in candidates]))
            raise typer.BadParameter(f"no mutant's name fits {name!r}.{alike}")
        return chosen, read_suite((vectors or VECTORS) / "journey", progress=progress)
    except (CatalogueError, VectorProblem, OSError) as error:
        raise typer.BadParameter(str(error)) from error


def _play(
    games: Sequence["Game"], jobs: int, seconds: float, progress: "Progress"
) -> list["Outcome"]:
    """Play all games, and put the outcomes in their order."""
    from wayproof.conformance.mutants.run import play_games  # noqa: PLC0415

    outcomes: list[Outcome] = []
    progress("playing on mutants", 0, len(games))
    for outcome in play_games(games, jobs=jobs, seconds=seconds):
        outcomes.append(outcome)
        progress("playing on mutants", len(outcomes), len(games))
    place = {game.candidate.name: number for number, game in enumerate(games)}
    return sorted(outcomes, key=lambda outcome: place[outcome.candidate.name])


def _serve(
    chosen: Sequence["Candidate"],
    suite: Sequence["Vector"],
    jobs: int,
    seconds: float,
    progress: "Progress",
) -> "Serving":
    from itertools import count  # noqa: PLC0415

    from wayproof.conformance.mutants.serving import clauses_to_serve, serve  # noqa: PLC0415

    played = count(1)
    return serve(
        clauses_to_serve(),
        chosen,
        suite,
        jobs=jobs,
        seconds=seconds,
        heard=lambda _outcome: progress("playing to see which clauses are served", next(played)),
    )


def _write_score(outcomes: Sequence["Outcome"], serving: "Serving") -> None:
    from wayproof.conformance.mutants.score import (  # noqa: PLC0415
        SCORE_FILE,
        score_of,
        write_score,
    )

    try:
        write_score(score_of(outcomes, serving))
    except ValueError as error:
        sys.stderr.write(f"error: no score was written: {error}\n")
    else:
        sys.stderr.write(f"{SCORE_FILE} was written\n")


def _never(kills: object) -> bool:
    return False
