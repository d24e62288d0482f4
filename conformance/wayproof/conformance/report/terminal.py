"""The report for people."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from wayproof.conformance.report.failure import failure_text, sentence
from wayproof.conformance.report.summary import (
    CONFORMS,
    COULD_NOT_RUN,
    Summary,
    by_clause,
    conclusion,
)
from wayproof.conformance.report.words import several
from wayproof.conformance.run.verdict import Verdict

TOLD_IN_FULL = 5
"""How many failures, and how many faults of the harness, are told in full."""

_SERIOUS = (Verdict.STALE_KNOWN, Verdict.UNDECIDED, Verdict.HARNESS_FAULT)


def print_report(summary: Summary, console: Console) -> None:
    """Print failures first and the conclusion last, where the eye is."""
    failures = summary.failures
    for result in failures[:TOLD_IN_FULL]:
        console.print(Text(failure_text(result, summary.replay)), soft_wrap=True)
        console.print()
    if len(failures) > TOLD_IN_FULL:
        _print_clauses(summary, console)
    for verdict in _SERIOUS:
        told = [result for result in summary.results if result.verdict is verdict]
        for result in told[:TOLD_IN_FULL]:
            console.print(Text(failure_text(result, summary.replay)), soft_wrap=True)
            console.print()
        if len(told) > TOLD_IN_FULL:
            console.print(f"and {len(told) - TOLD_IN_FULL} {verdict} more\n")
    _print_counts(summary, console)
    style = {CONFORMS: "bold green", COULD_NOT_RUN: "bold yellow"}.get(
        summary.exit_code, "bold red"
    )
    console.print(Text(conclusion(summary), style=style), soft_wrap=True)


def _print_clauses(summary: Summary, console: Console) -> None:
    table = Table(title=f"All {len(summary.failures)} failures, by clause", title_justify="left")
    table.add_column("clause", overflow="fold")
    table.add_column("vectors", justify="right")
    table.add_column("says")
    table.add_column("for example", overflow="fold")
    for clause, results in by_clause(summary.failures).items():
        table.add_row(clause, str(len(results)), escape(sentence(clause)), results[0].id)
    console.print(table)
    console.print()


def _print_counts(summary: Summary, console: Console) -> None:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in summary.counts.items())
    speed = round(summary.commands / summary.seconds) if summary.seconds else 0
    console.print(
        f"{several(summary.vectors, 'vector')}, {several(summary.commands, 'command')} "
        f"in {summary.seconds:.1f} s "
        f"({speed} per second)" + (", cut short" if summary.cut_short else ""),
        highlight=False,
    )
    if summary.fresh:
        console.print(
            f"of these {summary.fresh} fresh; to see them again: "
            f"--fresh {summary.fresh} --seed {summary.seed}",
            highlight=False,
        )
    elif summary.only != "*":
        told = "none is fresh: --only chooses among fresh sequences (fresh/SEED) too"
        console.print(told, highlight=False)
    capabilities = ", ".join(summary.hello.capabilities) or "nothing"
    console.print(Text(f"--backend {summary.backend} advertises {capabilities}"), soft_wrap=True)
    console.print(Text(counts), soft_wrap=True)
