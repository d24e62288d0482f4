"""Which clauses a step puts at stake, and which rulings its outcome rests on."""

import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Final

from wayproof.conformance.generate.belief import Taken
from wayproof.model.journey import properties
from wayproof.model.journey.properties.contract import (
    JOURNEY_CONTRACTS,
    WORLD_CONTRACTS,
    judge,
)
from wayproof.model.journey.simulate import Played
from wayproof.model.journey.transition import RULES

RULINGS: Final[Mapping[str, tuple[int, ...]]] = {
    "cancel.unchanged": (11,),
    "cancellation.quiet": (9,),
    "accounting.settled_early": (23,),
    "claim_lease.provider_transmission_ambiguous": (27, 49),
    "claim_lease.orphan_recovery_unsafe": (27,),
    "complete_journey.incomplete": (12, 38),
    "complete_journey.completed": (38,),
    "decode.unsupported_cancellation_reason": (8,),
    "finish_workflow_run.stopped": (10,),
    "finish_workflow_run.conflict": (2,),
    "heartbeat.extended": (44,),
    "lease.charged": (18,),
    "refused.fenced": (34, 36),
    "refused.not_the_reservations_owner": (36,),
    "refused.unknown_transmission": (34,),
    "refused.unknown_workflow_run": (34,),
    "report_ambiguity.charged": (16,),
    "report_ambiguity.ended": (16,),
    "report_ambiguity.unchanged": (16, 37),
    "report_response.conflicting": (22, 45),
    "report_response.late": (45,),
    "report_response.malformed": (21, 45, 48),
    "report_response.overshot": (20,),
    "report_response.overshot_running": (20,),
    "report_response.unsent": (53,),
    "report_unsent.conflicting": (22, 45),
    "report_unsent.late": (45,),
    "report_unsent.reconciled": (14, 47),
    "report_unsent.repeated": (37,),
    "renew_reservation.closed": (15,),
    "renew_reservation.lease_expired": (15,),
    "renew_reservation.renewed": (15,),
    "reserve.invocation_conflict": (51,),
    "reserve.predecessor_unresolved": (16,),
    "reserve.unavailable": (29,),
    "run.finished": (34,),
    "start.idempotency_conflict": (25, 43),
    "start_workflow_run.parent_finished": (38,),
    "start_workflow_run.parent_not_failed": (38,),
    "transmit.lease_expired": (14,),
    "transmit.not_reserved": (35,),
}
"""Labels whose outcome the seed's own letter leaves open, and the rulings that decided it."""


class ContractBroken(Exception):
    """The model itself broke one of its step contracts: nothing may be generated from it."""


@cache
def load_contracts() -> None:
    """Import every module of properties, so that their contracts are registered."""
    for module in pkgutil.iter_modules(properties.__path__, f"{properties.__name__}."):
        if not module.name.rpartition(".")[2].startswith("crosshair"):
            import_module(module.name)


def clauses_at_stake(played: Played) -> frozenset[str]:
    """The clauses that one played step puts at stake.

    Raises:
        ContractBroken: if the model broke one.
    """
    load_contracts()
    verdicts = [judge(WORLD_CONTRACTS, played.step)]
    verdicts += [judge(JOURNEY_CONTRACTS, step) for step in played.journey_steps]
    broken = [name for verdict in verdicts for name in verdict.broken]
    if broken:
        raise ContractBroken(f"{broken} at {played.step.operation} {played.step.labels}")
    return frozenset().union(*(verdict.at_stake for verdict in verdicts))


def rulings_of(labels: Iterable[str]) -> tuple[int, ...]:
    """The rulings that a step with these labels rests on."""
    return tuple(sorted({ruling for label in labels for ruling in RULINGS.get(label, ())}))


GENERAL: Final = ("observe-12", "access-02")
"""What nearly every step puts at stake: it says least of what a step is about."""


def tags(taken: Taken) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Clause ids and ruling numbers of one action, as the model itself chooses.

    Those of the rule that answered come first, then those of the rules before it, and what
    nearly every step puts at stake last. Where no contract has anything else at stake, the
    clauses of the rule that answered are all told.
    """
    if not taken.branches:
        return (), ()
    at_stake = clauses_at_stake(taken.branches[0].played)
    of_rules = [clause for label in reversed(taken.labels) for clause in RULES[label].clauses]
    if at_stake <= set(GENERAL):
        at_stake |= {clause for label in taken.labels[-1:] for clause in RULES[label].clauses}
    special = at_stake - set(GENERAL)
    ordered = [clause for clause in (*of_rules, *sorted(special)) if clause in special]
    ordered += [clause for clause in GENERAL if clause in at_stake]
    return tuple(dict.fromkeys(ordered)), rulings_of(taken.labels)
