"""``wayproof matrix``: the chain from clause to rule, property and vector."""

from typing import Annotated

import typer


def matrix(
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on planned clauses too.")] = False,
    gaps: Annotated[bool, typer.Option("--gaps", help="Show incomplete clauses only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show the chain from clause to rule, property and vector.

    Exit codes: 0 the chain is whole but for planned clauses, 1 it is not (with
    --strict also if a clause is planned), 3 the vectors could not be read.

    Example: wayproof matrix --gaps
    """
    import json  # noqa: PLC0415 - so that help and completion are quick

    from wayproof.conformance.evidence.chain import derive  # noqa: PLC0415
    from wayproof.conformance.evidence.pages import matrix_document, print_matrix  # noqa: PLC0415
    from wayproof.conformance.progress import ProgressLine  # noqa: PLC0415
    from wayproof.conformance.report.console import output  # noqa: PLC0415
    from wayproof.conformance.vectors import VECTORS  # noqa: PLC0415
    from wayproof.conformance.vectors.reader import VectorProblem  # noqa: PLC0415
    from wayproof.conformance.vectors.stored import Sketch  # noqa: PLC0415
    from wayproof.conformance.vectors.suite import find_suite  # noqa: PLC0415

    try:
        found = find_suite(VECTORS / "journey").vectors
        sketches: list[Sketch] = []
        with ProgressLine() as progress:
            for stored in found:
                progress("looking through vectors", len(sketches), len(found))
                sketches.append(stored.sketch())
    except (VectorProblem, OSError) as problem:
        typer.echo(f"error: {problem}", err=True)
        raise typer.Exit(3) from None
    chain = derive(sketches)
    if as_json:
        typer.echo(json.dumps(matrix_document(chain, gaps_only=gaps), indent=1, ensure_ascii=False))
    else:
        print_matrix(chain, output(), gaps_only=gaps)
    planned = sum(link.gaps == ("planned",) for link in chain.links.values())
    if len(chain.problems) > (0 if strict else planned):
        raise typer.Exit(1)
