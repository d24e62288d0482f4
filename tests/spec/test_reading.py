"""An unknown reason code is kept, and gives leave to nothing (clause ``compat-03``)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.reading import Reading, UnknownReason, code_of, read, reason_of
from wayproof.spec.journey.records import (
    JourneyExecutionOutcome,
    JourneySettledResult,
    JourneySnapshot,
    OutcomeSummary,
)
from wayproof.spec.journey.validation import decode_record
from wayproof.spec.journey.vocabulary import TERMINAL_STATES, LifecycleState, TerminalReason

NOW = "2030-01-01T00:00:00.000Z"
EVERY_REASON = frozenset(TerminalReason)
KNOWN = st.sampled_from(TerminalReason).map(str)
SPOILT = [str.upper, str.title, lambda code: f"{code}.v2", lambda code: f"x/{code}"]
UNKNOWN = (
    st.from_regex(r"[A-Za-z0-9._:+@/-]{1,128}", fullmatch=True)
    | st.builds(lambda code, spoil: spoil(code), KNOWN, st.sampled_from(SPOILT))
).filter(lambda code: code not in EVERY_REASON)
"""Codes of a later vocabulary, and such as look like known ones."""
STATES = st.sampled_from(LifecycleState)
ENDED = st.sampled_from(sorted(TERMINAL_STATES))


# What a client may conclude


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusions:
    """What a client makes of a state and a code."""

    ended: bool
    succeeded: bool
    leave: frozenset[str]
    """To promote, to resume, to retry."""


Client = Callable[[LifecycleState, str], Conclusions]


def careful(state: LifecycleState, code: str) -> Conclusions:
    """A client that goes by the reading, and retries after every reason there is."""
    reading = Reading(state=state, reason=reason_of(code))
    allowed = {
        "promote": reading.may_promote,
        "resume": reading.may_resume,
        "retry": reading.may_retry(EVERY_REASON),
    }
    leave = frozenset(name for name, given in allowed.items() if given)
    return Conclusions(ended=reading.ended, succeeded=reading.succeeded, leave=leave)


def check(client: Client) -> None:
    """See that an unknown code gives a client leave to nothing, and that the state steers it.

    Raises:
        AssertionError: if it is otherwise.
    """

    @settings(database=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
    @given(state=STATES, code=UNKNOWN, other=UNKNOWN, known=KNOWN)
    @example(state=LifecycleState.COMPLETED, code="done", other="lost", known="journey_completed")
    @example(state=LifecycleState.FAILED, code="X", other="Y", known="workflow_failed")
    def checked(state: LifecycleState, code: str, other: str, known: str) -> None:
        concluded = client(state, code)
        assert concluded.leave == frozenset()
        assert concluded == client(state, other)
        by_state = client(state, known)
        assert concluded.ended == by_state.ended == (state in TERMINAL_STATES)
        assert concluded.succeeded == by_state.succeeded == (state is LifecycleState.COMPLETED)

    checked()


def test_an_unknown_code_gives_leave_to_nothing_and_the_state_steers() -> None:
    check(careful)


def concluding(state: LifecycleState, **changes: Any) -> Conclusions:
    ended, succeeded = state in TERMINAL_STATES, state is LifecycleState.COMPLETED
    values: dict[str, Any] = {"ended": ended, "succeeded": succeeded, "leave": frozenset()}
    return Conclusions(**{**values, **changes})


def promotes_unless_it_failed(state: LifecycleState, code: str) -> Conclusions:
    promotes = state is LifecycleState.COMPLETED and "failed" not in code
    return concluding(state, leave=frozenset({"promote"} if promotes else ()))


def retries_unless_forbidden(state: LifecycleState, code: str) -> Conclusions:
    forbidden = {"deadline_expired", "token_budget_exhausted"}
    retries = state is LifecycleState.FAILED and code not in forbidden
    return concluding(state, leave=frozenset({"retry"} if retries else ()))


def resumes_what_it_does_not_know(state: LifecycleState, code: str) -> Conclusions:
    unknown = isinstance(reason_of(code), UnknownReason)
    resumes = unknown and state is LifecycleState.TIMED_OUT
    return concluding(state, leave=frozenset({"resume"} if resumes else ()))


def takes_every_other_end_for_success(state: LifecycleState, code: str) -> Conclusions:
    return concluding(state, succeeded=code not in EVERY_REASON - {"journey_completed"})


def waits_for_a_known_reason(state: LifecycleState, code: str) -> Conclusions:
    return concluding(state, ended=state in TERMINAL_STATES and code in EVERY_REASON)


def guesses_the_spelling(state: LifecycleState, code: str) -> Conclusions:
    return careful(state, code.lower())


@pytest.mark.parametrize(
    "client",
    [
        promotes_unless_it_failed,
        retries_unless_forbidden,
        resumes_what_it_does_not_know,
        takes_every_other_end_for_success,
        waits_for_a_known_reason,
        guesses_the_spelling,
    ],
)
def test_a_careless_client_is_caught(client: Client) -> None:
    with pytest.raises(AssertionError):
        check(client)


# Codes


@given(UNKNOWN | KNOWN)
def test_a_code_is_passed_on_as_it_was_received(code: str) -> None:
    assert code_of(reason_of(code)) == code
    assert isinstance(reason_of(code), UnknownReason) == (code not in EVERY_REASON)


@given(UNKNOWN)
def test_an_unknown_reason_equals_no_known_one_and_no_text(code: str) -> None:
    assert reason_of(code) not in EVERY_REASON
    assert reason_of(code) != code
    assert reason_of(code) == UnknownReason(code=code)


# Known reasons, so that the leaves above can be given at all


def test_a_completed_journey_may_be_promoted_and_nothing_else_may() -> None:
    allowed = {
        (state, reason)
        for state in LifecycleState
        for reason in TerminalReason
        if Reading(state=state, reason=reason).may_promote
    }
    assert allowed == {(LifecycleState.COMPLETED, TerminalReason.JOURNEY_COMPLETED)}


def test_a_running_journey_may_be_resumed_unless_anything_says_otherwise() -> None:
    resumable = [s for s in LifecycleState if Reading(state=s, reason=None).may_resume]
    assert resumable == [LifecycleState.RUNNING]
    for code in ("caller_requested", "later"):
        asked = Reading(state=LifecycleState.RUNNING, reason=None, cancellation=reason_of(code))
        assert not asked.may_resume


@given(state=STATES, code=KNOWN, chosen=st.frozensets(st.sampled_from(TerminalReason)))
def test_a_retry_takes_an_end_without_success_for_a_chosen_reason(
    state: LifecycleState, code: str, chosen: frozenset[TerminalReason]
) -> None:
    ended_badly = state in TERMINAL_STATES and state is not LifecycleState.COMPLETED
    reading = Reading(state=state, reason=reason_of(code))
    assert reading.may_retry(chosen) == (ended_badly and code in chosen)


# Records


def outcome(state: str, code: str) -> dict[str, Any]:
    return {
        "schema_version": "wayproof.journey.execution_outcome.v1",
        "journey_id": "journey-1",
        "execution_state": state,
        "terminal_reason": code,
        "finished_at": NOW,
        "workflow_runs": [],
        "artifacts": {"disposition": "delete", "retain_until_utc": None},
    }


def summary(state: str, code: str) -> dict[str, Any]:
    members = ("journey_id", "execution_state", "terminal_reason", "finished_at")
    return {name: outcome(state, code)[name] for name in members}


TOKENS = {
    "estimated_prompt_tokens": 0,
    "reserved_tokens": 0,
    "conservatively_committed_tokens": 0,
    "observed_actual_tokens": 0,
    "reconciled_tokens": 0,
    "committed_token_exposure": 0,
}


def settled(state: str, code: str) -> dict[str, Any]:
    return {
        "schema_version": "wayproof.journey.settled_result.v1",
        "outcome": outcome(state, code),
        "accounting_status": "settled",
        "tokens": TOKENS,
        "discrepancy_count": 0,
        "settled_at": NOW,
    }


def snapshot(state: str, code: str | None, cancelled: str | None = None) -> dict[str, Any]:
    counters = (
        "workflow_run_starts",
        "task_attempt_starts",
        "provider_retry_attempts",
        "structured_output_correction_attempts",
        "workflow_repair_starts",
        "app_refinement_starts",
    )
    moments = {"cancellation_requested_at": NOW, "cancellation_deadline_utc": NOW}
    return {
        "schema_version": "wayproof.journey.snapshot.v1",
        "journey_id": "journey-1",
        "workflow_sequence_id": "styled",
        "definition_digest": "sha256:1",
        "lifecycle_state": state,
        "terminal_reason": code,
        "accounting_status": "pending",
        "current_stage": None,
        "created_at": NOW,
        "started_at": None,
        "finished_at": None,
        "deadline_utc": NOW,
        "max_total_tokens": 1,
        "tokens": TOKENS,
        "counters": {name: {"claimed": 0, "limit": None} for name in counters},
        "cancellation": None if cancelled is None else {"reason_code": cancelled, **moments},
        "accounting_deadline_utc": None,
        "settled_at": None,
        "discrepancy_count": 0,
        "record_version": 1,
    }


@given(state=ENDED, code=UNKNOWN | KNOWN)
def test_every_record_with_an_end_is_received_and_read_alike(
    state: LifecycleState, code: str
) -> None:
    expected = Reading(state=state, reason=reason_of(code))
    for record, value in (
        (JourneyExecutionOutcome, outcome(state, code)),
        (OutcomeSummary, summary(state, code)),
        (JourneySettledResult, settled(state, code)),
        (JourneySnapshot, snapshot(state, code)),
    ):
        received: Any = decode_record(record, value)
        assert read(received) == expected
        assert encode(received) == value


@given(UNKNOWN | KNOWN)
def test_a_snapshot_says_why_it_was_asked_to_stop(code: str) -> None:
    reading = read(decode_record(JourneySnapshot, snapshot("cancelling", None, code)))
    assert reading == Reading(
        state=LifecycleState.CANCELLING, reason=None, cancellation=reason_of(code)
    )
    assert not reading.ended and not reading.may_resume
