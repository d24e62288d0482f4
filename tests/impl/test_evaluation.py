"""An outcome is recorded when a journey ends; a verdict waits for its accounts (``outcome-12``)."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.impl.clients import MINUTE, NOW, begun, serving
from tests.impl.elsewhere import SCOPE, Hands, completed, ported, run

from wayproof.impl.journey import evaluation
from wayproof.impl.journey.evaluation import (
    FinalEvaluation,
    KnownUsage,
    UnknownUsage,
    Usage,
    evaluate,
    usage_of,
)
from wayproof.spec.journey.ports import WaitTimeoutError
from wayproof.spec.journey.records import JourneyExecutionOutcome, JourneySettledResult
from wayproof.spec.journey.vocabulary import AccountingStatus, LifecycleState


def evaluates(path: Path, *, answered: bool) -> FinalEvaluation[str]:
    """A journey that completes with one call in flight, which is answered later or never.

    Raises:
        AssertionError: if anything is recorded or scored too early, or not at all.
    """
    recorded: list[JourneyExecutionOutcome] = []
    scored: list[JourneySettledResult] = []
    with serving(path) as service:
        client = begun(service)
        client.transmit("known")
        client.respond("known", 5)
        client.transmit("late")
        completed(client)
        assert client.ask("snapshot")["accounting_status"] == "pending"

    async def record(outcome: JourneyExecutionOutcome) -> None:
        recorded.append(outcome)

    def score(result: JourneySettledResult, usage: Usage) -> str:
        scored.append(result)
        return "good"

    async def work() -> FinalEvaluation[str]:
        clock = Hands()
        async with ported(path, now=clock) as made:
            handle = made.handle(client.journey_id, SCOPE)
            verdict = asyncio.create_task(evaluate(handle, record=record, score=score))
            verdict.add_done_callback(lambda task: task.cancelled() or task.exception())
            await asyncio.sleep(0.1)
            assert [each.execution_state for each in recorded] == [LifecycleState.COMPLETED]
            assert not scored and not verdict.done()
            if answered:
                with serving(path) as other:
                    client.elsewhere(other).respond("late", 7)
            else:
                clock.now = NOW + 2 * MINUTE  # the accounting deadline
            async with asyncio.timeout(5):
                found = await verdict
            assert len(recorded) == 1 and scored == [found.result]
            assert found.result.outcome == recorded[0]
            return found

    return run(work())


def knows_usage(path: Path) -> None:
    found = evaluates(path, answered=True)
    assert found.usage == KnownUsage(tokens=12)
    assert found.fully_accounted and found.score == "good"


def tells_failed_settlement(path: Path) -> None:
    found = evaluates(path, answered=False)
    assert found.usage == UnknownUsage(reconciled_tokens=5, charged_at_most=30)
    assert not hasattr(found.usage, "tokens")
    assert not found.fully_accounted


@pytest.mark.parametrize("scenario", [knows_usage, tells_failed_settlement])
def test_a_verdict_waits_for_the_accounts(tmp_path: Path, scenario: Callable[[Path], None]) -> None:
    scenario(tmp_path / "store.db")


def test_without_final_accounts_there_is_an_outcome_and_no_verdict(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    recorded: list[JourneyExecutionOutcome] = []
    with serving(path) as service:
        client = begun(service)
        client.transmit("late")

    async def record(outcome: JourneyExecutionOutcome) -> None:
        recorded.append(outcome)

    def score(result: JourneySettledResult, usage: Usage) -> str:
        raise AssertionError("nothing is to be scored")

    async def work() -> None:
        async with ported(path) as made:
            handle = made.handle(client.journey_id, SCOPE)
            limits = {"terminal_timeout_seconds": 0.05, "settled_timeout_seconds": 0.05}
            with pytest.raises(WaitTimeoutError):
                await evaluate(handle, record=record, score=score, **limits)
            assert not recorded
            await handle.cancel()
        async with ported(path, now=Hands(NOW + MINUTE)) as made:
            handle = made.handle(client.journey_id, SCOPE)
            with pytest.raises(WaitTimeoutError):
                await evaluate(handle, record=record, score=score, **limits)
            assert [each.execution_state for each in recorded] == [LifecycleState.CANCELLED]

    run(work())


def test_a_pending_result_says_nothing_about_usage(tmp_path: Path) -> None:
    result = evaluates(tmp_path / "store.db", answered=True).result
    with pytest.raises(ValueError, match="not final"):
        usage_of(replace(result, accounting_status=AccountingStatus.PENDING))


def at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The score is given as soon as the journey has ended."""

    async def early(handle: Any, *, record: Any, score: Any, **_: Any) -> Any:
        outcome = await handle.wait_terminal()
        await record(outcome)
        score(outcome, KnownUsage(tokens=0))
        result = await handle.wait_settled()
        usage = usage_of(result)
        return FinalEvaluation(result=result, usage=usage, score=score(result, usage))

    monkeypatch.setitem(globals(), "evaluate", early)


def with_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outcome is recorded only once accounts are final."""

    async def late(handle: Any, *, record: Any, score: Any, **_: Any) -> Any:
        result = await handle.wait_settled()
        await record(result.outcome)
        usage = usage_of(result)
        return FinalEvaluation(result=result, usage=usage, score=score(result, usage))

    monkeypatch.setitem(globals(), "evaluate", late)


def failed_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not reconciled is taken for zero."""

    def usage(result: JourneySettledResult) -> Usage:
        return KnownUsage(tokens=result.tokens.reconciled_tokens)

    monkeypatch.setattr(evaluation, "usage_of", usage)


@pytest.mark.parametrize("plant", [at_the_end, with_the_verdict, failed_is_known])
def test_a_verdict_that_comes_too_early_or_knows_too_much_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        tells_failed_settlement(tmp_path / "store.db")
