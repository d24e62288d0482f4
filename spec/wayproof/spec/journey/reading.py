"""How a client reads an end whose reason code it does not know (clause ``compat-03``).

Reason codes may grow without a new schema version, lifecycle states may not. So the state says
how a journey stands, and a code that this reader does not know is kept, shown and passed on, and
gives leave to nothing. Standard library only.
"""

from collections.abc import Set
from dataclasses import dataclass

from wayproof.spec.journey.records import (
    JourneyExecutionOutcome,
    JourneySettledResult,
    JourneySnapshot,
    OutcomeSummary,
)
from wayproof.spec.journey.vocabulary import TERMINAL_STATES, LifecycleState, TerminalReason


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownReason:
    """A reason code of a later vocabulary. It is no text, and equals no code that is known."""

    code: str
    """As it was received; for people, logs and whoever it is passed on to."""


Reason = TerminalReason | UnknownReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a journey stands, and what a client may conclude from it."""

    state: LifecycleState
    reason: Reason | None
    """Why it ended; absent while it has not."""
    cancellation: Reason | None = None
    """Why it was asked to stop, where the record says so."""

    @property
    def ended(self) -> bool:
        """Whether the journey is terminal: by its state alone."""
        return self.state in TERMINAL_STATES

    @property
    def succeeded(self) -> bool:
        """Whether the journey completed: by its state alone, whatever the reason."""
        return self.state is LifecycleState.COMPLETED

    @property
    def may_promote(self) -> bool:
        """Whether its artifacts may be promoted: it completed, and for the reason that is known.

        A completion for an unknown reason is a success that gives no leave to promote: what the
        code adds may be the very thing that forbids it.
        """
        return self.succeeded and self.reason is TerminalReason.JOURNEY_COMPLETED

    @property
    def may_resume(self) -> bool:
        """Whether its work may be resumed: it is running, and nothing says that it ended or was
        asked to stop."""
        return (
            self.state is LifecycleState.RUNNING
            and self.reason is None
            and self.cancellation is None
        )

    def may_retry(self, reasons: Set[TerminalReason]) -> bool:
        """Whether a client that starts anew after ``reasons`` may do so now: the journey ended
        without success, for one of them. The choice of reasons is the client's own; an unknown
        one cannot be among them."""
        return (
            self.ended
            and not self.succeeded
            and isinstance(self.reason, TerminalReason)
            and self.reason in reasons
        )


def reason_of(code: str) -> Reason:
    """What a reason code means. Only the exact spelling is known; nothing is guessed from it."""
    try:
        return TerminalReason(code)
    except ValueError:
        return UnknownReason(code=code)


def code_of(reason: Reason) -> str:
    """The code of a reason, exactly as it was received."""
    return reason.code if isinstance(reason, UnknownReason) else reason.value


def read(
    record: JourneySnapshot | JourneyExecutionOutcome | JourneySettledResult | OutcomeSummary,
) -> Reading:
    """Read any record that says how a journey stands."""
    if isinstance(record, JourneySettledResult):
        return read(record.outcome)
    if isinstance(record, JourneySnapshot):
        cancelled, ended = record.cancellation, record.terminal_reason
        return Reading(
            state=record.lifecycle_state,
            reason=None if ended is None else reason_of(ended),
            cancellation=None if cancelled is None else reason_of(cancelled.reason_code),
        )
    return Reading(state=record.execution_state, reason=reason_of(record.terminal_reason))
