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

    Exit codes: 0 explained, 2 nothing has that name.

    Example: wayproof explain deadline-07
    """
    import json  # noqa: PLC0415 - so that help and completion are quick

    from rich.console import Console  # noqa: PLC0415

    from wayproof.conformance.evidence.explanations import explanation_of  # noqa: PLC0415
    from wayproof.conformance.evidence.pages import print_explanation  # noqa: PLC0415

    explanation = explanation_of(what)
    if explanation is None:
        typer.echo(
            f"error: no clause, ruling, refusal, reason, operation, rule or vector is named "
            f"{what!r}. `wayproof matrix` lists the clauses.",
            err=True,
        )
        raise typer.Exit(2)
    if as_json:
        typer.echo(json.dumps(explanation.document(), indent=1, ensure_ascii=False))
    else:
        print_explanation(explanation, Console())
