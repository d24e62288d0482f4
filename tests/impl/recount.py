"""The running totals of a store, counted again from its records the slow way."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any


def disagreements(path: Path, now: int) -> list[str]:
    """Every running total that is not what the records add up to, in words."""
    found = []
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        for journey in connection.execute("SELECT * FROM journeys").fetchall():
            children = {
                table: connection.execute(
                    f"SELECT * FROM {table} WHERE journey = ?", (journey["journey"],)
                ).fetchall()
                for table in ("reservations", "workflow_runs", "discrepancies", "dispatch_intents")
            }
            for name, counted in _count_again(journey, **children).items():
                if journey[name] != counted:
                    found.append(f"{name} is {journey[name]} and should be {counted}")
            found += _wrongly_dispatched(children["workflow_runs"], children["dispatch_intents"])
            found += _wrongly_left(journey, children["workflow_runs"])
            found += _wrongly_due(journey, children["reservations"], now)
    return found


def _count_again(
    journey: Any,
    reservations: list[Any],
    workflow_runs: list[Any],
    discrepancies: list[Any],
    dispatch_intents: list[Any],
) -> dict[str, int]:
    position = journey["stage_position"]
    of_stage = [run for run in workflow_runs if run["sequence_position"] == position]
    groups = list(_groups(reservations))
    states = [each["state"] for each in reservations]
    return {
        "estimated_prompt_tokens": sum(each["estimated_prompt_tokens"] for each in reservations),
        "reconciled_tokens": sum(group[0] for group in groups),
        "conservatively_committed_tokens": sum(group[1] for group in groups),
        "reserved_tokens": sum(group[2] for group in groups),
        "reservations": len(reservations),
        "unsettled_reservations": sum(
            state not in ("reconciled", "released_untransmitted") for state in states
        ),
        "transmitted_outside_groups": sum(
            each["state"] == "transmitted" and each["idempotency"] == "none"
            for each in reservations
        ),
        "discrepancies": len(discrepancies),
        "active_runs": sum(run["state"] == "active" for run in workflow_runs),
        "unfinished_runs": _unfinished(workflow_runs),
        "unrepaired_failures": _unrepaired(workflow_runs),
        "stage_unfinished_runs": _unfinished(of_stage),
        "stage_unrepaired_failures": _unrepaired(of_stage),
        "dispatch_intents": len(dispatch_intents),
    }


def _unfinished(runs: list[Any]) -> int:
    return sum(run["finished_at"] is None for run in runs)


def _unrepaired(runs: list[Any]) -> int:
    return sum(run["state"] == "failed" and not run["superseded"] for run in runs)


def _wrongly_dispatched(runs: list[Any], intents: list[Any]) -> list[str]:
    """A queued run has exactly one open intent, and no other run has one."""
    is_open = ("recorded", "acknowledged")
    wanted = sorted(run["workflow_run_id"] for run in runs if run["state"] == "queued")
    offered = sorted(each["workflow_run_id"] for each in intents if each["state"] in is_open)
    found = [] if wanted == offered else [f"{wanted} are queued, and {offered} dispatched"]
    latest = {each["workflow_run_id"]: each["ordinal"] for each in intents}
    for run in runs:
        if run["dispatch_ordinal"] != latest.get(run["workflow_run_id"]):
            found.append(f"{run['workflow_run_id']} knows another intent than its latest")
    return found


def _wrongly_left(journey: Any, runs: list[Any]) -> list[str]:
    """Behind the stage that was entered last every member has ended well, or was repaired."""
    return [
        f"stage {run['stage_id']} was left although a member is {run['state']}"
        for run in runs
        if run["purpose"] in ("entry", "advancement")
        and run["sequence_position"] < journey["stage_position"]
        and run["state"] != "completed"
        and not run["superseded"]
    ]


def _groups(reservations: list[Any]) -> Iterator[tuple[int, int, int]]:
    """What each group adds to the reconciled, conservative and outstanding totals."""

    def group_of(each: Any) -> tuple[str, str]:
        if each["idempotency"] == "authoritative":
            return ("group", each["invocation_id"])
        return ("alone", each["transmission_id"])

    for _, members in groupby(sorted(reservations, key=group_of), key=group_of):
        reconciled = expired = outstanding = 0
        for each in members:
            if each["state"] == "reconciled":
                reconciled = max(reconciled, each["actual_tokens"])
            elif each["state"] == "expired_conservatively":
                expired = max(expired, each["reserved_tokens"])
            elif each["state"] != "released_untransmitted":
                outstanding = max(outstanding, each["reserved_tokens"])
        committed = max(reconciled, expired)
        yield reconciled, committed - reconciled, max(committed, outstanding) - committed


def _wrongly_due(journey: Any, reservations: list[Any], now: int) -> list[str]:
    """A sweep finds a journey by ``due_at``, so nothing in it may fall due earlier."""
    moments = [
        each["lease_expires_at"]
        for each in reservations
        if each["state"] in ("reserved", "transmitted")
    ]
    state = journey["lifecycle_state"]
    if state in ("pending", "running"):
        moments.append(journey["deadline"])
    elif state == "cancelling":
        moments.append(min(journey["deadline"], journey["cancellation_deadline"]))
        if not journey["active_runs"]:
            moments.append(now)
    elif journey["accounting_status"] == "pending":
        moments.append(journey["accounting_deadline"])
    due_at = journey["due_at"]
    if not moments:
        return [] if due_at is None else ["nothing is left to do, and yet it is due"]
    if due_at is None or due_at > min(moments):
        return [f"due at {due_at}, although something is due at {min(moments)}"]
    return []


def overdue(path: Path, now: int) -> list[str]:
    """What a sweep at ``now`` should have done, in words."""
    with closing(sqlite3.connect(path)) as connection:
        questions = {
            "deadline": "SELECT count(*) FROM journeys WHERE deadline <= :now"
            " AND lifecycle_state IN ('pending', 'running')",
            "cutoff": "SELECT count(*) FROM journeys WHERE lifecycle_state = 'cancelling'"
            " AND (active_runs = 0 OR min(deadline, cancellation_deadline) <= :now)",
            "lease": "SELECT count(*) FROM reservations WHERE lease_expires_at <= :now"
            " AND state IN ('reserved', 'transmitted')",
            "accounting": "SELECT count(*) FROM journeys WHERE accounting_deadline <= :now"
            " AND accounting_status = 'pending'",
        }
        return [
            name
            for name, question in questions.items()
            if connection.execute(question, {"now": now}).fetchone() != (0,)
        ]
