"""Mutants that are kind to their callers: they accept what the contract refuses."""

from typing import Final

from wayproof.conformance.mutants.mutant import Mutant
from wayproof.conformance.mutants.named import eased

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="policy-version-defaulted",
        clauses=("policy-01",),
        fault="A policy without a schema version is taken for one of version 1.",
        kind="logic",
        edits=eased(
            'part.setdefault("schema_version", "mozaiks.journey_execution_policy.v1")',
            part="policy",
        ),
    ),
    Mutant(
        name="deadline-without-zone-read-as-utc",
        clauses=("policy-02",),
        fault="A deadline without a time zone is taken for UTC.",
        kind="logic",
        edits=eased(
            """
            deadline = part.get("deadline_utc")
            if isinstance(deadline, str) and re.search(r"T[0-9:.]+$", deadline):
                part["deadline_utc"] = deadline + "Z"
            """,
            part="policy",
        ),
    ),
    Mutant(
        name="deadline-cut-to-milliseconds",
        clauses=("policy-02",),
        fault="A deadline finer than a millisecond is cut instead of refused.",
        kind="logic",
        edits=eased(
            r"""
            deadline = part.get("deadline_utc")
            if isinstance(deadline, str):
                part["deadline_utc"] = re.sub(r"([.][0-9]{3})[0-9]+", r"\1", deadline)
            """,
            part="policy",
        ),
    ),
    Mutant(
        name="ceiling-of-zero-read-as-one",
        clauses=("policy-04",),
        fault="max_total_tokens 0 is raised to 1 instead of refused.",
        kind="logic",
        edits=eased(
            """
            ceiling = part.get("max_total_tokens")
            if type(ceiling) is int and ceiling == 0:
                part["max_total_tokens"] = 1
            """,
            part="policy",
        ),
    ),
    Mutant(
        name="zero-starts-read-as-no-limit",
        clauses=("policy-05",),
        fault="A maximum of 0 run starts or task attempts is taken for no maximum.",
        kind="logic",
        edits=eased(
            """
            for name in ("max_workflow_run_starts", "max_task_attempt_starts"):
                if type(part.get(name)) is int and part[name] == 0:
                    part[name] = None
            """,
            part="policy",
        ),
    ),
    Mutant(
        name="minus-one-read-as-no-limit",
        clauses=("policy-06",),
        fault="A maximum of -1 retries, corrections, repairs or refinements means no maximum.",
        kind="logic",
        edits=eased(
            """
            for name, value in part.items():
                if name.startswith("max_") and type(value) is int and value == -1:
                    part[name] = None
            """,
            part="policy",
        ),
    ),
    Mutant(
        name="cancellation-mode-defaulted",
        clauses=("policy-07",),
        fault="A policy without a cancellation mode is taken for a cooperative one.",
        kind="logic",
        edits=eased('part.setdefault("cancellation_mode", "cooperative")', part="policy"),
    ),
    Mutant(
        name="grace-of-zero-read-as-one",
        clauses=("policy-08",),
        fault="A cancellation grace of 0 seconds is raised to 1 instead of refused.",
        kind="logic",
        edits=eased(
            """
            grace = part.get("cancellation_grace_seconds")
            if type(grace) is int and grace == 0:
                part["cancellation_grace_seconds"] = 1
            """,
            part="policy",
        ),
    ),
    Mutant(
        name="retention-moment-dropped-with-delete",
        clauses=("policy-09",),
        fault="A retain_until_utc beside delete is dropped instead of refused.",
        kind="logic",
        edits=eased(
            """
            artifacts = part.get("partial_artifact_policy")
            if isinstance(artifacts, dict) and artifacts.get("on_non_success") == "delete":
                artifacts.pop("retain_until_utc", None)
            """,
            part="policy",
        ),
    ),
    Mutant(
        name="numbers-read-from-text",
        clauses=("policy-10",),
        fault="A number that is written as a string is converted instead of refused.",
        kind="logic",
        edits=eased(
            """
            for holder in (part, part.get("policy")):
                for name, value in holder.items() if isinstance(holder, dict) else ():
                    numeric = re.search("^max_|_seconds$|_tokens$|_token$|milliseconds$", name)
                    if numeric and isinstance(value, str) and re.fullmatch("[0-9]{1,15}", value):
                        holder[name] = int(value)
            """
        ),
    ),
    Mutant(
        name="ceiling-held-to-the-greatest-number",
        clauses=("policy-10",),
        fault="A max_total_tokens above 2**53-1 is lowered to it instead of refused.",
        kind="logic",
        edits=eased(
            """
            if type(part.get("max_total_tokens")) is int:
                part["max_total_tokens"] = min(part["max_total_tokens"], 2**53 - 1)
            """,
            part="policy",
        ),
    ),
    Mutant(
        name="unknown-policy-fields-dropped",
        clauses=("policy-11",),
        fault="A field that the policy's schema does not name is ignored.",
        kind="logic",
        edits=eased(
            """
            from dataclasses import fields
            from wayproof.spec.journey.records import JourneyExecutionPolicy
            known = {field.name for field in fields(JourneyExecutionPolicy)}
            for name in [name for name in part if name not in known]:
                del part[name]
            """,
            part="policy",
        ),
    ),
    Mutant(
        name="proposed-journey-id-ignored",
        clauses=("identity-01",),
        fault="A start that proposes a journey_id is carried out instead of refused.",
        kind="logic",
        edits=eased('part.pop("journey_id", None)', operation="start"),
    ),
    Mutant(
        name="proposed-run-id-ignored",
        clauses=("identity-01",),
        fault="A child run for which a workflow_run_id is proposed is started instead of refused.",
        kind="logic",
        edits=eased('part.pop("workflow_run_id", None)', operation="start_workflow_run"),
    ),
    Mutant(
        name="sequence-known-by-another-name",
        clauses=("identity-04",),
        fault="A start may give the sequence under sequence_id or pattern_id as well.",
        kind="logic",
        edits=eased(
            """
            for alias in ("sequence_id", "workflow_sequence", "pattern_id", "workflow_id"):
                if alias in part and "workflow_sequence_id" not in part:
                    part["workflow_sequence_id"] = part.pop(alias)
            """,
            operation="start",
        ),
    ),
    Mutant(
        name="journey-known-by-another-name",
        clauses=("identity-04",),
        fault="An operation may give the journey under run_id, chat_id or session_id as well.",
        kind="logic",
        edits=eased(
            """
            for alias in ("run_id", "chat_id", "session_id", "journey", "id"):
                if operation != "start" and alias in part and "journey_id" not in part:
                    part["journey_id"] = part.pop(alias)
            """
        ),
    ),
    Mutant(
        name="idempotency-key-made-up",
        clauses=("start-01",),
        fault="A start without an idempotency key is given a random one.",
        kind="logic",
        edits=eased('part.setdefault("idempotency_key", secrets.token_hex(16))', operation="start"),
    ),
    Mutant(
        name="second-entry-ignored",
        clauses=("start-02",),
        fault="Of an entry that names more than one place only the first counts.",
        kind="logic",
        edits=eased(
            """
            for name in [name for name in part if name not in ("kind", "id")]:
                del part[name]
            """,
            part="entry",
        ),
    ),
    Mutant(
        name="tenant-defaulted-to-the-owner",
        clauses=("access-01",),
        fault="An access without a tenant is given its owner's name as tenant.",
        kind="logic",
        edits=eased(
            """
            if "owner_id" in part:
                part.setdefault("tenant_id", part["owner_id"])
            """,
            part="access",
        ),
    ),
    Mutant(
        name="cancellation-by-an-operator-assumed",
        clauses=("reason-08",),
        fault="A cancellation without a reason code is recorded as operator_requested.",
        kind="logic",
        edits=eased('part.setdefault("reason_code", "operator_requested")', operation="cancel"),
    ),
    Mutant(
        name="unregistered-reason-replaced",
        clauses=("reason-09",),
        fault="A cancellation whose reason code is not registered counts as caller_requested.",
        kind="logic",
        edits=eased(
            """
            reason = part.get("reason_code")
            known = ("caller_requested", "operator_requested", "evaluation_aborted")
            if isinstance(reason, str) and reason not in known:
                part["reason_code"] = "caller_requested"
            """,
            operation="cancel",
        ),
    ),
    Mutant(
        name="explanation-cut",
        clauses=("reason-10",),
        fault="An explanation beyond its bound is cut instead of refused.",
        kind="logic",
        edits=eased(
            """
            if isinstance(part.get("explanation"), str):
                part["explanation"] = part["explanation"][:500]
            """,
            operation="cancel",
        ),
    ),
    Mutant(
        name="semantic-reference-cut",
        clauses=("compiler-02",),
        fault="A semantic-compiler reference beyond its bound is cut instead of refused.",
        kind="logic",
        edits=eased(
            """
            references = part.get("semantic_references")
            for given in references if isinstance(references, list) else ():
                if isinstance(given, dict) and isinstance(given.get("reference"), str):
                    given["reference"] = given["reference"][:256]
            """,
            operation="start",
        ),
    ),
    Mutant(
        name="semantic-reference-of-unknown-role-dropped",
        clauses=("compiler-04",),
        fault="A semantic-compiler reference of an unknown role is ignored.",
        kind="logic",
        edits=eased(
            """
            known = {"application_manifest", "semantic_graph", "taxonomy_namespace",
                     "compilation_plan", "build_context_binding", "refinement_patch",
                     "artifact_revision", "child_contract"}
            references = part.get("semantic_references")
            if isinstance(references, list):
                part["semantic_references"] = [
                    given for given in references
                    if not isinstance(given, dict) or not isinstance(given.get("role"), str)
                    or given["role"] in known
                ]
            """,
            operation="start",
        ),
    ),
)
