"""An evaluation of one journey: its outcome when it ends, its verdict once accounts are final.

The two are different records at different times. An outcome may be recorded when ``wait_terminal``
returns; a score, and what is said about usage, waits for ``wait_settled`` (clause ``outcome-12``).
Where settlement failed the usage is not known, and that is said: there is no number that could be
taken for it, least of all zero.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from wayproof.spec.journey.ports import JourneyExecutionHandle
from wayproof.spec.journey.records import JourneyExecutionOutcome, JourneySettledResult
from wayproof.spec.journey.vocabulary import AccountingStatus

Score = TypeVar("Score")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownUsage:
    """Accounting is settled: every transmission that left has its authoritative usage."""

    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownUsage:
    """Settlement failed: evidence of its own kind. It has no number of tokens used."""

    reconciled_tokens: int
    """What is known of it, by authoritative reports."""
    charged_at_most: int
    """What was charged for the rest, conservatively; the truth may be anything up to it."""


Usage = KnownUsage | UnknownUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalEvaluation(Generic[Score]):
    """The verdict on a journey. It exists only for a settled result."""

    result: JourneySettledResult
    usage: Usage
    score: Score

    @property
    def fully_accounted(self) -> bool:
        """Whether the run counts as one whose usage is known."""
        return isinstance(self.usage, KnownUsage)


def usage_of(result: JourneySettledResult) -> Usage:
    """What a settled result says about usage, by its accounting status alone.

    Raises:
        ValueError: for a result whose accounting is pending; no port answers one.
    """
    if result.accounting_status is AccountingStatus.SETTLED:
        return KnownUsage(tokens=result.tokens.reconciled_tokens)
    if result.accounting_status is AccountingStatus.SETTLEMENT_FAILED:
        return UnknownUsage(
            reconciled_tokens=result.tokens.reconciled_tokens,
            charged_at_most=result.tokens.conservatively_committed_tokens,
        )
    raise ValueError("accounting is not final")


async def evaluate(
    handle: JourneyExecutionHandle,
    *,
    record: Callable[[JourneyExecutionOutcome], Awaitable[object]],
    score: Callable[[JourneySettledResult, Usage], Score],
    terminal_timeout_seconds: float | None = None,
    settled_timeout_seconds: float | None = None,
) -> FinalEvaluation[Score]:
    """Wait for a journey's end and record its outcome, then for its accounts and score it.

    Args:
        handle: the journey; a lost one is made anew, and evaluating again is safe if ``record`` is.
        record: keeps the outcome, which is immutable from then on; called once, before accounting
            is waited for.
        score: judges the final result; never called before accounting is final.
        terminal_timeout_seconds: how long to wait for the end; None without limit.
        settled_timeout_seconds: how long to wait from then on.

    Raises:
        WaitTimeoutError: if a wait ran out. There is no verdict then; what was recorded stays.
        Refusal: see ``JourneyExecutionPort``.
    """
    await record(await handle.wait_terminal(terminal_timeout_seconds))
    result = await handle.wait_settled(settled_timeout_seconds)
    usage = usage_of(result)
    return FinalEvaluation(result=result, usage=usage, score=score(result, usage))
