"""The chain and explanations on a terminal, and as JSON."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from wayproof.conformance.evidence.chain import Chain, by_section
from wayproof.conformance.evidence.explanations import Explanation
from wayproof.conformance.report.words import several


def matrix_document(chain: Chain, *, gaps_only: bool) -> dict[str, Any]:
    """The chain as JSON."""
    return {
        "clauses": [
            {
                "id": link.clause.id,
                "text": link.clause.text,
                "section": link.clause.section,
                "status": link.clause.status,
                "observability": link.clause.observability,
                "reason": link.clause.reason,
                "rules": link.rules,
                "properties": link.properties,
                "vectors": len(link.vectors),
                "tests": link.tests,
                "gaps": list(link.gaps),
            }
            for link in chain.links.values()
            if link.gaps or not gaps_only
        ],
        "problems": list(chain.problems),
    }


def print_matrix(chain: Chain, console: Console, *, gaps_only: bool) -> None:
    """One table for each section, then the counts."""
    for section, links in by_section(chain).items():
        shown = [link for link in links if link.gaps or not gaps_only]
        if not shown:
            continue
        table = Table(title=section, title_justify="left", expand=False)
        for column in ("clause", "sentence", "rules", "properties", "vectors", ""):
            table.add_column(column, overflow="fold")
        for link in shown:
            unseen = "" if link.clause.observability == "black_box" else link.clause.observability
            if link.tests:
                unseen = several(len(link.tests), "test")
            table.add_row(
                link.clause.id,
                escape(link.clause.text),
                str(len(link.rules)),
                str(len(link.properties)),
                str(len(link.vectors)),
                ", ".join(link.gaps) or unseen,
            )
        console.print(table)
    whole = list(chain.links.values())
    planned = [link for link in whole if link.clause.status == "planned"]
    hidden = [link for link in whole if link.clause.observability != "black_box"]
    gaps = [p for p in chain.problems if not p.endswith(": planned")]
    console.print(
        f"{len(whole)} clauses: {len(whole) - len(planned)} active, {len(planned)} planned, "
        f"{len(hidden)} not to be seen from outside."
    )
    for problem in gaps:
        console.print(f"[red]{escape(problem)}[/red]")
    console.print(
        f"{several(len(gaps), 'gap')}." if gaps else "The chain is whole but for planned clauses."
    )


def print_explanation(explanation: Explanation, console: Console) -> None:
    """Title, text, facts, then source code."""
    console.print(f"[bold]{escape(explanation.title)}[/bold]")
    console.print(escape(explanation.text) + "\n")
    for heading, facts in explanation.facts.items():
        if not facts:
            continue
        console.print(f"[bold]{heading}[/bold]")
        for fact in facts:
            console.print(f"  {escape(fact)}", soft_wrap=True)
    for heading, source in explanation.sources.items():
        console.print(f"\n[bold]{escape(heading)}[/bold]")
        if console.is_terminal:
            console.print(Syntax(source, "python", word_wrap=True, background_color="default"))
        else:
            console.print(Text(source), soft_wrap=True)
