"""What a takeover looks at that no sequence of requests can bring about (clause ``lease-07``)."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.impl.clients import HOUR, NOW, begun, serving


@pytest.mark.parametrize(
    ("ceiling", "code", "state"),
    [
        (25, "orphan_recovery_unsafe", "failed"),
        (24, "token_budget_exhausted", "budget_exceeded"),
        (1, "token_budget_exhausted", "budget_exceeded"),
    ],
)
def test_a_takeover_above_the_ceiling_exceeds_the_budget(
    tmp_path: Path, ceiling: int, code: str, state: str
) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service, deadline_utc="2031-01-01T00:00:00.000Z")
        client.transmit("t")
        client.respond("t", 25)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE journeys SET max_total_tokens = ?", (ceiling,))
    with serving(path) as service:
        other = client.elsewhere(service)
        other.now = NOW + HOUR
        claim = {"operation_id": "takeover", "worker_id": "other", "lease_milliseconds": HOUR}
        assert other.refused("claim_lease", **claim) == code
        snapshot = other.ask("snapshot")
        assert (snapshot["lifecycle_state"], snapshot["terminal_reason"]) == (state, code)
