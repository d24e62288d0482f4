"""Random walks over a whole world: every operation, right and wrong, in every order.

A walk is decided by its number alone. Arguments are made of what the world holds at that moment,
mostly right, sometimes of another owner, with another token or id, too late, or malformed.
"""

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any, Final

from wayproof.model.journey.simulate import Played, Simulation
from wayproof.model.journey.world import Journey, World
from wayproof.spec.journey.constraints import format_moment, from_milliseconds
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.registries import decode_registry
from wayproof.spec.journey.validation import decode
from wayproof.spec.journey.vocabulary import POLICY_CAPABILITIES, Capability, LifecycleState

SECOND: Final = 1000
NOON: Final = 1_900_000_000_000
"""When every walk begins, in milliseconds since 1970."""

REGISTRY: Final[dict[str, Any]] = {
    "workflows": [
        {"id": "Writer", "dependencies": ["Builder"]},
        {"id": "Builder"},
        {"id": "Designer", "dependencies": ["Palette", "Fonts"]},
    ],
    "entrypoints": [
        {
            "id": "styled_entry",
            "sequence": "styled",
            "transition": "style",
            "accepts_initial_message": True,
        },
        {"id": "plain_entry", "sequence": "plain"},
        {"id": "long_entry", "sequence": "long"},
        {"id": "staged_entry", "sequence": "staged"},
    ],
    "transitions": [
        {
            "id": "style",
            "options": [
                {"id": "bold"},
                {"id": "quiet", "sequence": "styled"},
                {"id": "other", "sequence": "plain"},
            ],
        },
        {"id": "unused", "options": [{"id": "any"}]},
        {
            "id": "size",
            "options": [
                {"id": "small", "route_to": "review"},
                {"id": "large"},
                {"id": "backwards", "route_to": "Builder"},
            ],
        },
        {"id": "gate", "transition_type": "workflow_complete"},
        {"id": "review", "transition_type": "chat_session", "route_to": "Writer"},
    ],
    "workflow_sequences": [
        {"id": "styled", "steps": [{"workflows": ["Builder", "Designer"]}]},
        {"id": "plain", "steps": [{"workflows": ["Builder"]}]},
        {"id": "long", "steps": [{"workflows": ["Builder"]}, {"workflows": ["Writer"]}]},
        {
            "id": "staged",
            "steps": [
                {"workflows": ["Builder"]},
                {"transition": "size"},
                {"workflows": ["Designer", "Writer"]},
                {"transition": "gate"},
                {"transition": "review"},
            ],
        },
    ],
}

OWNERS: Final = ("ada", "bob")

GOING_ON: Final = (LifecycleState.PENDING, LifecycleState.RUNNING)

USUAL: Final = (
    *("reserve", "reserve", "reserve", "transmit", "transmit", "transmit"),
    *("report_response", "report_response", "report_unsent", "renew_reservation"),
    *("finish_workflow_run", "start_workflow_run", "claim_attempt", "heartbeat"),
    *("complete_journey", "snapshot", "list_reservations"),
)
"""What is asked of a journey that has begun, each as often as it stands here."""


STAGED: Final = (
    *("finish_workflow_run", "finish_workflow_run", "finish_workflow_run"),
    *("claim_dispatched_run", "claim_dispatched_run", "claim_dispatched_run"),
    *("submit_input", "submit_input", "submit_input", "request_input", "acknowledge_dispatch"),
    *("list_workflow_runs", "list_dispatch_intents", "complete_journey", "claim_lease"),
    *("heartbeat", "snapshot", "reserve"),
)
"""What is asked of a journey of several stages."""


class Walk:
    """One walk, and what it has seen."""

    def __init__(self, number: int) -> None:
        self.random = Random(number)
        advertised = set(POLICY_CAPABILITIES)
        if number % 5 in (1, 3):
            advertised.add(Capability.DURABLE_DISPATCH)
        if number % 5 == 2:
            advertised.discard(Capability.SHARED_TOKEN_RESERVATION)
        world = World(registry=decode_registry(REGISTRY), capabilities=frozenset(advertised))
        self.simulation = Simulation(world, NOON, decode)
        self.starts: list[dict[str, Any]] = []
        self.access: dict[str, dict[str, Any]] = {}
        """Of each journey's start."""

    def steps(self, length: int) -> Iterator[Played]:
        """So many steps."""
        for _ in range(length):
            yield self.step()

    def step(self) -> Played:
        """One step, whatever comes up."""
        random, simulation = self.random, self.simulation
        if random.random() < 0.15:
            simulation.tick(simulation.now + random.choice((1, 200, 500, SECOND, 3 * SECOND)))
        if random.random() < 0.015:
            self.to_the_deadline()
        chance = random.random()
        if chance < 0.06:
            return simulation.sweep()
        if chance < 0.08:
            return simulation.restart()
        if chance < 0.085:
            edited = self.edited()
            return simulation.reconfigure(decode_registry(edited), edited)
        recent = simulation.world.journeys[-2:]
        going_on = [journey for journey in recent if journey.state.lifecycle in GOING_ON]
        if not recent or chance < (0.12 if going_on else 0.35):
            return self.start()
        journey = random.choice(going_on if going_on and random.random() < 0.7 else recent)
        operation = self.operation(journey)
        arguments = self.arguments(operation, journey)
        if random.random() < 0.08:
            spoil(random, arguments)
        return simulation.call(operation, arguments)

    def operation(self, journey: Journey) -> str:
        """Mostly what brings the journey on, now and then anything."""
        state, random = journey.state, self.random
        if random.random() < 0.25:
            return random.choice([name for name in OPERATIONS if name != "start"])
        if state.lifecycle is LifecycleState.PENDING:
            owned = state.lease is not None and self.simulation.now < state.lease.expires_at
            return "begin_journey" if owned else "claim_lease"
        staged = len(journey.terms.definition.sequence.steps) > 1 or bool(state.inputs)
        return random.choice(STAGED if staged else USUAL)

    def to_the_deadline(self) -> None:
        """Let a moment pass that matters to some journey, or all but the last of it."""
        for journey in self.simulation.world.journeys:
            if journey.terms.deadline > self.simulation.now:
                moment = journey.terms.deadline - self.random.randint(0, 1)
                self.simulation.tick(max(self.simulation.now, moment))
                return

    def edited(self) -> dict[str, Any]:
        """The registry, changed in a place that one sequence depends on."""
        registry = deepcopy(REGISTRY)
        chance = self.random.random()
        if chance < 0.3:
            registry["workflow_sequences"][0]["steps"][0]["workflows"] = ["Builder", "Writer"]
        elif chance < 0.6:
            steps = [{"workflows": ["Writer"]}]
            registry["overlays"] = [{"workflow_sequences": [{"id": "plain", "steps": steps}]}]
        elif chance < 0.8:
            registry["meta"] = {"by": "nobody"}
            registry["transitions"][0]["options"][0]["ui"] = {"colour": ["red", None, 1.5]}
        return registry

    def start(self) -> Played:
        """A start: new, repeated, changed, foreign or malformed."""
        random = self.random
        if self.starts and random.random() < 0.5:
            arguments = deepcopy(random.choice(self.starts))
            if random.random() < 0.5:
                change(random, arguments)
            elif random.random() < 0.5:
                arguments["initial_message"] = arguments.get("initial_message")
                arguments["policy"].setdefault("max_task_attempt_starts", None)
        else:
            arguments = self.new_start()
        if random.random() < 0.3:
            spoil(random, arguments)
        played = self.simulation.call("start", arguments)
        if played.journey_id is not None:
            self.starts.append(arguments)
            self.access.setdefault(played.journey_id, arguments["access"])
        return played

    def new_start(self) -> dict[str, Any]:
        """A start that mostly is right."""
        random = self.random
        sequence = random.choice(
            ("styled", "styled", "plain", "plain", "plain", "long", "staged", "staged", "none")
        )
        entry = {"kind": "entrypoint", "id": f"{sequence}_entry"}
        if random.random() < 0.2:
            stage = random.choice(("Builder", "Builder+Designer", "nowhere"))
            entry = {"kind": "stage", "id": stage}
        if random.random() < 0.1:
            entry["id"] = random.choice(("plain_entry", "no_entry"))
        deadline = random.choice((0, 4, 10, 20, 40)) * SECOND
        policy: dict[str, Any] = {
            "schema_version": "mozaiks.journey_execution_policy.v1",
            "deadline_utc": text_of(self.simulation.now + deadline),
            "max_total_tokens": random.choice((1, 10, 20, 40)),
            "cancellation_mode": "cooperative",
            "cancellation_grace_seconds": random.choice((1, 2, 5)),
            "accounting_settlement_grace_seconds": random.choice((1, 4)),
            "partial_artifact_policy": random.choice(
                (
                    {"on_non_success": "delete"},
                    {"on_non_success": "retain_until", "retain_until_utc": text_of(NOON)},
                )
            ),
        }
        for name, limits in (
            ("max_workflow_run_starts", (1, 3)),
            ("max_task_attempt_starts", (1, 2)),
            ("max_provider_retry_attempts", (0, 1)),
            ("max_structured_output_correction_attempts", (0, 1)),
            ("max_workflow_repair_starts", (0, 1)),
            ("max_app_refinement_starts", (0, 1)),
        ):
            if random.random() < 0.25:
                policy[name] = random.choice(limits)
        arguments: dict[str, Any] = {
            "schema_version": "wayproof.journey.start_request.v1",
            "access": self.somebody(),
            "idempotency_key": f"key-{random.randint(1, 6)}",
            "workflow_sequence_id": sequence,
            "entry": entry,
            "policy": policy,
        }
        if random.random() < 0.3:
            arguments["route_choices"] = [
                {
                    "transition_id": random.choice(("style", "style", "style", "size", "unused")),
                    "option_id": random.choice(
                        ("bold", "quiet", "backwards", "other", "large", "none")
                    ),
                }
                for _ in range(random.choice((1, 1, 2)))
            ]
        if random.random() < 0.2:
            arguments["initial_message"] = "Build me a shop."
        if random.random() < 0.2 or entry["kind"] == "stage":
            role = random.choice(("semantic_graph", "refinement_patch", "refinement_patch"))
            arguments["semantic_references"] = [{"role": role, "reference": "sha:1"}]
        return arguments

    def somebody(self) -> dict[str, Any]:
        """Somebody's access."""
        access: dict[str, Any] = {
            "schema_version": "wayproof.journey.execution_access.v1",
            "tenant_id": "tenant",
            "owner_id": self.random.choice(OWNERS),
        }
        if self.random.random() < 0.3:
            access["workspace_id"] = "shed"
        return access

    def arguments(self, operation: str, journey: Journey) -> dict[str, Any]:
        """Arguments of any operation but start, made of what is there."""
        random = self.random
        terms, state = journey.terms, journey.state
        arguments: dict[str, Any] = {
            "access": self.access[terms.journey_id],
            "journey_id": terms.journey_id,
        }
        if random.random() < 0.06:
            arguments["access"] = self.somebody()
        if random.random() < 0.03:
            arguments["journey_id"] = random.choice(
                ["nobody", terms.idempotency_key, "plain", *(r.workflow_run_id for r in state.runs)]
            )
        made = MAKERS.get(operation)
        return arguments if made is None else {**arguments, **made(self, journey)}

    def token(self, journey: Journey) -> int:
        """The token of a journey's owner, or now and then another."""
        lease = journey.state.lease
        token = 1 if lease is None else lease.fencing_token
        return token + 1 if self.random.random() < 0.04 else token

    def run(self, journey: Journey) -> str:
        """A run of the journey, or now and then another."""
        runs = [run.workflow_run_id for run in journey.state.runs]
        return "no-run" if not runs or self.random.random() < 0.02 else self.random.choice(runs)

    def transmission(self, journey: Journey) -> str:
        """A transmission of the journey, or now and then another."""
        known = [record.transmission_id for record in journey.state.transmissions]
        return "unknown" if not known or self.random.random() < 0.03 else self.random.choice(known)


def text_of(milliseconds: int) -> str:
    """A moment as JSON."""
    return format_moment(from_milliseconds(milliseconds))


def _lease(walk: Walk) -> int:
    return walk.random.choice((SECOND, 5 * SECOND, 20 * SECOND, 60 * SECOND))


def _claim_lease(walk: Walk, journey: Journey) -> dict[str, Any]:
    return {
        "operation_id": f"op-{walk.random.randint(1, 9)}",
        "worker_id": walk.random.choice(("one", "two")),
        "lease_milliseconds": _lease(walk),
    }


def _owner(walk: Walk, journey: Journey) -> dict[str, Any]:
    return {"fencing_token": walk.token(journey)}


def _heartbeat(walk: Walk, journey: Journey) -> dict[str, Any]:
    return {**_owner(walk, journey), "lease_milliseconds": _lease(walk)}


def _start_workflow_run(walk: Walk, journey: Journey) -> dict[str, Any]:
    return {
        **_owner(walk, journey),
        "operation_id": f"op-{walk.random.randint(1, 9)}",
        "parent_workflow_run_id": walk.run(journey),
        "workflow_id": "Helper",
        "purpose": walk.random.choice(("decomposition", "repair", "refinement")),
    }


def _finish(walk: Walk, journey: Journey) -> dict[str, Any]:
    return {
        **_owner(walk, journey),
        "workflow_run_id": walk.run(journey),
        "outcome": walk.random.choice(("completed", "completed", "failed")),
    }


def _of_run(walk: Walk, journey: Journey) -> dict[str, Any]:
    return {**_owner(walk, journey), "workflow_run_id": walk.run(journey)}


def _request_input(walk: Walk, journey: Journey) -> dict[str, Any]:
    return {**_of_run(walk, journey), "operation_id": f"op-{walk.random.randint(1, 9)}"}


def _submit_input(walk: Walk, journey: Journey) -> dict[str, Any]:
    random, asked = walk.random, journey.state.inputs
    chosen: dict[str, Any] = {"workflow_run_id": walk.run(journey), "input_request_id": "none"}
    if asked and random.random() < 0.95:
        of = random.choice(asked)
        chosen = {"workflow_run_id": of.workflow_run_id, "input_request_id": of.input_request_id}
    option = random.choice((None, None, "small", "large", "backwards", "none"))
    return chosen if option is None else {**chosen, "option_id": option}


def _claim_attempt(walk: Walk, journey: Journey) -> dict[str, Any]:
    counters = ["task_attempt_starts", "structured_output_correction_attempts"]
    return {
        **_owner(walk, journey),
        "operation_id": f"op-{walk.random.randint(1, 9)}",
        "workflow_run_id": walk.run(journey),
        "counters": walk.random.choice((counters[:1], counters[1:], counters)),
    }


def _fail(walk: Walk, journey: Journey) -> dict[str, Any]:
    reasons = (
        "workflow_failed",
        "token_reservation_unavailable",
        "lifecycle_persistence_unavailable",
    )
    return {**_owner(walk, journey), "reason_code": walk.random.choice(reasons)}


def _reserve(walk: Walk, journey: Journey) -> dict[str, Any]:
    random = walk.random
    return {
        **_owner(walk, journey),
        "workflow_run_id": walk.run(journey),
        "invocation_id": f"call-{random.randint(1, 3)}",
        "transmission_id": f"t-{random.randint(1, 6)}",
        "idempotency": random.choice(("none", "none", "none", "authoritative")),
        "estimated_prompt_tokens": random.choice((0, 1, 1, 2, 8))
        if random.random() < 0.9
        else None,
        "max_output_tokens": random.choice((1, 2)),
        "lease_milliseconds": _lease(walk),
    }


def _transmission(walk: Walk, journey: Journey) -> dict[str, Any]:
    return {**_owner(walk, journey), "transmission_id": walk.transmission(journey)}


def _renew(walk: Walk, journey: Journey) -> dict[str, Any]:
    return {**_transmission(walk, journey), "lease_milliseconds": _lease(walk)}


def _response(walk: Walk, journey: Journey) -> dict[str, Any]:
    usage = walk.random.choice((0, 1, 1, 1, 1, 2, 9, None, "1"))
    return {"transmission_id": walk.transmission(journey), "usage": usage}


def _ambiguity(walk: Walk, journey: Journey) -> dict[str, Any]:
    return {"transmission_id": walk.transmission(journey), "cause": "client_timeout"}


def _cancel(walk: Walk, journey: Journey) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    if walk.random.random() < 0.6:
        reasons = ("caller_requested", "operator_requested", "evaluation_aborted", "bored")
        chosen["reason_code"] = walk.random.choice(reasons)
    if walk.random.random() < 0.4:
        chosen["explanation"] = walk.random.choice(("It is no longer needed.", "x" * 501))
    return chosen


MAKERS: Final = {
    "cancel": _cancel,
    "claim_lease": _claim_lease,
    "heartbeat": _heartbeat,
    "begin_journey": _owner,
    "start_workflow_run": _start_workflow_run,
    "finish_workflow_run": _finish,
    "claim_attempt": _claim_attempt,
    "acknowledge_dispatch": _of_run,
    "claim_dispatched_run": _of_run,
    "request_input": _request_input,
    "submit_input": _submit_input,
    "complete_journey": _owner,
    "fail_journey": _fail,
    "reserve": _reserve,
    "transmit": _transmission,
    "renew_reservation": _renew,
    "report_unsent": _transmission,
    "report_response": _response,
    "report_ambiguity": _ambiguity,
}


def change(random: Random, arguments: dict[str, Any]) -> None:
    """Make another good start of a good one."""
    match random.randint(0, 5):
        case 0:
            arguments["initial_message"] = "Build me something else."
        case 1:
            arguments["policy"]["max_total_tokens"] += 1
        case 2:
            arguments["semantic_references"] = [{"role": "child_contract", "reference": "sha:2"}]
        case 3:
            arguments["access"] = {**arguments["access"], "owner_id": random.choice(OWNERS)}
        case 4:
            arguments["access"] = {**arguments["access"], "workspace_id": "attic"}
        case _:
            arguments["policy"]["cancellation_grace_seconds"] += 1


BAD_VALUES: Final[tuple[Any, ...]] = (
    True,
    "1",
    1.5,
    2**53,
    -1,
    0,
    None,
    "",
    [],
    {},
    "\x00",
    "x" * 300,
)


def spoil(random: Random, arguments: dict[str, Any]) -> None:
    """Make something wrong with the arguments, anywhere in them."""
    part: dict[str, Any] = arguments
    while True:
        inner = [name for name, value in part.items() if isinstance(value, dict)]
        if not inner or random.random() < 0.3:
            break
        name = random.choice(inner)
        part[name] = dict(part[name])
        part = part[name]
    match random.randint(0, 3):
        case 0:
            part[random.choice(UNKNOWN_MEMBERS)] = "x"
        case 1 if part:
            del part[random.choice(list(part))]
        case 2 if part:
            renamed = random.choice(list(part))
            part[f"the_{renamed}"] = part.pop(renamed)
        case _:
            part[random.choice([*part, "semantic_references"])] = deepcopy(
                random.choice((*BAD_VALUES, [{"role": "spell", "reference": "x"}]))
            )


UNKNOWN_MEMBERS: Final = (
    "journey_id",
    "workflow_run_id",
    "entry_stage",
    "policy",
    "max_retry_repair_attempts",
)
