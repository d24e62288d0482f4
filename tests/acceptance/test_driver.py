"""The driver must be able to fail: these are the faults that its helpers are there to catch."""

import pytest
from tests.acceptance.driver import Journeys, RefusedError, refused, refused_late

from wayproof.conformance.protocol.backend import Refused


def test_an_answer_is_no_refusal() -> None:
    with pytest.raises(AssertionError, match="but it was answered"), refused("fenced"):
        pass


def test_another_refusal_is_not_the_expected_one() -> None:
    expected = pytest.raises(AssertionError, match="expected fenced, got journey_terminal")
    with expected, refused("fenced"):
        raise RefusedError(Refused(code="journey_terminal"))


def test_a_fault_of_the_adapter_is_no_refusal() -> None:
    with pytest.raises(KeyError), refused("fenced"):
        raise KeyError("broken")


def test_a_late_refusal_must_carry_the_timed_out_outcome() -> None:
    cancelled = {"execution_state": "cancelled", "terminal_reason": "caller_requested"}
    ended = Refused(code="journey_terminal", detail={"outcome": cancelled})
    with pytest.raises(AssertionError, match="cancelled"), refused_late():
        raise RefusedError(ended)


def test_an_unexpected_refusal_fails_its_scenario(journey: Journeys) -> None:
    j = journey.pending()
    with pytest.raises(RefusedError, match="fenced"):
        j.begin()
