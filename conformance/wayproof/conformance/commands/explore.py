"""``wayproof explore``: explore the model exhaustively from small configurations."""

from enum import StrEnum
from typing import Annotated

import typer

VIOLATED = 1
NOT_FINISHED = 3


class Bounds(StrEnum):
    """How much is explored."""

    SMALL = "small"
    FULL = "full"


def explore(
    configuration: Annotated[
        str | None, typer.Argument(help="Explore this one alone.", show_default="all of them")
    ] = None,
    *,
    bounds: Annotated[
        Bounds, typer.Option(help="small takes seconds, full a minute or so.")
    ] = Bounds.FULL,
    max_states: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Give up a configuration with more states."),
    ] = 1_000_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Explore the model from every state that small configurations reach.

    Every state is checked with the invariants and the oracle, every step with the
    contracts and the legal transitions, and time alone must settle every journey.
    The shortest way to the first fault is printed.

    Exit codes: 0 everything holds, 1 something is violated, 2 wrong input, 3 not finished.

    Example: wayproof explore ceiling --bounds small
    """
    # Imported here, so that help and completion are quick.
    import json  # noqa: PLC0415
    from difflib import get_close_matches  # noqa: PLC0415

    from wayproof.conformance.progress import ProgressLine  # noqa: PLC0415
    from wayproof.conformance.report.exploration import (  # noqa: PLC0415
        document,
        explored,
        lines,
        summary,
    )
    from wayproof.conformance.report.words import did_you_mean, several  # noqa: PLC0415
    from wayproof.model.journey.configurations import configurations  # noqa: PLC0415

    table = configurations(bounds.value)
    if configuration is not None:
        if configuration not in table:
            alike = did_you_mean(get_close_matches(configuration, table))
            raise typer.BadParameter(
                f"no configuration is named {configuration}; there are {', '.join(table)}.{alike}",
                param_hint="CONFIGURATION",
            )
        table = {configuration: table[configuration]}
    results = []
    with ProgressLine() as progress:

        def tell(name: str, states: int, edges: int) -> None:
            progress(f"exploring {name}: {several(edges, 'step')}, states", states)

        for name, entry in table.items():
            result = explored(name, entry, max_states, tell)
            results.append(result)
            if not as_json:
                progress.clear()
                typer.echo("\n".join(lines(result)))
    if as_json:
        typer.echo(json.dumps(document(results), ensure_ascii=False, indent=1))
    else:
        typer.echo(summary(results))
    if any(result.found.violation is not None for result in results):
        raise typer.Exit(VIOLATED)
    if not all(result.found.finished for result in results):
        raise typer.Exit(NOT_FINISHED)
