"""``wayproof explain``: what a clause, ruling, refusal, operation, rule or vector means."""

from typing import Annotated

import typer


def explain(
    what: Annotated[
        str,
        typer.Argument(
            help="A clause (deadline-07), ruling (20), refusal, terminal reason, operation, "
            "rule (reserve.granted) or vector (race/order/0001)."
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Say what something means, where it comes from and what shows it.

    Exit codes: 0 explained, 2 nothing has that name, 3 the vectors could not be read.

    Example: wayproof explain deadline-07
    """
    import json  # noqa: PLC0415 - so that help and completion are quick

    from wayproof.conformance.evidence.explanations import (  # noqa: PLC0415
        explanation_of,
        names_like,
    )
    from wayproof.conformance.evidence.pages import print_explanation  # noqa: PLC0415
    from wayproof.conformance.report.console import output  # noqa: PLC0415
    from wayproof.conformance.report.words import did_you_mean  # noqa: PLC0415
    from wayproof.conformance.vectors.reader import VectorProblem  # noqa: PLC0415

    try:
        explanation = explanation_of(what)
        alike = () if explanation else names_like(what)
    except (VectorProblem, OSError) as problem:
        typer.echo(f"error: {problem}", err=True)
        raise typer.Exit(3) from None
    if explanation is None:
        typer.echo(
            f"error: no clause, ruling, refusal, reason, operation, rule or vector is named "
            f"{what!r}.{did_you_mean(alike)} `wayproof matrix` lists the clauses.",
            err=True,
        )
        raise typer.Exit(2)
    if as_json:
        typer.echo(json.dumps(explanation.document(), indent=1, ensure_ascii=False))
    else:
        print_explanation(explanation, output())
