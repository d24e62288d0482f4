"""What many results come to: the counts, the conclusion in one line, and the exit code."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from wayproof.conformance.protocol.backend import Hello
from wayproof.conformance.report.suspicion import Suspect, likeliest_first, suspects
from wayproof.conformance.report.words import several
from wayproof.conformance.run.verdict import Result, Verdict

CONFORMS, DOES_NOT_CONFORM, WRONG_USAGE, COULD_NOT_RUN = 0, 1, 2, 3
"""The exit codes of ``wayproof check``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One run."""

    backend: str
    """As it was named by the user."""
    only: str
    """The glob of what was played; ``*`` is everything."""
    hello: Hello
    contract: str
    counts: Mapping[Verdict, int]
    """All seven."""
    results: tuple[Result, ...]
    """Everything but passes, by id; the clauses of failures stand the likeliest first."""
    suspects: tuple[Suspect, ...]
    """The clauses that failures and faults of the harness point at, the likeliest first."""
    commands: int
    """Steps carried out, reads of the state not counted."""
    seconds: float
    """Of real time."""
    cut_short: bool
    """Whether it was stopped at the first failure."""
    fresh: int
    seed: int | None
    replay: str
    """The command that a result's own arguments are added to."""

    @property
    def vectors(self) -> int:
        """How many vectors and fresh sequences there is a verdict on."""
        return sum(self.counts.values())

    @property
    def failures(self) -> tuple[Result, ...]:
        """What failed, declared failures left out."""
        return tuple(r for r in self.results if r.verdict is Verdict.FAIL)

    @property
    def exit_code(self) -> int:
        """0 conforms, 1 does not conform, 3 could not be judged."""
        if self.counts[Verdict.FAIL] or self.counts[Verdict.STALE_KNOWN]:
            return DOES_NOT_CONFORM
        judged = self.counts[Verdict.PASS] or self.counts[Verdict.KNOWN_FAIL]
        if self.counts[Verdict.HARNESS_FAULT] or self.counts[Verdict.UNDECIDED] or not judged:
            return COULD_NOT_RUN
        return CONFORMS


_BAD = (Verdict.FAIL, Verdict.HARNESS_FAULT)


def summarize(
    results: Iterable[Result],
    *,
    backend: str,
    only: str = "*",
    hello: Hello,
    contract: str,
    seconds: float,
    cut_short: bool = False,
    fresh: int = 0,
    seed: int | None = None,
    replay: str = "wayproof check",
) -> Summary:
    """Count the results."""
    ordered = sorted(results, key=lambda result: result.id)
    found = Counter(result.verdict for result in ordered)
    suspected = suspects(
        (
            r.divergence.clauses if r.divergence else r.at_stake
            for r in ordered
            if r.verdict in _BAD
        ),
        (r.clauses for r in ordered if r.verdict is Verdict.PASS),
    )
    return Summary(
        backend=backend,
        only=only,
        hello=hello,
        contract=contract,
        counts={verdict: found[verdict] for verdict in Verdict},
        results=tuple(_ranked(r, suspected) for r in ordered if r.verdict is not Verdict.PASS),
        suspects=suspected,
        commands=sum(result.commands for result in ordered),
        seconds=seconds,
        cut_short=cut_short,
        fresh=fresh,
        seed=seed,
        replay=replay,
    )


def _ranked(result: Result, suspected: tuple[Suspect, ...]) -> Result:
    if result.divergence is None:
        return replace(result, at_stake=likeliest_first(result.at_stake, suspected))
    clauses = likeliest_first(result.divergence.clauses, suspected)
    return replace(result, divergence=replace(result.divergence, clauses=clauses))


def conclusion(summary: Summary) -> str:
    """The verdict in one line."""
    counts = summary.counts
    subject = f"{summary.hello.name} {summary.hello.version}"
    if summary.exit_code == COULD_NOT_RUN:
        reasons = [
            f"{counts[verdict]} {verdict}"
            for verdict in (Verdict.HARNESS_FAULT, Verdict.UNDECIDED, Verdict.NOT_APPLICABLE)
            if counts[verdict]
        ]
        return f"{subject} could not be judged: {', '.join(reasons) or 'nothing was played'}"
    broken = [r for r in summary.failures if not rulings_of(r)]
    rulings = sorted({ruling for r in summary.failures for ruling in rulings_of(r)})
    if broken:
        also = f"; it differs from {_rulings(rulings)} too" if rulings else ""
        number = several(len(broken), "vector")
        return f"{subject} does not conform: it breaks the contract ({number}){also}"
    if rulings:
        return f"{subject} does not conform to this profile: it differs from {_rulings(rulings)}"
    if counts[Verdict.STALE_KNOWN]:
        number = several(counts[Verdict.STALE_KNOWN], "declared failure")
        return f"{subject}: {number} passed by now and must be taken out of the declarations"
    if counts[Verdict.KNOWN_FAIL]:
        number = several(counts[Verdict.KNOWN_FAIL], "vector")
        return f"{subject} deviates as declared ({number})"
    if summary.only != "*":
        return f"{subject} conforms to the contract in what was played ({summary.only})"
    return f"{subject} conforms to the contract"


def rulings_of(result: Result) -> tuple[int, ...]:
    """The rulings that a failure differs from; none if it breaks the contract itself."""
    return () if result.divergence is None else result.divergence.rests_on


def _rulings(rulings: list[int]) -> str:
    word = "ruling" if len(rulings) == 1 else "rulings"
    return f"{word} {', '.join(map(str, rulings))}"
