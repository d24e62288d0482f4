"""What has changed between two runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from wayproof.conformance.report.results import Report
from wayproof.conformance.run.verdict import Verdict
from wayproof.conformance.vectors.format import JsonValue

FORMAT: Final = "wayproof-diff/1.0"

MOST_NAMED: Final = 20
"""How many vectors of one kind are named."""

_JUDGED: Final = (Verdict.PASS, Verdict.KNOWN_FAIL, Verdict.STALE_KNOWN)
_NO_VERDICT: Final = (Verdict.NOT_APPLICABLE, Verdict.UNDECIDED, Verdict.HARNESS_FAULT)


class DifferentContractsError(ValueError):
    """Two runs that do not judge by the same contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One vector with another verdict; None where it was not played."""

    id: str
    old: Verdict | None
    new: Verdict | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All changes, each in one list, by id."""

    old: str
    """What the older run came to."""
    new: str
    newly_failing: tuple[Change, ...]
    """Fails, and did not fail or was not played before."""
    no_longer_judged: tuple[Change, ...]
    """Had a verdict, and now does not apply, is undecided or could not be judged."""
    newly_passing: tuple[Change, ...]
    """Passes, or passes though declared to fail, and did neither before."""
    changed: tuple[Change, ...]
    """Has another verdict of any other kind."""
    added: tuple[Change, ...]
    """Was not played before, and does not fail."""
    removed: tuple[Change, ...]

    @property
    def regression(self) -> bool:
        """Whether anything is worse than before."""
        return bool(self.newly_failing or self.no_longer_judged)


def compare(old: Report, new: Report) -> Comparison:
    """Compare two runs.

    Raises:
        DifferentContractsError: if they judge by different contracts or revisions.
    """
    contracts = (old.header.contract, new.header.contract)
    if contracts[0] != contracts[1]:
        raise DifferentContractsError(f"one judges by {contracts[0]}, the other by {contracts[1]}")
    before = {entry.id: entry.verdict for entry in old.entries}
    after = {entry.id: entry.verdict for entry in new.entries}
    kinds: dict[str, list[Change]] = {}
    for name in sorted({*before, *after}):
        change = Change(id=name, old=before.get(name), new=after.get(name))
        if change.old != change.new:
            kinds.setdefault(_kind(change), []).append(change)
    return Comparison(
        old=old.end.conclusion,
        new=new.end.conclusion,
        **{kind: tuple(kinds.get(kind, ())) for kind in KINDS},
    )


def lines(comparison: Comparison) -> Iterator[str]:
    """The comparison for people; what is worse comes first, and the conclusion last."""
    for kind, words in KINDS.items():
        changes: tuple[Change, ...] = getattr(comparison, kind)
        if not changes:
            continue
        yield f"{len(changes)} {words}"
        for change in changes[:MOST_NAMED]:
            yield f"  {change.id}: {change.old or 'not played'} -> {change.new or 'not played'}"
        if more := changes[MOST_NAMED:]:
            yield f"  and {len(more)} more"
    yield f"old: {comparison.old}"
    yield f"new: {comparison.new}"
    yield "there is a regression" if comparison.regression else "there is no regression"


def document(comparison: Comparison) -> Mapping[str, JsonValue]:
    """The comparison for programs."""
    return {
        "format": FORMAT,
        "regression": comparison.regression,
        "old": comparison.old,
        "new": comparison.new,
        **{
            kind: [
                {"id": change.id, "old": change.old, "new": change.new}
                for change in getattr(comparison, kind)
            ]
            for kind in KINDS
        },
    }


KINDS: Final = {
    "newly_failing": "newly failing",
    "no_longer_judged": "no longer judged",
    "newly_passing": "newly passing",
    "changed": "with another verdict",
    "added": "added",
    "removed": "removed",
}
"""The lists of a comparison, in words."""


def _kind(change: Change) -> str:
    if change.new is Verdict.FAIL:
        return "newly_failing"
    if change.new is None:
        return "removed"
    if change.old is None:
        return "added"
    if change.new in _NO_VERDICT and change.old in _JUDGED:
        return "no_longer_judged"
    passes = (Verdict.PASS, Verdict.STALE_KNOWN)
    if change.new in passes and change.old not in passes:
        return "newly_passing"
    return "changed"
