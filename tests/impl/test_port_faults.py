"""Faults that are planted into the waits of the port, and found: how long they wait, what for, and
for whom (clauses ``observe-17``, ``observe-18`` and ``access-07``).
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.impl.clients import ACCESS, HOUR, MINUTE, NOW, begun, contents, serving
from tests.impl.elsewhere import SCOPE, Hands, ported, request, run

from wayproof.impl.journey import JourneyService, SqliteJourneyPort, port
from wayproof.spec.journey.ports import PortError, WaitTimeoutError
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.vocabulary import AccountingStatus, LifecycleState

STRANGER = replace(SCOPE, owner_id="somebody-else")


def times_out_and_changes_nothing(path: Path) -> None:
    """0 looks once, a short timeout runs out, a negative one is refused; the journey stays."""

    async def work() -> None:
        async with ported(path) as made:
            handle = await made.start(request())
            before = contents(path)
            for wait in (handle.wait_terminal, handle.wait_settled):
                for seconds in (0, 0.05):
                    with pytest.raises(WaitTimeoutError):
                        async with asyncio.timeout(2):
                            await wait(seconds)
                with pytest.raises(Refusal) as refused:
                    async with asyncio.timeout(2):
                        await wait(-1)
                assert refused.value.code is RefusalCode.INVALID_REQUEST
            assert contents(path) == before
            with pytest.raises(TimeoutError):  # none waits without limit
                async with asyncio.timeout(0.2):
                    await handle.wait_terminal()
        async with ported(path, now=Hands(NOW + HOUR)) as made:
            again = made.handle(handle.journey_id, SCOPE)
            assert (await again.wait_terminal(0)).execution_state is LifecycleState.TIMED_OUT

    run(work())


def ends_before_it_is_settled(path: Path) -> None:
    """The outcome is there while accounting is pending; the result only once it is final."""
    with serving(path) as service:
        client = begun(service)
        client.transmit("t")

    async def work() -> None:
        clock = Hands()
        async with ported(path, now=clock) as made:
            handle = made.handle(client.journey_id, SCOPE)
            settling = asyncio.create_task(handle.wait_settled())
            settling.add_done_callback(lambda task: task.cancelled() or task.exception())
            await handle.cancel()
            clock.now += MINUTE
            async with asyncio.timeout(2):
                outcome = await handle.wait_terminal()
            assert (await handle.snapshot()).accounting_status is AccountingStatus.PENDING
            await asyncio.sleep(0.1)
            assert not settling.done()
            with pytest.raises(WaitTimeoutError):
                await handle.wait_settled(0)
            clock.now += 2 * MINUTE
            async with asyncio.timeout(2):
                result = await settling
            assert result.accounting_status is AccountingStatus.SETTLEMENT_FAILED
            assert result.outcome == outcome

    run(work())


def refuses_a_stranger(path: Path) -> None:
    """Both waits are refused at once, whatever became of the journey, and let nothing happen."""

    async def work() -> None:
        clock = Hands()
        async with ported(path, now=clock) as made:
            handle = await made.start(request())
            for moment in (NOW, NOW + HOUR, NOW + 2 * HOUR):
                clock.now = moment
                before = contents(path)
                for wait in (made.wait_terminal, made.wait_settled):
                    for seconds in (0, None):
                        with pytest.raises(Refusal) as refused:
                            async with asyncio.timeout(1):
                                await wait(handle.journey_id, STRANGER, seconds)
                        code, detail = refused.value.code, dict(refused.value.detail)
                        assert (code, detail) == (RefusalCode.JOURNEY_NOT_FOUND, {})
                assert contents(path) == before
                if moment > NOW:
                    await handle.wait_settled()

    run(work())


SCENARIOS = [times_out_and_changes_nothing, ends_before_it_is_settled, refuses_a_stranger]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_port_waits_as_the_contract_says(
    tmp_path: Path, scenario: Callable[[Path], None]
) -> None:
    scenario(tmp_path / "store.db")


def wrapped(monkeypatch: pytest.MonkeyPatch, change: Callable[..., Any]) -> None:
    wait = SqliteJourneyPort._wait
    monkeypatch.setattr(SqliteJourneyPort, "_wait", lambda *given: change(wait, *given))


def takes_zero_for_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped(monkeypatch, lambda wait, self, goal, named, t: wait(self, goal, named, t or None))


def takes_none_for_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped(monkeypatch, lambda wait, self, goal, named, t: wait(self, goal, named, t or 0))


def takes_negative_for_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(wait: Any, self: Any, goal: Any, named: Any, seconds: Any) -> Any:
        return wait(self, goal, named, None if seconds is None else max(seconds, 0))

    wrapped(monkeypatch, change)


def answers_nothing_when_it_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def change(wait: Any, self: Any, *given: Any) -> Any:
        try:
            return await wait(self, *given)
        except WaitTimeoutError:
            return None

    wrapped(monkeypatch, change)


def cancels_when_it_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def change(wait: Any, self: Any, goal: Any, named: Any, seconds: Any) -> Any:
        try:
            return await wait(self, goal, named, seconds)
        except WaitTimeoutError:
            await self._ask("cancel", {**named, "reason_code": "caller_requested"})
            raise

    wrapped(monkeypatch, change)


def waits_for_accounting_always(monkeypatch: pytest.MonkeyPatch) -> None:
    async def change(wait: Any, self: Any, goal: Any, named: Any, seconds: Any) -> Any:
        result = await wait(self, "settled", named, seconds)
        return result.outcome if goal == "terminal" else result

    wrapped(monkeypatch, change)


def waits_for_the_end_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(port._READS, "settled", "terminal_outcome")


def asks_only_who_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits is taken for the owner."""

    def change(wait: Any, self: Any, goal: Any, named: Any, seconds: Any) -> Any:
        return wait(self, goal, {**named, "access": ACCESS}, seconds)

    wrapped(monkeypatch, change)


def refuses_when_it_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger is kept waiting like everybody, and told afterwards."""

    async def change(wait: Any, self: Any, goal: Any, named: Any, seconds: Any) -> Any:
        try:
            return await wait(self, goal, named, seconds)
        except Refusal:
            await asyncio.sleep(5 if seconds is None else seconds)
            raise

    wrapped(monkeypatch, change)


def sweeps_before_it_asks_who(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's wait is refused, and lets happen what is due."""

    def meet(self: SqliteJourneyPort, _: Any) -> None:
        self._service.sweep(now=self._deadlines.clocks.utc())

    monkeypatch.setattr(SqliteJourneyPort, "_meet", meet)


def tells_that_it_is_foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    deadline_of = JourneyService.deadline_of

    def told(self: JourneyService, access: Any, journey_id: str, *, now: int) -> int:
        try:
            return deadline_of(self, access, journey_id, now=now)
        except Refusal as refusal:
            raise Refusal(refusal.code, {"reason": "foreign"}) from None

    monkeypatch.setattr(JourneyService, "deadline_of", told)


@pytest.mark.parametrize(
    ("plant", "scenario"),
    [
        (takes_zero_for_no_limit, times_out_and_changes_nothing),
        (takes_none_for_zero, times_out_and_changes_nothing),
        (takes_negative_for_zero, times_out_and_changes_nothing),
        (answers_nothing_when_it_runs_out, times_out_and_changes_nothing),
        (cancels_when_it_runs_out, times_out_and_changes_nothing),
        (waits_for_accounting_always, ends_before_it_is_settled),
        (waits_for_the_end_alone, ends_before_it_is_settled),
        (asks_only_who_comes_first, refuses_a_stranger),
        (refuses_when_it_runs_out, refuses_a_stranger),
        (sweeps_before_it_asks_who, refuses_a_stranger),
        (tells_that_it_is_foreign, refuses_a_stranger),
    ],
)
def test_these_scenarios_find_planted_faults(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plant: Callable[[pytest.MonkeyPatch], None],
    scenario: Callable[[Path], None],
) -> None:
    plant(monkeypatch)
    faults = (AssertionError, AttributeError, PortError, TimeoutError, pytest.fail.Exception)
    with pytest.raises(faults):
        scenario(tmp_path / "store.db")
