"""Judging how a backend introduces itself: the two clauses that no vector can show."""

from typing import Final

from wayproof.conformance.protocol.backend import Hello
from wayproof.conformance.run.verdict import Divergence, Result, Verdict
from wayproof.spec.journey.vocabulary import Capability

HANDSHAKE: Final = "handshake/hello/0001"
"""The id under which the introduction is judged."""


def judge_handshake(hello: Hello) -> Result | None:
    """The failure of a wrong introduction; None for a right one, which is no vector to count.

    Capabilities come from the published list, each once (capability-01); and while the references
    of the semantic compiler do not exist, every backend says that it is a non-production seam
    (capability-09).
    """
    known = [capability.value for capability in Capability]
    strange = [name for name in hello.capabilities if name not in known]
    twice = len(set(hello.capabilities)) != len(hello.capabilities)
    if strange or twice:
        divergence = _divergence("names of the published list, each once", "capability-01", hello)
    elif not hello.non_production:
        divergence = _divergence("non_production", "capability-09", hello)
    else:
        return None
    return Result(
        id=HANDSHAKE,
        title="the backend introduces itself",
        verdict=Verdict.FAIL,
        divergence=divergence,
    )


def _divergence(expected: str, clause: str, hello: Hello) -> Divergence:
    observed = {
        "capabilities": list(hello.capabilities),
        "non_production": hello.non_production,
    }
    return Divergence(
        step=0,
        action="hello",
        kind="reply",
        expected=expected,
        observed=observed,
        clauses=(clause,),
        rests_on=(),
    )
