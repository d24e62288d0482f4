"""The results as Markdown for a comment on a pull request, no longer than one may be."""

import html
import re
from collections.abc import Iterator
from typing import Final

from wayproof.conformance.report.failure import sentence
from wayproof.conformance.report.matrix import (
    DECLARED,
    FAILED,
    PASSED,
    SILENT,
    UNJUDGED,
    ranked,
    sections,
    spread,
    suspects_of,
)
from wayproof.conformance.report.results import Entry, Report
from wayproof.conformance.report.summary import CONFORMS, COULD_NOT_RUN
from wayproof.conformance.report.text import shortened, writable
from wayproof.conformance.run.verdict import Verdict

LONGEST: Final = 65_536
"""The characters that a comment on GitHub can have."""

MOST_SUSPECTS: Final = 3
"""How many of the clauses that the failures point at are told."""

LONGEST_FAILURE: Final = 3_000
"""The characters that are told of one failure."""

_RESERVED: Final = 500
"""The characters that are kept for the line that says what was left out, and for the times."""

_TOLD: Final = (
    Verdict.FAIL,
    Verdict.STALE_KNOWN,
    Verdict.HARNESS_FAULT,
    Verdict.UNDECIDED,
    Verdict.KNOWN_FAIL,
)
"""What is told one by one, in this order."""


def markdown_document(report: Report) -> str:
    """The page: the verdict, a table by section, what failed, and last the times."""
    report = ranked(report)
    page = "\n".join(_head(report))
    told = [entry for verdict in _TOLD for entry in spread(report.having(verdict))]
    shown = 0
    for entry in told:
        block = "\n" + "\n".join(_details(entry))
        if len(page) + len(block) > LONGEST - _RESERVED:
            break
        page += block
        shown += 1
    if shown < len(told):
        page += f"\n**{len(told) - shown} more were left out, for want of space.**\n"
    return page + f"\n<sub>{_times(report)}</sub>\n"


def _head(report: Report) -> Iterator[str]:
    mark = {CONFORMS: "✅", COULD_NOT_RUN: "⚠️"}.get(report.end.exit_code, "❌")
    yield f"{mark} **{_plain(report.end.conclusion, 400)}**"
    yield ""
    counts = ", ".join(f"{report.end.counts[verdict]} {verdict}" for verdict in Verdict)
    yield f"{counts}; contract {_plain(report.header.contract, 60)}" + (
        ", cut short at the first failure" if report.end.cut_short else ""
    )
    if report.header.fresh:
        again = f"--fresh {report.header.fresh} --seed {report.header.seed}"
        yield f"<br>{report.header.fresh} of these are fresh; to see them again: `{again}`"
    yield ""
    if found := suspects_of(report)[:MOST_SUSPECTS]:
        yield "What the failures point at, the likeliest clause first:"
        yield ""
        for suspect in found:
            counts = f"{suspect.failed} failed, {suspect.passed} passed"
            yield f"- **{suspect.clause}** ({counts}): {sentence(suspect.clause)}"
        yield ""
    yield "| clauses of the section | passed | failed | declared | not judged | no vector |"
    yield "|---|--:|--:|--:|--:|--:|"
    for section in sections(report):
        counted = section.counts
        cells = (counted[v] for v in (PASSED, FAILED, DECLARED, UNJUDGED, SILENT))
        title = f"**{section.title}**" if counted[FAILED] else section.title
        yield f"| {title} | {' | '.join(str(cell or '·') for cell in cells)} |"
    yield ""


def _details(entry: Entry) -> Iterator[str]:
    summary = f"{entry.verdict}: {entry.id} – {shortened(entry.title, 200)}"
    text = shortened(writable(entry.message), LONGEST_FAILURE)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"<details><summary>{html.escape(' '.join(summary.split()))}</summary>"
    yield ""
    yield f"{fence}text"
    yield text
    yield fence
    yield ""
    yield "</details>"
    yield ""


def _times(report: Report) -> str:
    seconds = report.times.milliseconds / 1000
    return f"{report.end.commands} commands in {seconds:.1f} s, finished {report.times.finished}"


def _plain(text: str, longest: int) -> str:
    """Text that came from outside, in one line and without any meaning to Markdown."""
    line = shortened(writable(" ".join(text.split())), longest)
    escaped = re.sub(r"([\\`*_\[\]|~])", r"\\\1", html.escape(line, quote=False))
    return escaped.replace("@", "@\u200b")  # calls nobody
