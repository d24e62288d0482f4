"""The build sequence of ten steps, and a shorter one with parallel members, with who works on it.

The worker holds nothing that it could not read again: every id of its requests follows from what
the store shows, so that a worker that was killed is replaced by a new one at any point.
"""

from collections.abc import Callable
from typing import Any, Final

from tests.impl.clients import (
    ACCESS,
    HOUR,
    MINUTE,
    REFINING,
    policy,
)

from wayproof.spec.journey.definitions import (
    OptionDeclaration,
    Registry,
    SequenceDeclaration,
    StepDeclaration,
    TransitionDeclaration,
    WorkflowDeclaration,
)
from wayproof.spec.journey.vocabulary import TransitionType

_BEFORE: Final = (
    StepDeclaration(transition="app_type_selector"),
    StepDeclaration(workflows=("ValueEngine",)),
    StepDeclaration(workflows=("ThemeCapture",)),
    StepDeclaration(transition="coding_journey_selector"),
    StepDeclaration(transition="database_setup_selector"),
)
_AFTER: Final = (
    StepDeclaration(workflows=("AgentGenerator",)),
    StepDeclaration(workflows=("AppGenerator",)),
    StepDeclaration(transition="app_review"),
)
SEQUENCES: Final = {
    "build": (
        *_BEFORE,
        StepDeclaration(workflows=("DesignDocs",)),
        StepDeclaration(workflows=("SubscriptionContractDesigner",)),
        *_AFTER,
    ),
    "build_in_parallel": (
        *_BEFORE,
        StepDeclaration(workflows=("DesignDocs", "SubscriptionContractDesigner")),
        StepDeclaration(transition="documents_complete"),
        *_AFTER,
    ),
}

REGISTRY: Final = Registry(
    workflows=tuple(
        WorkflowDeclaration(id=name)
        for name in (
            *("ValueEngine", "ThemeCapture", "DesignDocs", "SubscriptionContractDesigner"),
            *("AgentGenerator", "AppGenerator", "AppReview"),
        )
    ),
    transitions=(
        TransitionDeclaration(
            id="app_type_selector",
            options=(
                OptionDeclaration(id="new_app"),
                OptionDeclaration(id="existing_app", sequence="brownfield_app_adoption"),
            ),
        ),
        TransitionDeclaration(
            id="coding_journey_selector",
            options=(
                OptionDeclaration(id="with_database"),
                OptionDeclaration(id="without_database", route_to="DesignDocs"),
            ),
        ),
        TransitionDeclaration(
            id="database_setup_selector",
            options=(OptionDeclaration(id="managed"), OptionDeclaration(id="own")),
        ),
        TransitionDeclaration(
            id="documents_complete", transition_type=TransitionType.WORKFLOW_COMPLETE
        ),
        TransitionDeclaration(
            id="app_review", transition_type=TransitionType.CHAT_SESSION, route_to="AppReview"
        ),
    ),
    workflow_sequences=tuple(
        SequenceDeclaration(id=name, steps=steps) for name, steps in SEQUENCES.items()
    ),
)

OPTIONS: Final = {
    "app_type_selector": "new_app",
    "coding_journey_selector": "with_database",
    "database_setup_selector": "managed",
}
"""What the caller chooses."""

CALLING: Final = frozenset({"ValueEngine", "AppReview"})
"""Which workflows call a model. The review's usage is known late, when the journey has ended."""

FINISHED: Final = ("completed", "failed", "stopped", "quarantined")

Ask = Callable[[str, dict[str, Any]], Any]
"""One request, by operation and arguments; its answer, or None if it was refused."""


def start_request(sequence: str, key: str = "key", **changed: Any) -> dict[str, Any]:
    """A start at the first step; ``changed`` changes its policy, which waits long for usage."""
    changed = {"accounting_settlement_grace_seconds": 3600, **changed}
    return {
        "schema_version": "wayproof.journey.start_request.v1",
        "access": ACCESS,
        "idempotency_key": key,
        "workflow_sequence_id": sequence,
        "entry": {"kind": "stage", "id": "app_type_selector"},
        **REFINING,
        "policy": policy(**changed),
    }


class Builder:
    """A worker, and the caller beside it, on the one journey of a key."""

    def __init__(self, ask: Ask, sequence: str, *, lease: str) -> None:
        self._ask = ask
        self._sequence = sequence
        self._lease = lease
        self._journey: dict[str, Any] = {}
        self._owner: dict[str, Any] = {}

    def work(self) -> None:
        """Go on, from wherever the journey stands, until its accounting is final."""
        started = self._ask("start", start_request(self._sequence))
        self._journey = {"access": ACCESS, "journey_id": started["journey_id"]}
        lease = self._ask(
            "claim_lease",
            {
                **self._journey,
                "operation_id": self._lease,
                "worker_id": self._lease,
                "lease_milliseconds": HOUR // 4,
            },
        )
        if lease is not None:
            self._owner = {**self._journey, "fencing_token": lease["fencing_token"]}
            self._ask("begin_journey", self._owner)
            while self._read("snapshot")["lifecycle_state"] == "running":
                self._go_on()
        for run in self._runs():
            if run["workflow_id"] in CALLING:
                self._respond(run["workflow_run_id"])

    def _go_on(self) -> None:
        """Take over what is queued, do what is active, answer what waits; then complete."""
        runs = self._runs()
        for intent in self._read("list_dispatch_intents", open_only=True)["dispatch_intents"]:
            named = {**self._owner, "workflow_run_id": intent["workflow_run_id"]}
            self._ask("acknowledge_dispatch", named)
            self._ask("claim_dispatched_run", named)
        for run in runs:
            if run["state"] == "active":
                self._execute(run)
            elif run["state"] == "waiting":
                self._ask(
                    "submit_input",
                    {
                        **self._journey,
                        "workflow_run_id": run["workflow_run_id"],
                        "input_request_id": run["pending_input_request_id"],
                        "option_id": OPTIONS.get(run["stage_id"]),
                    },
                )
        if all(run["state"] in FINISHED for run in runs):
            self._ask("complete_journey", self._owner)

    def _execute(self, run: dict[str, Any]) -> None:
        named = {**self._owner, "workflow_run_id": run["workflow_run_id"]}
        self._ask(
            "claim_attempt",
            {
                **named,
                "operation_id": f"attempt-{run['workflow_run_id']}",
                "counters": ["task_attempt_starts"],
            },
        )
        if run["workflow_id"] in CALLING:
            self._call_model(run["workflow_run_id"])
        if run["workflow_id"] == "AppReview":
            asked = self._ask(
                "request_input", {**named, "operation_id": f"pause-{run['workflow_run_id']}"}
            )
            if not self._was_answered(asked["input_request_id"]):
                return
        else:
            self._respond(run["workflow_run_id"])
        self._ask("finish_workflow_run", {**named, "outcome": "completed"})

    def _was_answered(self, input_request_id: str) -> bool:
        intents = self._read("list_dispatch_intents")["dispatch_intents"]
        return any(intent["input_request_id"] == input_request_id for intent in intents)

    def _call_model(self, run: str) -> None:
        self._ask(
            "reserve",
            {
                **self._owner,
                "workflow_run_id": run,
                "invocation_id": f"invocation-{run}",
                "transmission_id": f"call-{run}",
                "idempotency": "authoritative",
                "estimated_prompt_tokens": 10,
                "max_output_tokens": 20,
                "lease_milliseconds": 30 * MINUTE,
            },
        )
        # Refused if it was granted before: the request has left by then.
        self._ask("transmit", {**self._owner, "transmission_id": f"call-{run}"})

    def _respond(self, run: str) -> None:
        self._ask(
            "report_response",
            {**self._journey, "transmission_id": f"call-{run}", "usage": 25},
        )

    def _runs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._read("list_workflow_runs")["workflow_runs"]
        return found

    def _read(self, operation: str, **arguments: Any) -> Any:
        return self._ask(operation, {**self._journey, **arguments})
