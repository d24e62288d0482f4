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
    conclusion,
)
from wayproof.conformance.report.words import several
from wayproof.conformance.run.verdict import Verdict

TOLD_IN_FULL = 5
"""How many failures, and how many faults of the harness, are told in full."""

SUSPECTS_SHOWN = 10
"""How many of the clauses that failures point at are told."""

_SERIOUS = (Verdict.STALE_KNOWN, Verdict.UNDECIDED, Verdict.HARNESS_FAULT)


def print_report(summary: Summary, console: Console) -> None:
    """Print failures first and the conclusion last, where the eye is."""
    failures = summary.failures
    for result in failures[:TOLD_IN_FULL]:
        console.print(Text(failure_text(result, summary.replay)), soft_wrap=True)
        console.print()
    for verdict in _SERIOUS:
        told = [result for result in summary.results if result.verdict is verdict]
        for result in told[:TOLD_IN_FULL]:
            console.print(Text(failure_text(result, summary.replay)), soft_wrap=True)
            console.print()
        if len(told) > TOLD_IN_FULL:
            console.print(f"and {len(told) - TOLD_IN_FULL} {verdict} more\n")
    if bad := len(failures) + summary.counts[Verdict.HARNESS_FAULT]:
        _print_suspects(summary, bad, console)
    _print_counts(summary, console)
    style = {CONFORMS: "bold green", COULD_NOT_RUN: "bold yellow"}.get(
        summary.exit_code, "bold red"
    )
    console.print(Text(conclusion(summary), style=style), soft_wrap=True)


def _print_suspects(summary: Summary, bad: int, console: Console) -> None:
    if bad == 1 or not summary.suspects:
        return  # one failure is told in full, and says as much
    title = f"What the {bad} failures point at, the likeliest clause first"
    table = Table(title=title, title_justify="left")
    table.add_column("clause", overflow="fold")
    table.add_column("failed", justify="right")
    table.add_column("passed", justify="right")
    table.add_column("says", overflow="fold")
    for suspect in summary.suspects[:SUSPECTS_SHOWN]:
        counts = str(suspect.failed), str(suspect.passed)
        table.add_row(suspect.clause, *counts, escape(sentence(suspect.clause)))
    console.print(table)
    if (more := len(summary.suspects) - SUSPECTS_SHOWN) > 0:
        console.print(f"and {several(more, 'clause')} more; --json tells all of them")
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
