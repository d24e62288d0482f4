"""A random owner of a journey of several stages, and a caller who answers what its runs ask."""

from typing import Any, ClassVar, Final

from tests.impl.building import OPTIONS
from tests.impl.clients import Client
from tests.impl.walks import WEIGHTS, Walk

from wayproof.impl.journey import Reply


class StageWalk(Walk):
    """Chooses among what the runs are ready for, and now and then among what they are not."""

    weights: ClassVar[dict[str, float]] = {
        **{operation: weight / 4 for operation, weight in WEIGHTS.items()},
        "begin_journey": 0.5,
        "claim_dispatched_run": 8,
        "acknowledge_dispatch": 3,
        "request_input": 2,
        "submit_input": 8,
        "finish_workflow_run": 8,
        "start_workflow_run": 3,
        "complete_journey": 0.2,
        "cancel": 0.05,
        "fail_journey": 0.02,
    }

    def __init__(self, client: Client, seed: int) -> None:
        super().__init__(client, seed)
        self.snapshots: list[dict[str, Any]] = []

    def step(self) -> Reply:
        """Look at the runs, and send one random request."""
        self.snapshots = self.client.ask("list_workflow_runs")["workflow_runs"]
        self.client.runs = [run["workflow_run_id"] for run in self.snapshots]
        self.client.inputs += [
            run["pending_input_request_id"]
            for run in self.snapshots
            if run["pending_input_request_id"] not in (None, *self.client.inputs)
        ]
        return super().step()

    def _in(self, state: str) -> dict[str, Any]:
        ready = [run for run in self.snapshots if run["state"] == state]
        return self.random.choice(ready if ready and self.random.random() < 0.9 else self.snapshots)

    def _run(self) -> str:
        run: str = self._in("active")["workflow_run_id"]
        return run

    def _begin_journey(self) -> dict[str, Any]:
        return self._owner()

    def _acknowledge_dispatch(self) -> dict[str, Any]:
        return {**self._owner(), "workflow_run_id": self._in("queued")["workflow_run_id"]}

    _claim_dispatched_run = _acknowledge_dispatch

    def _request_input(self) -> dict[str, Any]:
        return {**self._owner(), "operation_id": self._new(), "workflow_run_id": self._run()}

    def _submit_input(self) -> dict[str, Any]:
        run = self._in("waiting")
        asked = run["pending_input_request_id"]
        option = OPTIONS.get(run["stage_id"]) if run["workflow_id"] is None else None
        if asked is None or self.random.random() < 0.1:
            asked = self.random.choice(self.client.inputs or ["none"])
        if self.random.random() < 0.1:
            option = self.random.choice(_WRONG)
        return {
            "workflow_run_id": run["workflow_run_id"],
            "input_request_id": asked,
            "option_id": option,
        }

    def _start_workflow_run(self) -> dict[str, Any]:
        asked = super()._start_workflow_run()
        failed = [
            run for run in self.snapshots if run["state"] == "failed" and not run["superseded"]
        ]
        if failed:
            asked["parent_workflow_run_id"] = failed[0]["workflow_run_id"]
            asked["purpose"] = "repair"
        return asked

    def _finish_workflow_run(self) -> dict[str, Any]:
        outcome = "failed" if self.random.random() < 0.1 else "completed"
        return {**self._owner(), "workflow_run_id": self._run(), "outcome": outcome}


_WRONG: Final = (None, "none", "managed", "existing_app")
