"""The settings in which stories are played: small numbers, so that every bound is near.

Moments count from :data:`MIDNIGHT`, 2030-01-01T00:00:00Z, in milliseconds.
"""

from dataclasses import replace
from typing import Any, Final

from wayproof.conformance.generate.scripts import Setting
from wayproof.spec.journey.constraints import (
    format_moment,
    from_milliseconds,
    parse_moment,
    to_milliseconds,
)

MIDNIGHT: Final = 1_893_456_000_000
SECOND: Final = 1000
DEADLINE: Final = 60 * SECOND
"""Of most policies, after midnight."""
LONG_LEASE: Final = 3_600 * SECOND
SHORT_LEASE: Final = 1 * SECOND
RESERVATION_LEASE: Final = 2 * SECOND
CEILING: Final = 100
AMOUNT: Final = 30
"""Of an ordinary reservation: 10 for the prompt and 20 for the output."""


def at(offset: int) -> str:
    """The written moment, that many milliseconds after midnight."""
    return format_moment(from_milliseconds(MIDNIGHT + offset))


OWNER: Final = {
    "schema_version": "wayproof.journey.execution_access.v1",
    "tenant_id": "tenant-a",
    "owner_id": "owner-a",
    "workspace_id": "workspace-a",
}
STRANGER: Final = {**OWNER, "tenant_id": "tenant-b", "owner_id": "owner-b"}

REGISTRY: Final[dict[str, Any]] = {
    "workflows": [
        {"id": "Draft", "dependencies": []},
        {"id": "Build", "dependencies": ["Draft"]},
        {"id": "Check", "dependencies": ["Draft"]},
        {"id": "Aside", "dependencies": []},
        *(
            {"id": name}
            for name in (
                "ValueEngine",
                "ThemeCapture",
                "DesignDocs",
                "SubscriptionContractDesigner",
                "AgentGenerator",
                "AppGenerator",
                "AppReview",
            )
        ),
    ],
    "entrypoints": [
        {
            "id": "solo_entry",
            "sequence": "solo",
            "transition": "style",
            "accepts_initial_message": True,
        },
        {"id": "solo_side_entry", "sequence": "solo"},
        {"id": "pair_entry", "sequence": "pair"},
        {"id": "chain_entry", "sequence": "chain"},
        {"id": "ask_entry", "sequence": "ask"},
        {"id": "twins_entry", "sequence": "twins"},
        {"id": "fork_entry", "sequence": "fork"},
        {"id": "gated_entry", "sequence": "gated"},
        {"id": "build_entry", "sequence": "build", "transition": "app_type_selector"},
    ],
    "transitions": [
        {
            "id": "style",
            "options": [
                {"id": "plain"},
                {"id": "rich", "sequence": "solo"},
                {"id": "foreign", "sequence": "pair"},
            ],
        },
        {"id": "size", "options": [{"id": "small"}, {"id": "large"}]},
        {
            "id": "depth",
            "options": [
                {"id": "small", "route_to": "Check"},
                {"id": "large"},
                {"id": "back", "route_to": "Draft"},
                {"id": "foreign", "sequence": "pair"},
            ],
        },
        {"id": "gate", "transition_type": "workflow_complete"},
        {"id": "review", "transition_type": "chat_session", "route_to": "Aside"},
        {
            "id": "app_type_selector",
            "options": [
                {"id": "new_app", "sequence": "build"},
                {"id": "existing_app", "sequence": "brownfield_app_adoption"},
            ],
        },
        {
            "id": "coding_journey_selector",
            "options": [
                {
                    "id": "with_database",
                    "route_to": "database_setup_selector",
                    "context_variables": [{"name": "database", "value": "yes"}],
                },
                {"id": "without_database", "route_to": "DesignDocs"},
            ],
        },
        {
            "id": "database_setup_selector",
            "options": [{"id": "managed"}, {"id": "own"}],
        },
        {
            "id": "app_review",
            "transition_type": "chat_session",
            "route_to": "AppReview",
        },
    ],
    "workflow_sequences": [
        {"id": "solo", "steps": [{"workflows": ["Draft"]}]},
        {"id": "pair", "steps": [{"workflows": ["Check", "Build"]}]},
        {"id": "chain", "steps": [{"workflows": ["Draft"]}, {"workflows": ["Build"]}]},
        {"id": "ask", "steps": [{"transition": "size"}]},
        {
            "id": "fork",
            "steps": [
                {"workflows": ["Draft"]},
                {"transition": "depth"},
                {"workflows": ["Build", "Aside"]},
                {"workflows": ["Check"]},
            ],
        },
        {
            "id": "gated",
            "steps": [
                {"transition": "size"},
                {"workflows": ["Draft"]},
                {"transition": "gate"},
                {"transition": "review"},
            ],
        },
        {
            "id": "build",
            "steps": [
                {"transition": "app_type_selector"},
                {"workflows": ["ValueEngine"]},
                {"workflows": ["ThemeCapture"]},
                {"transition": "coding_journey_selector"},
                {"transition": "database_setup_selector"},
                {"workflows": ["DesignDocs", "SubscriptionContractDesigner"]},
                {"workflows": ["AgentGenerator"]},
                {"workflows": ["AppGenerator"]},
                {"transition": "app_review"},
            ],
        },
        {"id": "twins", "steps": [{"workflows": ["Aside", "Aside"]}]},
        {"id": "bare", "steps": [{"workflows": ["Aside"]}]},
    ],
}


def policy(**changes: Any) -> dict[str, Any]:
    """The ordinary policy, with changes; None takes a field away."""
    base: dict[str, Any] = {
        "schema_version": "mozaiks.journey_execution_policy.v1",
        "deadline_utc": at(DEADLINE),
        "max_total_tokens": CEILING,
        "cancellation_mode": "cooperative",
        "cancellation_grace_seconds": 5,
        "accounting_settlement_grace_seconds": 10,
        "partial_artifact_policy": {"on_non_success": "delete"},
        **changes,
    }
    return {field: value for field, value in base.items() if value is not None}


def registry_of(*sequences: str) -> dict[str, Any]:
    """The part of the registry that these sequences refer to."""
    entrypoints = [e for e in REGISTRY["entrypoints"] if e["sequence"] in sequences]
    chains = [s for s in REGISTRY["workflow_sequences"] if s["id"] in sequences]
    steps = [step for chain in chains for step in chain["steps"]]
    transitions = {e.get("transition") for e in entrypoints} | {s.get("transition") for s in steps}
    workflows = {workflow for step in steps for workflow in step.get("workflows", ())}
    workflows |= {t.get("route_to") for t in REGISTRY["transitions"] if t["id"] in transitions}
    return {
        "workflows": [w for w in REGISTRY["workflows"] if w["id"] in workflows],
        "entrypoints": entrypoints,
        "transitions": [t for t in REGISTRY["transitions"] if t["id"] in transitions],
        "workflow_sequences": chains,
    }


def setting(name: str, *sequences: str, withheld: tuple[str, ...] = (), **changes: Any) -> Setting:
    """A setting with these sequences, whose constant ``policy`` has these changes."""
    return Setting(
        name=name,
        registry=registry_of(*sequences),
        constants={"owner": OWNER, "stranger": STRANGER, "policy": policy(**changes)},
        now=MIDNIGHT,
        withheld=withheld,
    )


ORDINARY: Final = setting("ordinary", "solo")
PARALLEL: Final = setting("parallel", "pair")
LIMITED: Final = setting(
    "limited",
    "solo",
    max_workflow_run_starts=3,
    max_task_attempt_starts=1,
    max_provider_retry_attempts=1,
    max_structured_output_correction_attempts=1,
    max_workflow_repair_starts=1,
    max_app_refinement_starts=1,
)
FORBIDDEN: Final = setting(
    "forbidden",
    "solo",
    max_workflow_run_starts=2,
    max_task_attempt_starts=1,
    max_provider_retry_attempts=0,
    max_structured_output_correction_attempts=0,
    max_workflow_repair_starts=0,
    max_app_refinement_starts=0,
)
NARROW: Final = setting("narrow", "pair", max_workflow_run_starts=1)
"""Less than two parallel members need."""
BRIEF: Final = setting(
    "brief",
    "solo",
    deadline_utc=at(3 * SECOND),
    partial_artifact_policy={"on_non_success": "retain_until", "retain_until_utc": at(2000)},
)
"""The deadline comes before the cancellation's grace is over."""
CHAIN: Final = setting("chain", "chain", max_workflow_run_starts=3)
FORK: Final = setting("fork", "fork")
FORK_NARROW: Final = setting("fork-narrow", "fork", max_workflow_run_starts=2)
"""Less than the two members behind the choice need; enough for the shorter way."""
GATED: Final = setting("gated", "gated")
ASK: Final = setting("ask", "ask")
BUILD: Final = setting("build", "build", deadline_utc=at(600 * SECOND))
SLOW: Final = setting("slow", "solo", accounting_settlement_grace_seconds=100)
"""The deadline comes before the accounting's."""
TIGHT: Final = setting("tight", "solo", max_total_tokens=AMOUNT)
LAST_HOUR: Final = replace(
    setting(
        "last-hour",
        "solo",
        deadline_utc="9999-12-31T23:59:59.999Z",
        cancellation_grace_seconds=86_400,
        accounting_settlement_grace_seconds=86_400,
    ),
    now=to_milliseconds(parse_moment("9999-12-31T23:00:00.000Z")),
)
HUGE: Final = setting("huge", "solo", max_total_tokens=2**53 - 1)
