"""What the suite says of variants, for people and as one JSON document."""

import shlex
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wayproof.conformance.report.failure import failure_text
from wayproof.conformance.report.words import several
from wayproof.conformance.run.verdict import Result, Verdict
from wayproof.conformance.variants.judge import FALSE_ALARM, PASSED, Judgement, exit_code
from wayproof.conformance.variants.variant import Variant
from wayproof.conformance.vectors.format import JsonValue
from wayproof.conformance.vectors.writer import to_json

FORMAT = "wayproof-variants/1.0"

TOLD_IN_FULL = 5
"""How many false alarms of one variant are told in full."""


def document(judgements: Sequence[Judgement], seed: int, fresh: int) -> dict[str, JsonValue]:
    """The whole run; durations in milliseconds. Passes are counted, not listed."""
    return {
        "format": FORMAT,
        "exit_code": exit_code(judgements),
        "fresh": {"count": fresh, "seed": seed},
        "variants": [_judgement(judgement) for judgement in judgements],
    }


def print_judgements(
    judgements: Sequence[Judgement], seed: int, fresh: int, console: Console
) -> None:
    """False alarms first, then the table, and the conclusion last."""
    for judgement in judgements:
        for result in judgement.others[:TOLD_IN_FULL]:
            console.print(Text(_told(judgement.variant, result)), soft_wrap=True)
            console.print()
        if len(judgement.others) > TOLD_IN_FULL:
            number = len(judgement.others) - TOLD_IN_FULL
            console.print(f"and {number} more of {judgement.variant.name}\n")
    table = Table(box=None)
    table.add_column("variant", overflow="fold")
    table.add_column("allowed by", overflow="fold")
    for heading in ("pass", "fail", "other", "s"):
        table.add_column(heading, justify="right")
    for judgement in judgements:
        table.add_row(*_row(judgement), style="" if judgement.exit_code == PASSED else "bold red")
    console.print(table)
    for judgement in judgements:
        if judgement.problem:
            console.print(Text(f"{judgement.variant.name}: {judgement.problem}"), soft_wrap=True)
    if fresh:
        console.print(f"of these {fresh} fresh; to see them again: --fresh {fresh} --seed {seed}")
    console.print(Text(_conclusion(judgements)), soft_wrap=True)


def allowance(variant: Variant) -> str:
    """What allows a variant, in a few words."""
    rulings = ["ruling " + ", ".join(map(str, variant.rulings))] if variant.rulings else []
    return ", ".join((*variant.clauses, *variant.protocol, *rulings))


def _row(judgement: Judgement) -> tuple[str, ...]:
    counts = judgement.counts
    passed, failed = counts.get(Verdict.PASS, 0), counts.get(Verdict.FAIL, 0)
    return (
        judgement.variant.name,
        allowance(judgement.variant),
        str(passed),
        str(failed),
        str(sum(counts.values()) - passed - failed),
        f"{judgement.seconds:.0f}",
    )


def _conclusion(judgements: Sequence[Judgement]) -> str:
    number = len(judgements)
    unsound = [j for j in judgements if j.exit_code != PASSED]
    if not unsound:
        passing = "1 variant passes" if number == 1 else f"{number} variants pass"
        return f"no false alarm: {passing} everything that applies"
    alarms = sum(j.exit_code == FALSE_ALARM for j in unsound)
    unjudged = len(unsound) - alarms
    raising = "1 raises" if alarms == 1 else f"{alarms} raise"
    return (
        f"of {several(number, 'variant')} {raising} a false alarm, {unjudged} could not be judged"
    )


def _told(variant: Variant, result: Result) -> str:
    text = failure_text(result, _command(variant))
    return f"{variant.name} (allowed by {allowance(variant)}): {variant.why}\n{text}"


def _command(variant: Variant) -> str:
    return shlex.join(["wayproof", "check", "--backend", variant.place])


def _judgement(judgement: Judgement) -> dict[str, JsonValue]:
    variant = judgement.variant
    return {
        "name": variant.name,
        "why": variant.why,
        "clauses": list(variant.clauses),
        "rulings": list(variant.rulings),
        "protocol": list(variant.protocol),
        "backend": variant.place,
        "exit_code": judgement.exit_code,
        "counts": {verdict.value: judgement.counts.get(verdict, 0) for verdict in Verdict},
        "problem": judgement.problem,
        "milliseconds": round(judgement.seconds * 1000),
        "results": [
            {
                "id": result.id,
                "verdict": result.verdict.value,
                "message": failure_text(result, _command(variant)),
                "vector": to_json(result.vector),
            }
            for result in judgement.others
        ],
    }
