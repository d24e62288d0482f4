"""The ports: what the contract's types need, and what their requests refuse."""

import inspect
import subprocess
import sys
from dataclasses import replace
from typing import Protocol

import pytest
from tests.spec.samples import ACCESS

from wayproof.spec.journey.ports import (
    JourneyExecutionHandle,
    JourneyExecutionPort,
    OrchestrationPort,
    ResumeRequest,
    RunRequest,
    RunResult,
    WorkflowCancelRequest,
)
from wayproof.spec.journey.records import ExecutionAccessScope, JourneyScope
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.validation import adapter, decode_record

SCOPE = JourneyScope(
    schema_version="wayproof.journey.journey_scope.v1",
    journey_id="journey-1",
    workflow_sequence_id="styled",
    definition_digest="sha256:1",
    workflow_run_id="run-1",
    parent_workflow_run_id=None,
    creation_scope=ExecutionAccessScope(
        schema_version="wayproof.journey.execution_access_scope.v1",
        tenant_id=ACCESS["tenant_id"],
        owner_id=ACCESS["owner_id"],
        workspace_id=None,
        build_scope_id=None,
    ),
    policy_schema_version="mozaiks.journey_execution_policy.v1",
    stage_id="Builder",
)
RUN = RunRequest(
    schema_version="wayproof.journey.run_request.v1",
    workflow_run_id="run-1",
    chat_id="chat-1",
    journey_scope=SCOPE,
    workflow_id="Builder",
)


@pytest.mark.parametrize("module", ["ports", "operations", "definitions", "digests", "rulings"])
def test_the_contract_types_need_the_standard_library_alone(module: str) -> None:
    program = (
        f"import sys, wayproof.spec.journey.{module};"
        "roots = {name.partition('.')[0] for name in sys.modules};"
        "print(sorted(roots - sys.stdlib_module_names - {'wayproof', '__main__'}))"
    )
    found = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _with_path(program)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert found.stdout == "[]\n"


def _with_path(program: str) -> str:
    """Without site-packages, where everything else is installed."""
    roots = [path for path in sys.path if path.endswith("/spec")]
    assert roots
    return f"import sys; sys.path += {roots!r}; {program}"


@pytest.mark.parametrize("method", [name for name in dir(JourneyExecutionPort) if name[0] != "_"])
def test_the_handle_has_every_operation_of_the_port_but_start(method: str) -> None:
    if method == "start":
        assert not hasattr(JourneyExecutionHandle, method)
        return
    of_port = inspect.signature(getattr(JourneyExecutionPort, method))
    of_handle = inspect.signature(getattr(JourneyExecutionHandle, method))
    named = [p for name, p in of_port.parameters.items() if name not in ("journey_id", "access")]
    assert list(of_handle.parameters.values()) == named
    assert of_handle.return_annotation == of_port.return_annotation


def test_the_workflow_port_has_no_operation_on_journeys() -> None:
    assert {name for name in dir(OrchestrationPort) if name[0] != "_"} == {
        "run",
        "resume",
        "cancel",
    }


@pytest.mark.parametrize(
    "request_type", [RunRequest, ResumeRequest, RunResult, WorkflowCancelRequest]
)
def test_the_scope_is_a_typed_field_that_nobody_can_forget(request_type: type) -> None:
    schema = adapter(request_type).json_schema()
    assert "journey_scope" in schema["required"]
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["JourneyScope"]["additionalProperties"] is False


def test_a_scope_of_another_run_is_refused() -> None:
    with pytest.raises(ValueError, match="another run"):
        replace(RUN, workflow_run_id="run-2")


def test_the_execution_mode_is_visible() -> None:
    assert RUN.execution_mode == "bounded"
    assert replace(RUN, journey_scope=None).execution_mode == "legacy_unbounded"


@pytest.mark.parametrize(
    ("outcome", "input_request_id"), [("awaiting_input", None), ("completed", "input-1")]
)
def test_a_result_names_the_input_that_it_waits_for(
    outcome: str, input_request_id: str | None
) -> None:
    document = {
        "schema_version": "wayproof.journey.run_result.v1",
        "workflow_run_id": "run-1",
        "chat_id": "chat-1",
        "journey_scope": None,
        "outcome": outcome,
        "input_request_id": input_request_id,
    }
    with pytest.raises(Refusal) as refused:
        decode_record(RunResult, document)
    assert refused.value.detail == {"pointer": "", "problem": "wrong_form"}
    decode_record(
        RunResult, document | {"outcome": "awaiting_input", "input_request_id": "input-1"}
    )


def operations_of(port: type) -> set[str]:
    return {name for name in dir(port) if name[0] != "_"}


@pytest.mark.parametrize(
    "name", ["start", "list_workflow_runs", "wait_terminal", "keep_artifact", "cancel_all"]
)
def test_an_operation_on_journeys_at_the_workflow_port_would_be_found(name: str) -> None:
    class Grown(OrchestrationPort, Protocol):
        pass

    setattr(Grown, name, OrchestrationPort.run)
    assert operations_of(Grown) - operations_of(OrchestrationPort) == {name}
    assert operations_of(OrchestrationPort) == {"run", "resume", "cancel"}


def test_every_operation_of_the_workflow_port_takes_one_typed_request_of_one_run() -> None:
    requests = {"run": RunRequest, "resume": ResumeRequest, "cancel": WorkflowCancelRequest}
    for name, request in requests.items():
        _, parameter = inspect.signature(getattr(OrchestrationPort, name)).parameters.values()
        assert parameter.annotation is request
        assert {"workflow_run_id", "chat_id", "journey_scope"} <= set(request.__dataclass_fields__)
