"""Long random journeys, after each command of which everything is counted again."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.impl.clients import Client, begun, contents, rows, serving
from tests.impl.recount import disagreements, overdue
from tests.impl.walks import Walk

from wayproof.impl.journey import Refused, exposure
from wayproof.spec.journey.refusals import RefusalCode

STEPS = 120

ENDS = frozenset(
    {
        RefusalCode.DEADLINE_EXPIRED,
        RefusalCode.TOKEN_RESERVATION_UNAVAILABLE,
        RefusalCode.TOKEN_BUDGET_EXHAUSTED,
        RefusalCode.ORPHAN_RECOVERY_UNSAFE,
        RefusalCode.PROVIDER_TRANSMISSION_AMBIGUOUS,
        *(code for code in RefusalCode if code.value.endswith("limit_exhausted")),
    }
)
"""Refusals that commit the end which they report."""


def walk(path: Path, seed: int) -> Counter[str]:
    """One random journey; how often each refusal was seen, and each state at the end."""
    seen: Counter[str] = Counter()
    with serving(path) as service:
        client = begun(service, f"key-{seed}", max_total_tokens=4000)
        walking = Walk(client, seed)
        for _ in range(STEPS):
            before = contents(path)
            reply = walking.step()
            assert disagreements(path, client.now) == []
            if isinstance(reply, Refused):
                seen[reply.code.value] += 1
                # A checkpoint may have ended the journey, or its accounting, beside the refusal.
                unchanged = contents(path) == before
                assert unchanged or reply.code in ENDS or reply.code == "journey_terminal"
            if walking.random.random() < 0.2:
                walking.wait()
            if walking.random.random() < 0.1:
                service.sweep(now=client.now)
                assert overdue(path, client.now) == []
                assert disagreements(path, client.now) == []
        seen.update(state for (state,) in rows(path, "SELECT state FROM reservations"))
    return seen


def test_totals_are_what_the_records_add_up_to(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed in range(15):
        seen += walk(tmp_path / f"{seed}.db", seed)
    # The walks go where it matters.
    assert {"reconciled", "expired_conservatively", "released_untransmitted"} <= set(seen)
    assert {"fenced", "predecessor_unresolved", "journey_terminal", "transmission_closed"} <= set(
        seen
    )


SETTLE_SIBLINGS = exposure._settle_siblings


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("_settle_siblings", lambda *settled: SETTLE_SIBLINGS(*settled) - 1),
        ("in_group", lambda reservation: False),
    ],
)
def test_a_wrong_total_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fault: Any
) -> None:
    monkeypatch.setattr(exposure, name, fault)
    path = tmp_path / "store.db"
    group = {"invocation_id": "group", "idempotency": "authoritative"}
    with serving(path) as service:
        client: Client = begun(service)
        for number in range(3):
            client.transmit(f"t-{number}", **group, max_output_tokens=10 + number)
        client.respond("t-0", 5)
        assert disagreements(path, client.now) != []
