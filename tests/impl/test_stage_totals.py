"""Long random journeys through several stages, after each command of which everything is counted
again."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.impl import building
from tests.impl.clients import NOW, Client, contents, rows, serving
from tests.impl.recount import disagreements, overdue
from tests.impl.stage_walks import StageWalk

from wayproof.impl.journey import Answered, JourneyService, Refused, runs
from wayproof.impl.journey.entering import Entrance, advancement
from wayproof.spec.journey.vocabulary import DispatchState, WorkflowRunState

STEPS = 150
SHOWN = (
    "state FROM workflow_runs",
    "state FROM dispatch_intents",
    "current_stage FROM journeys",
)


def begun(service: JourneyService, sequence: str, **changed: Any) -> Client:
    """The client of a journey that has entered its first stage."""
    start = building.start_request(sequence, **changed)
    reply = service.call("start", start, now=NOW)
    assert isinstance(reply, Answered)
    client = Client(service, reply.value["journey_id"])
    client.begin()
    return client


def walk(path: Path, seed: int) -> Counter[str]:
    """One random journey; how often each refusal was seen, and each state at the end."""
    seen: Counter[str] = Counter()
    sequence = tuple(building.SEQUENCES)[seed % 2]
    with serving(path, registry=building.REGISTRY) as service:
        client = begun(service, sequence, max_workflow_run_starts=12, max_total_tokens=4000)
        walking = StageWalk(client, seed)
        for _ in range(STEPS):
            before = contents(path)
            version = client.ask("snapshot")["record_version"]
            reply = walking.step()
            assert disagreements(path, client.now) == []
            if isinstance(reply, Refused):
                seen[reply.code.value] += 1
                # What changed is the end that it reports, and that is one version.
                assert contents(path) == before or reply.record_version == version + 1
            if walking.random.random() < 0.1:
                walking.wait()
            if walking.random.random() < 0.05:
                service.sweep(now=client.now)
                assert overdue(path, client.now) == []
                assert disagreements(path, client.now) == []
            for shown in SHOWN:
                seen.update(word for (word,) in rows(path, f"SELECT DISTINCT {shown}"))
    return seen


def test_totals_are_what_the_runs_and_intents_add_up_to(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed in range(16):
        seen += walk(tmp_path / f"{seed}.db", seed)
    # The walks go where it matters.
    assert set(WorkflowRunState) - set(seen) == set()
    assert set(DispatchState) - set(seen) == set()
    assert {"workflow_run_not_active", "input_conflict", "invalid_route_choice"} <= set(seen)
    assert {"workflow_run_start_limit_exhausted", "journey_incomplete"} <= set(seen)
    assert "app_review" in seen


@pytest.mark.parametrize("fault", ["a refinement counts for its journey's stage", "no intent"])
def test_a_wrong_total_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    path = tmp_path / "store.db"
    write = Entrance.write

    def write_without_intents(entrance: Entrance, tx: Any) -> Any:
        entered = write(entrance, tx)
        tx.connection.execute("DELETE FROM dispatch_intents")
        return entered

    def advancing(tx: Any, run: Any, option_id: str | None = None) -> Any:
        return advancement(tx, run._replace(sequence_position=tx.row.stage_position), option_id)

    with serving(path, registry=building.REGISTRY) as service:
        client = begun(service, "build")
        choice = client.runs[0]
        asked = client.ask("list_workflow_runs")["workflow_runs"][0]["pending_input_request_id"]
        if fault == "no intent":
            monkeypatch.setattr(Entrance, "write", write_without_intents)
            client.submit(choice, asked, "new_app")
            assert disagreements(path, client.now) != []
        else:
            monkeypatch.setattr(runs, "advancement", advancing)
            client.submit(choice, asked, "new_app")
            client.finish(client.child("late", "refinement", parent=choice))
            assert len(client.ask("list_workflow_runs")["workflow_runs"]) > 3
            assert disagreements(path, client.now) != []
