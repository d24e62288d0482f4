"""A journey together with the access of whoever asks about it."""

from dataclasses import dataclass

from wayproof.spec.journey.ports import JourneyExecutionPort
from wayproof.spec.journey.records import (
    ExecutionAccess,
    JourneyExecutionOutcome,
    JourneySettledResult,
    JourneySnapshot,
    WorkflowRunSnapshot,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyHandle:
    """One journey of any port; every method is the port's, and is authorized there each time.

    It holds nothing else: a handle that is lost is replaced by another with the same three
    fields, in whichever process.
    """

    port: JourneyExecutionPort
    journey_id: str
    access: ExecutionAccess

    async def snapshot(self) -> JourneySnapshot:
        """The journey at one committed record version."""
        return await self.port.snapshot(self.journey_id, self.access)

    async def list_workflow_runs(self) -> tuple[WorkflowRunSnapshot, ...]:
        """All workflow runs, in the order of the contract."""
        return await self.port.list_workflow_runs(self.journey_id, self.access)

    async def wait_terminal(self, timeout_seconds: float | None = None) -> JourneyExecutionOutcome:
        """Wait until execution has ended."""
        return await self.port.wait_terminal(self.journey_id, self.access, timeout_seconds)

    async def terminal_outcome(self) -> JourneyExecutionOutcome | None:
        """The outcome, or None while the journey has not ended."""
        return await self.port.terminal_outcome(self.journey_id, self.access)

    async def wait_settled(self, timeout_seconds: float | None = None) -> JourneySettledResult:
        """Wait until accounting is final."""
        return await self.port.wait_settled(self.journey_id, self.access, timeout_seconds)

    async def settled_result(self) -> JourneySettledResult | None:
        """The settled result, or None while accounting is pending."""
        return await self.port.settled_result(self.journey_id, self.access)

    async def cancel(self, reason_code: str = "caller_requested") -> JourneySnapshot:
        """Ask for a cooperative stop."""
        return await self.port.cancel(self.journey_id, self.access, reason_code)
