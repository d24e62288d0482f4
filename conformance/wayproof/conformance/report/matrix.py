"""What a run says of each clause, by section of the contract, and of each lifecycle transition."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from wayproof.conformance.report.results import LIFECYCLE, Entry, Report
from wayproof.conformance.report.suspicion import Suspect, likeliest_first, suspects
from wayproof.conformance.run.verdict import Verdict
from wayproof.spec.journey.clauses import SECTIONS, Clause, clauses
from wayproof.spec.journey.vocabulary import LIFECYCLE_TRANSITIONS, LifecycleState

FAILED, PASSED, DECLARED, UNJUDGED, SILENT = "failed", "passed", "declared", "unjudged", "silent"
"""What a run can say of a clause; ``silent`` if no vector that was played is about it."""

_STATES: Final = tuple(str(state) for state in LifecycleState)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseRow:
    """One clause: how many vectors that put it at stake passed, failed by it, and so on."""

    clause: Clause
    passed: int
    failed: int
    declared: int
    """Failed by it as declared."""
    unjudged: int
    """Did not come to a verdict on it: they do not apply, could not be judged, or had failed by
    another clause before."""

    @property
    def verdict(self) -> str:
        """The worst that is known of the clause."""
        told = {
            FAILED: self.failed,
            DECLARED: self.declared,
            PASSED: self.passed,
            UNJUDGED: self.unjudged,
        }
        return next((verdict for verdict, count in told.items() if count), SILENT)

    @property
    def why_silent(self) -> str:
        """Why no vector is about it, as far as the register says so."""
        if self.clause.status == "planned":
            return "judged by a later revision"
        return self.clause.reason or "no vector played is about it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The clauses of one section of the contract."""

    title: str
    rows: tuple[ClauseRow, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """How many clauses there are of each verdict."""
        return Counter(row.verdict for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionRow:
    """One lifecycle transition: in how many results it was seen as expected, or went wrong."""

    source: str
    target: str
    legal: bool
    passed: int
    failed: int

    @property
    def verdict(self) -> str:
        """The worst that is known of it."""
        return FAILED if self.failed else PASSED if self.passed else SILENT


def sections(report: Report) -> tuple[Section, ...]:
    """Every section that states clauses, as the register has them."""
    tallies: dict[str, Counter[str]] = {clause: Counter() for clause in clauses()}
    for entry in report.entries:
        for clause, verdict in _clause_verdicts(entry):
            if clause in tallies:
                tallies[clause][verdict] += 1
    rows = [
        ClauseRow(
            clause=clause,
            passed=tallies[clause.id][PASSED],
            failed=tallies[clause.id][FAILED],
            declared=tallies[clause.id][DECLARED],
            unjudged=tallies[clause.id][UNJUDGED],
        )
        for clause in clauses().values()
    ]
    return tuple(
        Section(title=title, rows=held)
        for title in SECTIONS
        if (held := tuple(row for row in rows if row.clause.section == title))
    )


def suspects_of(report: Report) -> tuple[Suspect, ...]:
    """The clauses that the failures of a run point at, the likeliest first."""
    failed = (e.divergence.clauses for e in report.having(Verdict.FAIL) if e.divergence)
    return suspects(failed, (entry.clauses for entry in report.having(Verdict.PASS)))


def ranked(report: Report) -> Report:
    """The report with the clauses of each failure in the order of suspicion."""
    found = suspects_of(report)
    return replace(report, entries=tuple(_ranked(entry, found) for entry in report.entries))


def _ranked(entry: Entry, found: tuple[Suspect, ...]) -> Entry:
    if entry.divergence is None:
        return entry
    clauses = likeliest_first(entry.divergence.clauses, found)
    return replace(entry, divergence=replace(entry.divergence, clauses=clauses))


def spread(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Entries in an order in which the first few show as many faults as can be: of each clause
    that is broken one, then of each a second one, and so on."""
    seen: Counter[str] = Counter()
    ranked: list[tuple[int, str, Entry]] = []
    for entry in entries:
        broken = entry.divergence.clauses[:1] if entry.divergence else ()
        kind = broken[0] if broken else entry.note
        ranked.append((seen[kind], entry.id, entry))
        seen[kind] += 1
    return tuple(entry for *_, entry in sorted(ranked, key=lambda rank: rank[:2]))


def transitions(report: Report) -> tuple[TransitionRow, ...]:
    """Every legal transition, and after them those that were seen and are not."""
    passed = Counter(pair for entry in report.entries for pair in entry.transitions)
    failed = Counter(pair for entry in report.entries for pair in _wrong_transitions(entry))
    legal = [(str(s), str(t)) for s, targets in LIFECYCLE_TRANSITIONS.items() for t in targets]
    legal.sort(key=lambda pair: (_STATES.index(pair[0]), _STATES.index(pair[1])))
    # Between two states that are shown there may be more than one step: a pair that the contract
    # does not list is wrong only if it was not expected.
    strange = sorted(pair for pair in failed if pair not in legal)
    return tuple(
        TransitionRow(
            source=pair[0],
            target=pair[1],
            legal=pair in legal,
            passed=passed[pair],
            failed=failed[pair],
        )
        for pair in (*legal, *strange)
    )


def _clause_verdicts(entry: Entry) -> Iterator[tuple[str, str]]:
    if entry.verdict in (Verdict.PASS, Verdict.STALE_KNOWN):
        yield from ((clause, PASSED) for clause in entry.clauses)
        return
    broken = entry.divergence.clauses if entry.divergence else ()
    verdict = DECLARED if entry.verdict is Verdict.KNOWN_FAIL else FAILED
    yield from ((clause, verdict) for clause in broken)
    yield from ((clause, UNJUDGED) for clause in entry.clauses if clause not in broken)


def _wrong_transitions(entry: Entry) -> set[tuple[str, str]]:
    """The transition that was to be seen and was not, and the one that was seen instead."""
    found: set[tuple[str, str]] = set()
    for place in entry.divergence.differences if entry.divergence else ():
        if place.pointer.endswith(LIFECYCLE) and place.before in _STATES:
            for after in (place.expected, place.observed):
                if after in _STATES and after != place.before:
                    found.add((str(place.before), str(after)))
    return found
