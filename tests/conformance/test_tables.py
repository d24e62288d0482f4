"""Tables keep names whole: narrow ones fold them, and where no terminal is nothing is folded."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console
from tests.conformance import planted
from typer.testing import CliRunner

from wayproof.conformance.cli import COMMANDS, app
from wayproof.conformance.mutants.run import Kill, Outcome
from wayproof.conformance.protocol.backend import Hello
from wayproof.conformance.report.console import output
from wayproof.conformance.report.mutants import print_outcomes
from wayproof.conformance.report.summary import summarize
from wayproof.conformance.report.terminal import print_report
from wayproof.conformance.report.variants import print_judgements
from wayproof.conformance.run.verdict import Divergence, Result, Verdict
from wayproof.conformance.variants.judge import Judgement
from wayproof.conformance.variants.variant import variants

LONG = "-".join(f"word{number}" for number in range(20))


def console(width: int = 80) -> Console:
    return Console(width=width, file=StringIO())


def printed(written: Console) -> str:
    assert isinstance(written.file, StringIO)
    return written.file.getvalue()


def joined(text: str, column: int) -> str:
    """What stands in one column of a table, its lines put together."""
    rows = (line.replace("┃", "│").split("│") for line in text.splitlines())
    return "".join(cells[column].strip() for cells in rows if len(cells) > column)


def test_a_long_name_of_a_mutant_is_folded() -> None:
    candidate = replace(planted.candidate(planted.DEAD), name=LONG)
    kill = Kill(vector=f"{LONG}/{LONG}/0001", how="fail", clauses=(LONG,))
    narrow = console()
    print_outcomes([Outcome(candidate=candidate, kills=(kill,), played=1)], narrow, False)
    text = printed(narrow)
    assert "…" not in text and max(map(len, text.splitlines())) <= 80
    assert LONG in joined(text, 0)
    assert kill.vector in joined(text, 2)


def test_a_long_name_of_a_variant_is_folded() -> None:
    variant = replace(next(iter(variants().values())), name=LONG, clauses=(LONG,))
    narrow = console()
    print_judgements([Judgement(variant=variant, counts={Verdict.PASS: 1})], 1, 0, narrow)
    text = printed(narrow)
    assert "…" not in text
    width = text.index("allowed by")
    assert LONG in "".join(line[:width].strip() for line in text.splitlines())


def test_a_long_id_in_the_table_of_clauses_is_folded() -> None:
    failed = [
        Result(
            id=f"a/b/{number:04}",
            title="",
            verdict=Verdict.FAIL,
            clauses=(LONG,),
            divergence=Divergence(
                step=0,
                action="sweep",
                kind="state",
                expected=None,
                observed=None,
                clauses=(LONG,),
                rests_on=(),
            ),
        )
        for number in range(2)
    ]
    hello = Hello(name="x", version="1", capabilities=())
    told = summarize(failed, backend="x", hello=hello, contract="journey/1", seconds=1)
    narrow = console()
    print_report(told, narrow)
    table = printed(narrow).partition("the likeliest clause first")[2].partition("2 vectors")[0]
    assert "…" not in table
    assert LONG in joined(table, 1)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "report"])
def test_help_fits_a_terminal_of_80_columns(command: str) -> None:
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, [command, "--help"])
    assert shown.exit_code == 0
    assert "…" not in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_no_line_ends_where_no_terminal_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    output().print("word " * 1000)
    assert len(capsys.readouterr().out.splitlines()) == 1
    monkeypatch.setenv("COLUMNS", "50")
    output().print("word " * 1000)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 50
