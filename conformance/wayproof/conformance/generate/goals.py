"""What a probe of a situation shows, as goals that can be counted: a story is told only if it
serves one that no shorter story serves.
"""

from collections import Counter as Tally
from collections.abc import Hashable, Mapping
from typing import Any, Final

from wayproof.conformance.generate.selection import Probe
from wayproof.conformance.generate.situations import Situation
from wayproof.conformance.generate.tags import clauses_at_stake
from wayproof.model.journey.state import Run, State, Terms, Transmission
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.vocabulary import Counter

JUDGED_ALIKE: Final = 3
"""How many probes that look alike are asked which clauses they put at stake: asking is dear."""


def standing(state: State) -> Hashable:
    """The part of a situation that every goal tells apart."""
    return (state.lifecycle, state.accounting)


def shape(state: State, transmission_id: object) -> Hashable:
    """How a transmission stands, with its siblings; None where it is unknown."""
    for transmission in state.transmissions:
        if transmission.transmission_id == transmission_id:
            others = frozenset(other.state for other in siblings(state, transmission))
            return (transmission.state, transmission.idempotency, others)
    return None


def siblings(state: State, transmission: Transmission) -> list[Transmission]:
    """The other transmissions of the same invocation."""
    return [
        other
        for other in state.transmissions
        if other.invocation_id == transmission.invocation_id and other is not transmission
    ]


def boundary(terms: Terms, state: State, operation: str, sent: dict[str, Any]) -> Any:
    """On which side of which bound the request's amounts and claims lie."""
    if "usage" in sent:
        return usage_class(state, sent)
    if "max_output_tokens" in sent:
        left = terms.max_total_tokens - state.totals.exposure
        parts = (sent["estimated_prompt_tokens"], sent["max_output_tokens"])
        if None in parts:
            return tuple(part is None for part in parts)
        for known in state.transmissions:
            if known.transmission_id == sent["transmission_id"]:
                return differences(known, sent)
        over = clamped(sum(parts) - left)
        own = [t.workflow_run_id == sent["workflow_run_id"] for t in state.transmissions]
        return (over, room(terms, state, {"provider_retry_attempts"}), all(own))
    if "lease_milliseconds" in sent:
        return (sent["lease_milliseconds"], sent.get("worker_id") == "worker-z")
    if "after" in sent:
        listed: tuple[Any, ...] = {
            "list_reservations": state.transmissions,
            "list_dispatch_intents": tuple(i.state for i in state.intents),
        }.get(operation, state.discrepancies)
        shown = listed if operation == "list_dispatch_intents" else len(listed)
        return (sent["after"], sent.get("limit"), shown)
    if operation == "claim_attempt":
        return room(terms, state, set(sent["counters"]))
    if operation == "start_workflow_run":
        return (sent["purpose"], room(terms, state, set(Counter)))
    if operation in STAGED or len(terms.definition.sequence.steps) > 1:
        return delivery(terms, state, sent)
    return None


STAGED: Final = ("acknowledge_dispatch", "claim_dispatched_run", "request_input", "submit_input")
"""The operations of the outbox and of inputs."""


def delivery(terms: Terms, state: State, sent: Mapping[str, Any]) -> Hashable:
    """How the run concerned stands, with its intents and input requests, and of what stage."""
    about = sent.get("workflow_run_id")
    run = next((run for run in state.runs if run.workflow_run_id == about), None)
    if run is None:
        return None
    asked = next(
        (a for a in state.inputs if a.input_request_id == sent.get("input_request_id")), None
    )
    return (
        (run.state, run.started_at is None, run.sequence_position == state.position),
        tuple((i.cause, i.state) for i in state.intents if i.workflow_run_id == about)[-1:],
        asked is not None and (asked.answered, asked.option, asked.workflow_run_id == about),
        room(terms, state, {"workflow_run_starts"}),
    )


def differences(known: Transmission, sent: Mapping[str, Any]) -> Hashable:
    """In what a reservation differs from the one whose identity it repeats."""
    estimate = sent["estimated_prompt_tokens"]
    return (
        sent["invocation_id"] == known.invocation_id,
        sent["workflow_run_id"] == known.workflow_run_id,
        sent["idempotency"] == known.idempotency,
        sent["lease_milliseconds"] == known.lease_milliseconds,
        clamped(estimate - known.estimated_prompt_tokens),
        clamped(estimate + sent["max_output_tokens"] - known.reserved_tokens),
    )


def clamped(difference: int) -> int:
    """Far below, one below, equal, one above, far above."""
    return max(-2, min(difference, 2))


def room(terms: Terms, state: State, claimed: set[str]) -> tuple[str, ...]:
    """The counters that would be claimed, and of which nothing is left."""
    return tuple(
        counter.value
        for counter, limit, count in zip(Counter, terms.limits, state.counters, strict=True)
        if counter in claimed and limit is not None and count >= limit
    )


def mutates(operation: str) -> bool:
    """Whether an operation may change anything."""
    return operation in OPERATIONS and OPERATIONS[operation].mutates


def usage_class(state: State, sent: dict[str, Any]) -> Any:
    """Usage against the amount of its transmission, against the exposure of its group, and
    against what was reported before."""
    usage = sent["usage"]
    if type(usage) is not int or not 0 <= usage < 2**53:
        return (type(usage).__name__, isinstance(usage, int) and usage > 0)
    for transmission in state.transmissions:
        if transmission.transmission_id == sent.get("transmission_id"):
            over = clamped(usage - transmission.reserved_tokens)
            others = siblings(state, transmission)
            group = max(t.reserved_tokens for t in (transmission, *others))
            reported = {other.actual_tokens for other in others}
            again = (usage == transmission.actual_tokens, usage in reported)
            return (usage == 0, over, usage > group, *again)
    return (usage == 0,)


def words(sent: Mapping[str, Any]) -> Hashable:
    """The words of the contract's own vocabularies that a request chooses among."""
    chosen = (sent.get(field) for field in CHOICES)
    return tuple(tuple(word) if isinstance(word, list) else word for word in chosen)


CHOICES: Final = (
    *("cause", "counters", "idempotency", "open_only", "option_id", "outcome", "purpose"),
    "reason_code",
)
"""The arguments that are words of the contract."""


def company(state: State, sent: Mapping[str, Any]) -> set[Hashable]:
    """The kinds of runs that there are, and of which the request is about one."""
    about = sent.get("workflow_run_id", sent.get("parent_workflow_run_id"))
    concerned = next((kind(run) for run in state.runs if run.workflow_run_id == about), None)
    return {(concerned, kind(run)) for run in state.runs}


def kind(run: Run) -> Hashable:
    """Whether a run is a child, of which parallel member it is or descends, and how it stands."""
    return (run.parent_workflow_run_id is not None, run.member_ordinal, run.state)


def fates(state: State, sent: Mapping[str, Any]) -> set[Hashable]:
    """The kinds of groups that there are, by the states of their members; of the group that the
    request is about, from the smallest amount to the greatest."""
    groups: dict[str, list[Transmission]] = {}
    for transmission in state.transmissions:
        groups.setdefault(transmission.invocation_id, []).append(transmission)
    about = (sent.get("transmission_id"), sent.get("invocation_id"))
    found: Tally[Hashable] = Tally()
    for invocation, members in groups.items():
        members.sort(key=lambda m: (m.reserved_tokens, m.state))
        states = tuple(m.state for m in members)
        concerned = about[1] == invocation or any(m.transmission_id == about[0] for m in members)
        fate = (members[0].idempotency, states if concerned else frozenset(states), concerned)
        found[fate] += 1
    return {(fate, min(number, 2)) for fate, number in found.items()}


ABOUT_RUNS: Final = frozenset(
    {
        "begin_journey",
        "claim_attempt",
        "claim_lease",
        "finish_workflow_run",
        "reserve",
        "start_workflow_run",
        "sweep",
    }
)
"""The operations that look at runs even where they do not end the journey."""

ABOUT_STAGES: Final = frozenset({"cancel", "complete_journey", *STAGED})
"""The operations that look at runs besides, once there is an outbox, or an input request."""

ABOUT_TRANSMISSIONS: Final = frozenset(
    {"claim_lease", "report_response", "report_unsent", "reserve", "sweep"}
)
"""The operations that look at other transmissions than their own."""


def goals_of(situation: Situation, probed: Probe, judged: Tally[Hashable]) -> frozenset[Hashable]:
    """What a probe of a situation shows: each rule in each lifecycle and accounting state, on
    each side of each bound, for each shape of the transmission concerned, for each choice of
    words, in each company of runs and of other transmissions, for an owner and its successor, and
    each clause in each lifecycle state. ``judged`` counts the probes that looked alike so far."""
    terms, state = situation.world.journeys[0].terms, situation.state
    step = probed.last.step
    sent = step.arguments if isinstance(step.arguments, dict) else {}
    about = shape(state, sent.get("transmission_id"))
    rule = (step.operation, tuple(p.step.labels for p in probed.played))
    tenure = min(state.lease.fencing_token, 2) if state.lease else 0
    goals: set[Hashable] = {
        ("rule", rule, standing(state)),
        ("tenure", rule, tenure),
        ("shape", rule, about),
        ("boundary", rule, boundary(terms, state, step.operation, sent)),
        ("words", rule, state.lifecycle, words(sent)),
    }
    if step.before != step.after or (step.code is None and mutates(step.operation)):
        after = probed.last.world.journeys[0].state
        staged = bool(state.intents or state.inputs) and step.operation in ABOUT_STAGES
        if after.lifecycle != state.lifecycle or step.operation in ABOUT_RUNS or staged:
            goals |= {("company", rule, runs) for runs in company(state, sent)}
        if after.lifecycle != state.lifecycle or step.operation in ABOUT_TRANSMISSIONS:
            goals |= {("fates", rule, calls) for calls in fates(state, sent)}
    alike = (rule, standing(state), about)
    judged[alike] += 1
    if judged[alike] <= JUDGED_ALIKE:
        for clause in clauses_at_stake(probed.last):
            goals.add(("clause", clause, step.operation, standing(state)))
    return frozenset(goals)
