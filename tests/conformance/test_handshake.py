"""The introduction is judged, and each fault of it is found."""

from dataclasses import replace

from wayproof.conformance.protocol.backend import Hello
from wayproof.conformance.run.handshake import judge_handshake
from wayproof.conformance.run.verdict import Verdict

RIGHT = Hello(name="a", version="1", capabilities=("durable_lifecycle", "durable_observation"))


def broken(hello: Hello) -> tuple[str, ...]:
    """The clauses that an introduction breaks."""
    result = judge_handshake(hello)
    if result is None:
        return ()
    assert result.verdict is Verdict.FAIL and result.divergence is not None
    return result.divergence.clauses


def test_a_right_introduction_passes() -> None:
    assert broken(RIGHT) == ()


def test_an_unknown_capability_is_found() -> None:
    assert broken(replace(RIGHT, capabilities=("time_travel",))) == ("capability-01",)


def test_a_capability_named_twice_is_found() -> None:
    assert broken(replace(RIGHT, capabilities=("durable_lifecycle",) * 2)) == ("capability-01",)


def test_a_claim_to_production_is_found() -> None:
    assert broken(replace(RIGHT, non_production=False)) == ("capability-09",)
