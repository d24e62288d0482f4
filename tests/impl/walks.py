"""A random owner of one journey, who mostly does not end it."""

import random
from typing import Any, ClassVar

from tests.impl.clients import MINUTE, Client

from wayproof.impl.journey import Answered, Reply

WEIGHTS: dict[str, float] = {
    "reserve": 8,
    "transmit": 8,
    "report_response": 8,
    "report_unsent": 2,
    "report_ambiguity": 1,
    "renew_reservation": 2,
    "claim_lease": 1,
    "heartbeat": 1,
    "claim_attempt": 1,
    "start_workflow_run": 2,
    "finish_workflow_run": 1,
    "complete_journey": 0.3,
    "cancel": 0.1,
    "fail_journey": 0.05,
}

USAGES: tuple[Any, ...] = (*(0, 1, 5, 11, 11, 11), None, -1, 2.0, "x", 2**53)


class Walk:
    """Chooses one request after the other, with a memory of what was granted."""

    weights: ClassVar[dict[str, float]] = WEIGHTS

    def __init__(self, client: Client, seed: int) -> None:
        self.client = client
        self.random = random.Random(seed)
        self.invocations: dict[str, str] = {}
        self.made = 0

    def step(self) -> Reply:
        """Send one random request."""
        operation = self.random.choices(list(self.weights), list(self.weights.values()))[0]
        arguments: dict[str, Any] = getattr(self, f"_{operation}", dict)()
        reply = self.client.send(operation, **arguments)
        if isinstance(reply, Answered):
            if operation == "reserve":
                self.invocations[arguments["transmission_id"]] = arguments["invocation_id"]
            if operation == "start_workflow_run":
                self.client.runs = [*self.client.runs, *reply.value["workflow_run_ids"]]
        return reply

    def wait(self) -> None:
        """Let some time pass."""
        self.client.now += self.random.choice((1, 1000, MINUTE // 2, MINUTE))

    def _new(self) -> str:
        self.made += 1
        return f"made-{self.made}"

    def _transmission(self) -> dict[str, Any]:
        recent = list(self.invocations)[-6:] or ["none"]
        return {"transmission_id": self.random.choice(recent)}

    def _owner(self) -> dict[str, Any]:
        stale = self.random.random() < 0.03
        return {"fencing_token": 99 if stale else self.client.token}

    def _run(self) -> str:
        return self.random.choice(self.client.runs[-4:])

    def _reserve(self) -> dict[str, Any]:
        choose = self.random
        transmission = self._new()
        changed: dict[str, Any] = {"idempotency": choose.choice(("none", "authoritative"))}
        if changed["idempotency"] == "authoritative":
            changed["invocation_id"] = f"group-{choose.randrange(3)}"
            run = self.client.runs[0]
        else:
            if self.invocations and choose.random() < 0.3:
                changed["invocation_id"] = choose.choice(list(self.invocations.values()))
            run = self._run()
        changed["workflow_run_id"] = run
        changed["max_output_tokens"] = choose.randrange(1, 60)
        changed["lease_milliseconds"] = choose.choice((MINUTE, 5 * MINUTE))
        return {**self.client.reservation(transmission, **changed), **self._owner()}

    def _transmit(self) -> dict[str, Any]:
        return {**self._owner(), **self._transmission()}

    _report_unsent = _transmit

    def _report_response(self) -> dict[str, Any]:
        usage = 1000 if self.random.random() < 0.02 else self.random.choice(USAGES)
        return {**self._transmission(), "usage": usage}

    def _report_ambiguity(self) -> dict[str, Any]:
        groups = [t for t, i in self.invocations.items() if i.startswith("group")]
        named = self._transmission()
        if groups and self.random.random() < 0.9:
            named["transmission_id"] = groups[-1]
        return {**named, "cause": "connection_reset"}

    def _renew_reservation(self) -> dict[str, Any]:
        return {**self._transmit(), "lease_milliseconds": self.random.choice((1, 10 * MINUTE))}

    def _claim_lease(self) -> dict[str, Any]:
        return {"operation_id": "other", "worker_id": "other", "lease_milliseconds": MINUTE}

    def _heartbeat(self) -> dict[str, Any]:
        return {**self._owner(), "lease_milliseconds": 60 * MINUTE}

    def _claim_attempt(self) -> dict[str, Any]:
        return {
            **self._owner(),
            "operation_id": self._new(),
            "workflow_run_id": self._run(),
            "counters": ["task_attempt_starts"],
        }

    def _start_workflow_run(self) -> dict[str, Any]:
        return {
            **self._owner(),
            "operation_id": self._new(),
            "parent_workflow_run_id": self._run(),
            "workflow_id": "plan",
            "purpose": self.random.choice(("decomposition", "repair", "refinement")),
        }

    def _finish_workflow_run(self) -> dict[str, Any]:
        outcome = self.random.choice(("completed", "failed"))
        return {**self._owner(), "workflow_run_id": self._run(), "outcome": outcome}

    _complete_journey = _owner

    def _fail_journey(self) -> dict[str, Any]:
        return {**self._owner(), "reason_code": "workflow_failed"}
