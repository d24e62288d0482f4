"""The families of starting: replay, conflict, entries, choices, capabilities and the registry."""

from collections.abc import Iterator
from typing import Any, Final

from wayproof.conformance.generate import settings
from wayproof.conformance.generate.menus import Scope, start
from wayproof.conformance.generate.scripts import (
    Action,
    Call,
    Draft,
    Restart,
    Setting,
    Sweep,
    Tick,
    owned,
)
from wayproof.conformance.generate.settings import (
    DEADLINE,
    MIDNIGHT,
    OWNER,
    at,
    policy,
    setting,
)
from wayproof.spec.journey.vocabulary import POLICY_CAPABILITIES

ALL: Final = setting("all", "solo", "pair", "chain", "ask", "twins", "bare")
SOLO: Final = Scope()
RICH: Final = {"transition_id": "style", "option_id": "rich"}
PLAIN: Final = {"transition_id": "style", "option_id": "plain"}
GRAPH: Final = {"role": "semantic_graph", "reference": "sha256:aaaa"}

CHANGED_POLICIES: Final[dict[str, dict[str, Any]]] = {
    "deadline_utc": {"deadline_utc": at(DEADLINE + 1)},
    "max_total_tokens": {"max_total_tokens": settings.CEILING + 1},
    "cancellation_grace_seconds": {"cancellation_grace_seconds": 6},
    "accounting_settlement_grace_seconds": {"accounting_settlement_grace_seconds": 11},
    "partial_artifact_policy": {
        "partial_artifact_policy": {"on_non_success": "retain_until", "retain_until_utc": at(1)}
    },
    "max_workflow_run_starts": {"max_workflow_run_starts": 9},
    "max_task_attempt_starts": {"max_task_attempt_starts": 9},
    "max_provider_retry_attempts": {"max_provider_retry_attempts": 9},
    "max_structured_output_correction_attempts": {"max_structured_output_correction_attempts": 9},
    "max_workflow_repair_starts": {"max_workflow_repair_starts": 9},
    "max_app_refinement_starts": {"max_app_refinement_starts": 9},
}
"""Each field of the policy that may change, changed."""

REFINES: Final = {"role": "refinement_patch", "reference": "sha256:bbbb"}
REFINING: Final[dict[str, Any]] = {"semantic_references": [REFINES]}
"""What makes a start a refinement."""


def stage(stage_id: str) -> dict[str, str]:
    """The entry by a stage."""
    return {"kind": "stage", "id": stage_id}


CHANGED_REQUESTS: Final[dict[str, dict[str, Any]]] = {
    "sequence": {
        "workflow_sequence_id": "pair",
        "entry": {"kind": "entrypoint", "id": "pair_entry"},
    },
    "unknown sequence": {"workflow_sequence_id": "nowhere"},
    "entrypoint": {"entry": {"kind": "entrypoint", "id": "solo_side_entry"}},
    "kind of entry": {"entry": {"kind": "stage", "id": "Draft"}},
    "route choice": {"route_choices": [RICH]},
    "initial message": {"initial_message": "build me a shop"},
    "empty message": {"initial_message": ""},
    "semantic reference": {"semantic_references": [GRAPH]},
}
"""Each input of a start besides the policy, changed."""

SAME_REQUESTS: Final[dict[str, dict[str, Any]]] = {
    "the same": {},
    "absent fields as null": {"initial_message": None},
    "absent lists as empty": {"route_choices": [], "semantic_references": []},
    "another spelling of the deadline": {
        "policy": policy(deadline_utc="2030-01-01T00:01:00+00:00")
    },
    "absent limits as null": {
        "policy": {**policy(), "max_workflow_run_starts": None, "max_task_attempt_starts": None}
    },
}
"""Ways of saying the same start."""


BEGIN: Final = (
    owned(
        "claim_lease",
        operation_id="lease-1",
        worker_id="worker-1",
        lease_milliseconds=settings.LONG_LEASE,
    ),
    owned("begin_journey", fencing_token="$F1"),
)


def draft(
    topic: str,
    title: str,
    *script: Action,
    focus: int = 0,
    family: str = "idempotency",
    within: Setting = ALL,
) -> Draft:
    """A story about starting."""
    return Draft(
        family=family, topic=topic, setting=within, script=script, focus=focus, title=title
    )


def drafts() -> Iterator[Draft]:
    """Every story about starting."""
    yield from _replays()
    yield from _conflicts()
    yield from _entries()
    yield from _choices()
    yield from _capabilities()
    yield from _contents()


def _replays() -> Iterator[Draft]:
    for name, changes in SAME_REQUESTS.items():
        yield draft("replay", f"start again, {name}", start(SOLO), start(SOLO, **changes))
    ends: dict[str, tuple[Action, ...]] = {
        "while cancelling": (owned("cancel"),),
        "after the cancellation": (owned("cancel"), Sweep()),
        "after the deadline": (Tick(MIDNIGHT + DEADLINE), Sweep()),
        "at the deadline, before any sweep": (Tick(MIDNIGHT + DEADLINE),),
        "after settlement": (
            Tick(MIDNIGHT + DEADLINE),
            Sweep(),
            Tick(MIDNIGHT + DEADLINE + 10_000),
            Sweep(),
        ),
        "after a restart": (Restart(),),
    }
    for name, actions in ends.items():
        yield draft("replay", f"start again {name}", start(SOLO), *actions, start(SOLO))
    other = {**OWNER, "owner_id": "owner-b"}
    yield draft(
        "scope",
        "one key in two creation scopes makes two journeys",
        start(SOLO),
        start(SOLO, access=other),
        owned("cancel"),
        Sweep(),
        start(SOLO),
    )
    for field, value in (("tenant_id", "t-2"), ("workspace_id", "w-2"), ("build_scope_id", "b-2")):
        yield draft(
            "scope",
            f"one key with another {field} makes another journey",
            start(SOLO),
            start(SOLO, access={**OWNER, field: value}),
            owned("snapshot", journey="$J2"),
        )
    without = {key: value for key, value in OWNER.items() if key != "workspace_id"}
    yield draft(
        "scope",
        "one key without the workspace makes another journey",
        start(SOLO),
        start(SOLO, access=without),
    )
    several = [
        {**required, **{k: v for k, v in (("workspace_id", w), ("build_scope_id", b)) if v}}
        for required in ({**without}, {**without, "tenant_id": "owner-a", "owner_id": "tenant-a"})
        for w in (None, "part-1", "part-2")
        for b in (None, "part-1", "part-2")
    ]
    yield draft(
        "scope",
        "every part of a creation scope counts in its own place, present or absent",
        *(start(SOLO, access=access) for access in several),
        *(owned("snapshot", access=access) for access in several),
        *(owned("snapshot", journey="$J2", access=access) for access in several),
        *(start(SOLO, access=access) for access in several),
    )
    yield draft(
        "scope",
        "every part of a creation scope counts, in whatever order the scopes come",
        *(start(SOLO, access=access) for access in reversed(several)),
        *(owned("snapshot", access=access) for access in several),
    )
    yield draft(
        "scope",
        "another key makes another journey",
        start(SOLO),
        start(SOLO, idempotency_key="key-2"),
    )


def _conflicts() -> Iterator[Draft]:
    for name, changes in CHANGED_REQUESTS.items():
        yield draft(
            "conflict", f"the same key, another {name}", start(SOLO), start(SOLO, **changes)
        )
    for name, changes in CHANGED_POLICIES.items():
        changed = start(SOLO, policy=policy(**changes))
        yield draft("conflict", f"the same key, another {name}", start(SOLO), changed)
        yield draft("conflict", f"the same key, no {name} any more", changed, start(SOLO))
    yield draft(
        "conflict",
        "the same key, choices in another option",
        start(SOLO, route_choices=[RICH]),
        start(SOLO, route_choices=[PLAIN]),
    )
    yield draft(
        "conflict",
        "the same key, another reference of the same role",
        start(SOLO, semantic_references=[GRAPH]),
        start(SOLO, semantic_references=[{**GRAPH, "reference": "sha256:bbbb"}]),
    )
    yield draft(
        "conflict",
        "the same key, another role of the same reference",
        start(SOLO, semantic_references=[GRAPH]),
        start(SOLO, semantic_references=[{**GRAPH, "role": "compilation_plan"}]),
    )
    yield draft(
        "conflict",
        "a conflict on a cancelled journey leaves it as it is",
        start(SOLO),
        owned("cancel"),
        Sweep(),
        start(SOLO, initial_message="more"),
    )


def _entries() -> Iterator[Draft]:
    wrong: dict[str, dict[str, Any]] = {
        "an unknown sequence": {"workflow_sequence_id": "nowhere"},
        "an unknown entrypoint": {"entry": {"kind": "entrypoint", "id": "nowhere"}},
        "an entrypoint of another sequence": {"entry": {"kind": "entrypoint", "id": "pair_entry"}},
        "a stage of another sequence": {**REFINING, "entry": stage("Check+Build")},
        "a workflow that is no stage": {**REFINING, "entry": stage("Build")},
        "an entrypoint named as a stage": {**REFINING, "entry": stage("solo_entry")},
        "a stage, refining nothing": {"entry": stage("Draft")},
        "a stage, with another reference": {
            "entry": stage("Draft"),
            "semantic_references": [{**REFINES, "role": "artifact_revision"}],
        },
        "a stage named as an entrypoint": {"entry": {"kind": "entrypoint", "id": "Draft"}},
        "a sequence named as an entrypoint": {"entry": {"kind": "entrypoint", "id": "solo"}},
        "one of several parallel workflows as the stage": {
            **REFINING,
            "workflow_sequence_id": "pair",
            "entry": stage("Build"),
        },
        "an entrypoint of a sequence that has none": {
            "workflow_sequence_id": "bare",
            "entry": {"kind": "entrypoint", "id": "solo_entry"},
        },
    }
    for name, changes in wrong.items():
        yield draft(
            "entry",
            f"start with {name}",
            start(SOLO, **changes),
            start(SOLO),
            family="route",
        )
    right: dict[str, dict[str, Any]] = {
        "the other entrypoint": {"entry": {"kind": "entrypoint", "id": "solo_side_entry"}},
        "the entry stage, refining": {**REFINING, "entry": stage("Draft")},
        "an entrypoint, refining": REFINING,
        "the stage of a sequence that has no entrypoint": {
            **REFINING,
            "workflow_sequence_id": "bare",
            "entry": stage("Aside"),
        },
        "the stage of parallel members": {
            **REFINING,
            "workflow_sequence_id": "pair",
            "entry": stage("Check+Build"),
        },
    }
    side = {"kind": "entrypoint", "id": "solo_side_entry"}
    unwelcome: dict[str, dict[str, Any]] = {
        "an entrypoint that accepts none": {"entry": side},
        "a stage": {**REFINING, "entry": stage("Draft")},
        "a stage, which refines nothing": {"entry": stage("Draft")},
        "an entrypoint of another sequence": {"entry": {"kind": "entrypoint", "id": "pair_entry"}},
        "an entrypoint that accepts none, and a wrong choice": {
            "entry": side,
            "route_choices": [{"transition_id": "style", "option_id": "foreign"}],
        },
    }
    for name, changes in unwelcome.items():
        for message in ("build me a shop", ""):
            yield draft(
                "message",
                f"an initial message at {name}" + ("" if message else ", empty"),
                start(SOLO, initial_message=message, **changes),
                start(SOLO, initial_message=None, **changes),
                start(SOLO, initial_message=message),
                family="route",
            )
    for name, changes in right.items():
        yield draft("entry", f"start with {name}", start(SOLO, **changes), family="route")
    yield draft(
        "entry",
        "a workflow that its stage names twice is two members",
        start(Scope(sequence="twins")),
        *BEGIN,
        owned("list_workflow_runs"),
        family="route",
    )


def _choices() -> Iterator[Draft]:
    def choice(transition: str, option: str) -> dict[str, str]:
        return {"transition_id": transition, "option_id": option}

    cases = {
        "a transition of another sequence": [choice("size", "small")],
        "an unknown transition": [choice("nowhere", "plain")],
        "an undeclared option": [choice("style", "small")],
        "an option of another sequence": [choice("style", "foreign")],
        "two choices for one transition": [PLAIN, RICH],
        "one choice twice": [PLAIN, PLAIN],
        "a right choice and a wrong one": [RICH, choice("size", "small")],
        "an option for every sequence": [PLAIN],
        "an option of its own": [RICH],
    }
    for name, choices in cases.items():
        yield draft(
            "choice",
            f"start with {name}",
            start(SOLO, route_choices=choices),
            start(SOLO, idempotency_key="key-2"),
            family="route",
        )
    both = start(SOLO, workflow_sequence_id="nowhere", route_choices=[choice("x", "y")])
    yield draft("choice", "unknown sequence before wrong choice", both, family="route")
    entry = {"kind": "entrypoint", "id": "nowhere"}
    yield draft(
        "choice",
        "wrong entry before wrong choice",
        start(SOLO, entry=entry, route_choices=[choice("x", "y")]),
        family="route",
    )


def _capabilities() -> Iterator[Draft]:
    def withheld(*names: str) -> Setting:
        return setting("withheld", "solo", "pair", "chain", "ask", withheld=names)

    names = sorted(capability.value for capability in POLICY_CAPABILITIES)
    for name in names:
        yield draft(
            "capability",
            f"start without {name}",
            start(SOLO),
            start(SOLO),
            family="lifecycle",
            within=withheld(name),
        )
    for group in (names[:2], names):
        yield draft(
            "capability",
            f"start without {' and '.join(group)}",
            start(SOLO),
            family="lifecycle",
            within=withheld(*group),
        )
    yield draft(
        "capability",
        "nothing else in a start makes up for a missing capability",
        start(SOLO, initial_message="accounting_settlement"),
        start(SOLO, route_choices=[RICH]),
        start(SOLO, semantic_references=[GRAPH]),
        family="lifecycle",
        within=withheld("accounting_settlement"),
    )
    yield draft(
        "capability",
        "start of chain at its last stage, which needs durable dispatch",
        start(Scope(sequence="chain"), entry=stage("Build"), **REFINING),
        family="lifecycle",
        within=withheld("durable_dispatch"),
    )
    for sequence in ("chain", "ask"):
        several = start(Scope(sequence=sequence))
        yield draft(
            "capability",
            f"start of {sequence}, which needs durable dispatch",
            several,
            start(SOLO),
            family="lifecycle",
            within=withheld("durable_dispatch"),
        )
        yield draft(
            "capability",
            f"start of {sequence} without settlement either",
            several,
            family="lifecycle",
            within=withheld("durable_dispatch", "accounting_settlement"),
        )
    bad_choice = start(
        Scope(sequence="chain"), route_choices=[{"transition_id": "x", "option_id": "y"}]
    )
    yield draft(
        "capability",
        "wrong choice before missing capability",
        bad_choice,
        family="lifecycle",
        within=withheld("durable_dispatch"),
    )


def _contents() -> Iterator[Draft]:
    roles = (
        "application_manifest",
        "semantic_graph",
        "taxonomy_namespace",
        "compilation_plan",
        "build_context_binding",
        "refinement_patch",
        "artifact_revision",
        "child_contract",
    )
    contents: dict[str, Call] = {
        "references of every role": start(
            SOLO, semantic_references=[{"role": r, "reference": f"ref:{r}"} for r in roles]
        ),
        "a long reference": start(
            SOLO, semantic_references=[{"role": "child_contract", "reference": "x" * 256}]
        ),
        "a deadline already past": start(SOLO, policy=policy(deadline_utc=at(-1000))),
        "a deadline at this very moment": start(SOLO, policy=policy(deadline_utc=at(0))),
        "retention that ends before the deadline": start(
            SOLO,
            policy=policy(
                partial_artifact_policy={
                    "on_non_success": "retain_until",
                    "retain_until_utc": at(-5000),
                }
            ),
        ),
        "the least of everything": start(
            SOLO,
            policy=policy(
                max_total_tokens=1,
                cancellation_grace_seconds=1,
                accounting_settlement_grace_seconds=1,
                max_workflow_run_starts=1,
                max_task_attempt_starts=1,
                max_provider_retry_attempts=0,
                max_structured_output_correction_attempts=0,
                max_workflow_repair_starts=0,
                max_app_refinement_starts=0,
            ),
        ),
        "the most of everything": start(
            SOLO,
            policy=policy(
                deadline_utc="9999-12-31T23:59:59.999Z",
                max_total_tokens=2**53 - 1,
                cancellation_grace_seconds=31_536_000,
                accounting_settlement_grace_seconds=31_536_000,
                max_workflow_run_starts=2**53 - 1,
            ),
        ),
        "a long message": start(SOLO, initial_message="x" * 10_000),
        "a message in many scripts": start(
            SOLO, initial_message="Gr\u00fc\u00dfe\n\t\u4f60\u597d \U0001f44b"
        ),
    }
    for name, request in contents.items():
        yield draft(
            "content",
            f"start with {name}",
            request,
            owned("snapshot"),
            Sweep(),
            owned("terminal_outcome"),
            family="lifecycle",
        )
