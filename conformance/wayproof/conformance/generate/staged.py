"""Vectors of journeys of several stages, of the outbox and of inputs: the same systematic families,
searched where there is something to advance, deliver or answer."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from wayproof.conformance.generate import coverage, instants, refusals, settings, stories
from wayproof.conformance.generate.menus import Scope
from wayproof.conformance.generate.selection import Candidate, Probe
from wayproof.conformance.generate.settings import SHORT_LEASE
from wayproof.conformance.generate.situations import Worlds

CHAIN: Final = Scope(sequence="chain", transmissions=0, attempts=False)
FORK: Final = Scope(sequence="fork", transmissions=0, children=0, attempts=False)
GATED: Final = Scope(sequence="gated", transmissions=0, attempts=False)
ASK: Final = Scope(sequence="ask", transmissions=0, attempts=False)
PAUSED: Final = Scope(transmissions=0, children=0, attempts=False, pauses=2)
HANDED_ON: Final = Scope(
    sequence="fork", transmissions=0, children=0, attempts=False, owner_lease=SHORT_LEASE
)
PAUSED_UNOWNED: Final = Scope(
    transmissions=1,
    grouped=False,
    children=0,
    attempts=False,
    pauses=1,
    owner_lease=SHORT_LEASE,
    ends=False,
)

WORLDS: Final[Worlds] = (
    (settings.CHAIN, CHAIN, 250),
    (settings.FORK, FORK, 500),
    (settings.FORK_NARROW, FORK, 120),
    (settings.GATED, GATED, 300),
    (settings.ASK, ASK, 80),
    (settings.ORDINARY, PAUSED, 300),
    (settings.ORDINARY, PAUSED_UNOWNED, 150),
    (settings.FORK, HANDED_ON, 250),
)
"""Where situations are searched: setting, menu, and how many at most."""

FEW: Final[Worlds] = (
    (settings.CHAIN, CHAIN, 60),
    (settings.FORK, FORK, 120),
    (settings.FORK_NARROW, FORK, 40),
    (settings.GATED, GATED, 80),
    (settings.ASK, ASK, 30),
    (settings.ORDINARY, PAUSED, 80),
    (settings.FORK, HANDED_ON, 80),
)
"""The same for the families that ask much of each situation."""


ABOUT: Final = frozenset(
    {
        "acknowledge_dispatch",
        "cancel",
        "claim_dispatched_run",
        "complete_journey",
        "finish_workflow_run",
        "list_dispatch_intents",
        "request_input",
        "submit_input",
        "sweep",
    }
)
"""The operations that stages, the outbox or inputs change anything about."""


def is_about_stages(probed: Probe) -> bool:
    """Whether a probe shows what no journey of one stage shows: one of these operations, work
    asked of a run that is queued or waits, or a lease taken over with such runs."""
    step = probed.last.step
    idle = any(label == "run.not_active" for label in step.labels)
    return step.operation in ABOUT or idle or step.labels == ("claim_lease.granted",)


def candidates() -> Iterator[Candidate]:
    """Every candidate of every family."""
    return chain(
        coverage.candidates(WORLDS, is_about_stages),
        instants.boundary_candidates(FEW, is_about_stages),
        instants.race_candidates(FEW, is_about_stages),
        refusals.candidates(FEW, refusals.staged_requests),
        stories.drained(FEW),
        stories.restarted(FEW),
        stories.beside_another(FEW),
    )
