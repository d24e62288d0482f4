"""Mutants of choices and of later inputs: what is offered, what waits, and how it goes on."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

_REQUIRE: Final = "    _require_option(tx, run, request.option_id)\n"
_GOING: Final = "    require_going(tx)\n    if run.workflow_id is None:\n"
_CONFLICT: Final = "        if chosen != request.option_id:\n"
_QUEUED: Final = "SET state = 'queued', dispatch_ordinal = ?,"
_NEXT: Final = "    next_stage = advancement(tx, run, request.option_id)\n"
_RESUMED: Final = "dispatch_intents = dispatch_intents + 1"
_ASKED: Final = "    asked = tx.one(\n"
_KNOWN: Final = "    run = known_run(tx, request.workflow_run_id)\n"
_TARGET: Final = "if target is not None and option.id in offered[transition.id]:"
_DUE: Final = "        if tx.now >= row.deadline:\n"


def _inputs(find: str, replace: str) -> Edit:
    return Edit(file="inputs.py", find=find, replace=replace)


def _stages(find: str, replace: str) -> Edit:
    return Edit(file="stages.py", find=find, replace=replace)


def _entering(find: str, replace: str) -> Edit:
    return Edit(file="entering.py", find=find, replace=replace)


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="option-of-the-registry-of-today",
        clauses=("route-08",),
        fault="An input is checked against the transition as the registry declares it by now.",
        kind="logic",
        edits=(
            Edit(
                file="starts.py",
                find="        self._registry = registry\n",
                replace="""        self._registry = registry
        from wayproof.impl.journey import stages
        stages.TODAY = registry
""",
            ),
            _inputs(
                "valid = option_id in pinned_stages(tx)[run.sequence_position].leads_to",
                """from wayproof.impl.journey import stages
        from wayproof.spec.journey.definitions import resolve_definition
        today = resolve_definition(stages.TODAY, tx.row.workflow_sequence_id)
        offered = stages.offered_options(today) if today else {}
        valid = option_id in offered.get(run.stage_id, ())
        valid = valid and option_id in pinned_stages(tx)[run.sequence_position].leads_to""",
            ),
        ),
    ),
    Mutant(
        name="skipped-stage-entered",
        clauses=("route-06", "dispatch-08"),
        fault="Where an option leads is not looked at: the next step always follows.",
        kind="logic",
        edits=(
            _stages(
                "return self.position + 1 if option_id is None else self.leads_to[option_id]",
                "return self.position + 1",
            ),
        ),
    ),
    Mutant(
        name="option-that-leads-back-offered",
        clauses=("route-08", "dispatch-08"),
        fault="An option that names an earlier step is offered, and leads back to it.",
        kind="logic",
        edits=(_stages("range(position + 1, len(steps))", "range(len(steps))"),),
    ),
    Mutant(
        name="option-that-leads-nowhere-leads-on",
        clauses=("route-08",),
        fault="An option that names no later step is offered, and leads to the next one.",
        kind="logic",
        edits=(
            _stages(
                "            return later\n    return None",
                "            return later\n    return position + 1",
            ),
        ),
    ),
    Mutant(
        name="option-of-another-sequence-offered-later",
        clauses=("route-08",),
        fault="An input may choose an option that belongs to another sequence.",
        kind="logic",
        edits=(_stages(_TARGET, "if target is not None:"),),
    ),
    Mutant(
        name="choice-made-at-start-forgotten",
        clauses=("route-06",),
        fault="A transition waits for input, although start chose its option.",
        kind="logic",
        edits=(_entering("    if not stage.is_choice:\n", "    if stage.is_choice:\n"),),
    ),
    Mutant(
        name="gate-waits-for-input",
        clauses=("route-06",),
        fault="A transition that passes by itself waits for an input.",
        kind="logic",
        edits=(
            _stages(
                "is_choice = transition.transition_type is TransitionType.USER_CHOICE_CONTEXT",
                "is_choice = transition.route_to is None",
            ),
        ),
    ),
    Mutant(
        name="review-runs-nothing",
        clauses=("route-06",),
        fault="A transition that routes to a workflow is passed without running it.",
        kind="logic",
        edits=(_stages("if transition.route_to is not None:", "if False:"),),
    ),
    Mutant(
        name="delayed-choice-leads-to-the-next-step",
        clauses=("route-06",),
        fault="A choice whose stage was completed by another run leads to the next step.",
        kind="logic",
        edits=(_entering("following(option_id or row.stage_option)", "following(option_id)"),),
    ),
    Mutant(
        name="chosen-option-not-recorded",
        clauses=("route-06",),
        fault="The run of a choice that was made later does not show its option.",
        kind="sql",
        edits=(
            _inputs(
                "chosen_option_id = ?, finished_at",
                "chosen_option_id = NULLIF(?1, ?1), finished_at",
            ),
        ),
    ),
    Mutant(
        name="begin-replayed-without-its-request",
        clauses=("route-07", "idempotency-09"),
        fault="A repeated begin does not name the input request for which the journey waits.",
        kind="logic",
        edits=(
            Edit(
                file="runs.py",
                find="return _started(entered_by(tx, BY_BEGINNING))",
                replace="return _started(Entered(entered_by(tx, BY_BEGINNING).workflow_run_ids))",
            ),
        ),
    ),
    Mutant(
        name="input-request-of-another-run-accepted",
        clauses=("route-07",),
        fault="An input is looked up by its request alone, whichever run it names.",
        kind="sql",
        edits=(
            _inputs(
                _KNOWN + _ASKED,
                _KNOWN
                + """\
    waits = tx.one(
        "SELECT workflow_run_id FROM input_requests WHERE journey = ? AND input_request_id = ?",
        (tx.row.journey, request.input_request_id),
    )
    if waits is not None:
        from dataclasses import replace
        request = replace(request, workflow_run_id=waits[0])
        run = known_run(tx, request.workflow_run_id)
"""
                + _ASKED,
            ),
        ),
    ),
    Mutant(
        name="input-for-whatever-the-run-waits-for",
        clauses=("route-07",),
        fault="An input is taken for the pending request of its run, whichever it names.",
        kind="logic",
        edits=(
            _inputs(
                _KNOWN + _ASKED,
                _KNOWN
                + """\
    if run.pending_input_request_id is not None:
        from dataclasses import replace
        request = replace(request, input_request_id=run.pending_input_request_id)
"""
                + _ASKED,
            ),
        ),
    ),
    Mutant(
        name="second-option-answered-with-the-first",
        clauses=("route-10",),
        fault="Another option for an answered request is answered from the record.",
        kind="logic",
        edits=(_inputs(_CONFLICT, "        if False:\n"),),
    ),
    Mutant(
        name="second-option-refused-as-not-offered",
        clauses=("route-10", "precedence-10"),
        fault="An option that is not offered is no conflict with the one that was chosen.",
        kind="logic",
        edits=(
            _inputs(
                _CONFLICT,
                f"{_CONFLICT}            _require_option(tx, run, request.option_id)\n",
            ),
        ),
    ),
    Mutant(
        name="answered-input-refused-after-the-end",
        clauses=("route-09", "idempotency-11"),
        fault="A repeated input is refused once the journey is stopped or has ended.",
        kind="logic",
        edits=(_inputs(_CONFLICT, f"        require_going(tx)\n{_CONFLICT}"),),
    ),
    Mutant(
        name="repeated-choice-names-nothing",
        clauses=("route-09", "dispatch-07"),
        fault="A repeated choice does not name the runs that it brought about.",
        kind="logic",
        edits=(
            _inputs(
                "entered_by(tx, run.workflow_run_id) if run.workflow_id is None"
                " else NOTHING_ENTERED",
                "NOTHING_ENTERED",
            ),
        ),
    ),
    Mutant(
        name="repeated-resume-names-the-next-stage",
        clauses=("idempotency-11", "route-09"),
        fault="A repeated resume names what the end of its run has brought about since.",
        kind="logic",
        edits=(
            _inputs(
                "entered_by(tx, run.workflow_run_id) if run.workflow_id is None"
                " else NOTHING_ENTERED",
                "entered_by(tx, run.workflow_run_id)",
            ),
        ),
    ),
    Mutant(
        name="input-needs-the-lease",
        clauses=("lease-12",),
        fault="An input is refused while no worker holds the owner lease.",
        kind="logic",
        edits=(_inputs(_GOING, f"    require_live(tx, tx.row.fencing_token)\n{_GOING}"),),
    ),
    Mutant(
        name="input-accepted-past-the-deadline",
        clauses=("deadline-11", "deadline-14"),
        fault="An input does not look at the deadline of a journey that waits.",
        kind="logic",
        edits=(_inputs(_GOING, f'    if tx.row.lifecycle_state != "running":\n    {_GOING}'),),
    ),
    Mutant(
        name="deadline-rests-while-all-wait",
        clauses=("deadline-14",),
        fault="A journey whose runs all wait is not timed out.",
        kind="logic",
        edits=(
            Edit(
                file="ending.py",
                find=_DUE,
                replace="        waits = row.unfinished_runs and not row.active_runs\n"
                "        if tx.now >= row.deadline and not waits:\n",
            ),
        ),
    ),
    Mutant(
        name="resume-moves-the-deadline",
        clauses=("deadline-14", "deadline-03"),
        fault="A resume puts the deadline off by a second.",
        kind="sql",
        edits=(_inputs(_RESUMED, f"{_RESUMED}, deadline = deadline + 1000"),),
    ),
    Mutant(
        name="input-of-an-ended-journey-checked-last",
        clauses=("precedence-10", "route-08"),
        fault="The end of a journey hides that an option is not offered.",
        kind="logic",
        edits=(
            _inputs(f"{_REQUIRE}    require_going(tx)\n", f"    require_going(tx)\n{_REQUIRE}"),
        ),
    ),
    Mutant(
        name="paused-run-takes-any-option",
        clauses=("route-08",),
        fault="The input of a paused run may name an option, which is recorded.",
        kind="logic",
        edits=(_inputs("valid = option_id is None", "valid = True"),),
    ),
    Mutant(
        name="choice-made-without-an-option",
        clauses=("route-08", "route-06"),
        fault="An input without an option passes a choice, and leads to the next step.",
        kind="logic",
        edits=(
            _inputs(
                "valid = option_id in pinned_stages(tx)[run.sequence_position].leads_to",
                "leads_to = pinned_stages(tx)[run.sequence_position].leads_to\n"
                "        valid = option_id is None or option_id in leads_to",
            ),
        ),
    ),
    Mutant(
        name="choice-recorded-without-its-stage",
        clauses=("dispatch-01", "route-11"),
        fault="Where the stage behind a choice has no room, the choice counts as accepted.",
        kind="transaction",
        edits=(
            _inputs(f"{_NEXT}    _answer(tx, request)\n", f"    _answer(tx, request)\n{_NEXT}"),
        ),
    ),
    Mutant(
        name="resume-without-an-intent",
        clauses=("idempotency-11", "dispatch-02"),
        fault="A resumed run is queued, and nobody is told to take it over.",
        kind="transaction",
        edits=(
            _inputs(
                "    record_intent(tx, ordinal, run.workflow_run_id, DispatchCause.RESUME,"
                " request.input_request_id)\n",
                "",
            ),
        ),
    ),
    Mutant(
        name="resume-needs-no-take-over",
        clauses=("lease-12", "dispatch-02"),
        fault="A resumed run is active at once, under whatever lease there is.",
        kind="sql",
        edits=(
            _inputs(_QUEUED, _QUEUED.replace("queued", "active")),
            _inputs(_RESUMED, f"{_RESUMED}, active_runs = active_runs + 1"),
        ),
    ),
    Mutant(
        name="resume-dispatched-as-a-start",
        clauses=("idempotency-11",),
        fault="The intent of a resumed run says that the run starts.",
        kind="logic",
        edits=(_inputs("DispatchCause.RESUME, request.input_request_id)", "DispatchCause.START)"),),
    ),
    Mutant(
        name="resume-claims-a-start",
        clauses=("idempotency-11", "dispatch-05"),
        fault="A resume consumes a workflow-run start.",
        kind="sql",
        edits=(
            _inputs(
                _RESUMED,
                f"{_RESUMED}, workflow_run_starts = coalesce("
                "min(workflow_run_starts + 1, max_workflow_run_starts), workflow_run_starts + 1)",
            ),
        ),
    ),
    Mutant(
        name="paused-run-is-an-orphan",
        clauses=("lease-12", "observe-15"),
        fault="A takeover takes a run that waits for one that was left active.",
        kind="sql",
        edits=(_inputs("active_runs = active_runs - 1", "active_runs = active_runs"),),
    ),
    Mutant(
        name="pause-not-recorded",
        clauses=("idempotency-09", "observe-15"),
        fault="A repeated request for input finds a run that is not active.",
        kind="transaction",
        edits=(
            _inputs("return record_answer(tx, request, requested)", "return encode(requested)"),
        ),
    ),
    Mutant(
        name="pause-past-the-deadline",
        clauses=("deadline-14", "deadline-11"),
        fault="A run can be paused for input past the deadline.",
        kind="logic",
        edits=(
            _inputs(
                "    require_going(tx)\n    require_active(run)\n",
                '    if tx.row.lifecycle_state != "running":\n        require_going(tx)\n'
                "    require_active(run)\n",
            ),
        ),
    ),
)
