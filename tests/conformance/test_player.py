import inspect
import json
import re
from dataclasses import fields, is_dataclass, replace
from functools import partial

import pytest
from tests.conformance import fakes, stories

from wayproof.conformance.generate.histories import histories
from wayproof.conformance.generate.recorder import record
from wayproof.conformance.protocol.backend import WorldSetup
from wayproof.conformance.protocol.load import load_backend
from wayproof.conformance.report.failure import failure_text
from wayproof.conformance.run import exchange, names, player, projection
from wayproof.conformance.run.moments import COMMIT_MOMENTS, check_moments
from wayproof.conformance.run.names import Names
from wayproof.conformance.run.player import play
from wayproof.conformance.run.verdict import Result, Verdict
from wayproof.conformance.vectors.format import CallStep, ExpectedOneOf, Vector
from wayproof.spec.journey import records
from wayproof.spec.journey.clauses import clauses
from wayproof.spec.journey.constraints import parse_moment, to_milliseconds


def judged(fake: type[fakes.Spoilt], vector: Vector) -> Result:
    backend = fake()
    return play(vector, backend, backend.hello().capabilities)


@pytest.mark.parametrize("name", ["model", "sqlite"])
def test_both_readings_pass_what_was_written_by_hand(name: str) -> None:
    backend = load_backend(name)
    try:
        results = [play(story, backend, backend.hello().capabilities) for story in stories.STORIES]
    finally:
        backend.close()
    assert [(r.id, r.verdict, r.divergence, r.note) for r in results] == [
        (story.id, Verdict.PASS, None, "") for story in stories.STORIES
    ]
    assert sum(r.commands for r in results) == sum(len(s.steps) for s in stories.STORIES)


@pytest.mark.parametrize(
    ("fake", "story", "step", "kind"),
    [
        (fakes.WrongReply, stories.RESERVED, 4, "reply"),
        (fakes.FloatingReply, stories.RESERVED, 4, "record"),
        (fakes.TalkativeReply, stories.RESERVED, 4, "record"),
        (fakes.Refuses, stories.RESERVED, 3, "code"),
        (fakes.WrongCode, stories.COMPLETED, 7, "code"),
        (fakes.WrongDetail, stories.COMPLETED, 7, "detail"),
        (fakes.Leaky, stories.FOREIGN, 2, "detail"),
        (fakes.StandingVersion, stories.RESERVED, 3, "version"),
        (fakes.RestlessVersion, stories.REPLAYED, 2, "version"),
        (fakes.WrongState, stories.RESERVED, 4, "state"),
        (fakes.EarlyCreation, stories.RESERVED, 4, "version"),
        (fakes.Forgetful, stories.COMPLETED, 6, "read"),
        (fakes.SameIds, stories.REPLAYED, 3, "identity"),
        (fakes.Unordered, stories.CHILD, 4, "order"),
        (fakes.OldTokens, stories.TAKEN_OVER, 4, "identity"),
        (fakes.FallingTokens, stories.TAKEN_OVER, 4, "order"),
        (fakes.LongPages, stories.RESERVED, 4, "order"),
    ],
)
def test_a_fault_of_the_backend_fails_at_its_step(
    fake: type[fakes.Spoilt], story: Vector, step: int, kind: str
) -> None:
    result = judged(fake, story)
    assert result.verdict is Verdict.FAIL
    assert result.divergence is not None
    assert (result.divergence.step + 1, result.divergence.kind) == (step, kind)
    assert result.divergence.clauses
    assert result.commands == step


@pytest.mark.parametrize(
    "fake",
    [
        fakes.Raises,
        fakes.Exits,
        fakes.Garbage,
        fakes.NotANumber,
        fakes.Circular,
        fakes.NoVersion,
    ],
)
def test_a_fault_of_the_adapter_is_not_held_against_the_backend(fake: type[fakes.Spoilt]) -> None:
    result = judged(fake, stories.RESERVED)
    assert result.verdict is Verdict.HARNESS_FAULT
    assert result.divergence is None
    assert "at step 1 of 5, call start" in result.note
    assert result.at_stake == stories.RESERVED.clauses != ()
    assert f"at stake    {result.at_stake[0]}: " in failure_text(result, "wayproof check")


def test_the_traceback_of_an_adapter_that_raises_is_kept() -> None:
    result = judged(fakes.Raises, stories.RESERVED)
    assert result.note.startswith("the adapter raised LookupError")
    assert 'raise LookupError("the adapter has a fault")' in result.trace


def test_the_users_own_interrupt_is_no_fault_of_the_adapter() -> None:
    class Interrupted(fakes.Spoilt):
        def spoil(self, operation: str, arguments: object, reply: object) -> object:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judged(Interrupted, stories.RESERVED)


def test_a_vector_that_needs_more_than_is_advertised_does_not_apply() -> None:
    result = judged(fakes.Spoilt, stories.SCOPED)
    assert (result.verdict, result.note) == (
        Verdict.NOT_APPLICABLE,
        "needs typed_scope_propagation",
    )
    assert judged(fakes.Lacking, stories.RESERVED).verdict is Verdict.NOT_APPLICABLE


def test_a_store_that_cannot_commit_is_undecided() -> None:
    result = judged(fakes.Unavailable, stories.RESERVED)
    assert result.verdict is Verdict.UNDECIDED
    assert result.note == "the store could not commit, at step 1 of 5, call start"


def test_a_store_that_cannot_be_read_is_undecided() -> None:
    result = judged(fakes.Unreadable, stories.RESERVED)
    assert result.verdict is Verdict.UNDECIDED
    assert result.note == "snapshot found the store unavailable, at step 1 of 5, call start"


def test_an_adapter_may_take_apart_what_it_is_given() -> None:
    for story in stories.STORIES:
        assert judged(fakes.Greedy, story).verdict is Verdict.PASS, story.id


def test_a_vector_that_goes_on_without_a_name_is_undecided() -> None:
    either = stories.start(
        expect=ExpectedOneOf(
            one_of=(
                stories.ok({"journey_id": "$J", "definition_digest": stories.PINNED}),
                stories.err("fenced"),
            )
        ),
        changes=None,
    )
    vector = stories.story("unbound/0001", either, replace(stories.LEASE, changes=None))
    assert judged(fakes.Spoilt, vector).verdict is Verdict.PASS
    result = judged(fakes.RefusesStart, vector)
    assert result.verdict is Verdict.UNDECIDED
    assert result.note == "$J stands for nothing, at step 2 of 2, call claim_lease"


def test_an_eager_backend_passes_where_either_state_is_allowed() -> None:
    result = judged(fakes.Eager, stories.LATE)
    assert (result.verdict, result.note) == (Verdict.PASS, "")


def test_more_record_versions_than_changes_are_allowed() -> None:
    for story in stories.STORIES:
        result = judged(fakes.LeapingVersion, story)
        assert (result.verdict, result.divergence) == (Verdict.PASS, None), story.id


def test_a_divergence_shows_the_state_before_and_both_after() -> None:
    divergence = judged(fakes.WrongState, stories.RESERVED).divergence
    assert divergence is not None
    assert divergence.action == "call reserve"
    assert divergence.before["J"]["snapshot"]["tokens"]["reserved_tokens"] == 0
    assert dict(divergence.differences) == {"/J/snapshot/tokens/reserved_tokens": (30, 31)}
    assert divergence.clauses == ("reservation-01",)


def test_a_failure_names_its_clauses_in_words_and_how_to_see_it_again() -> None:
    result = judged(fakes.WrongReply, stories.RESERVED)
    text = failure_text(result, "wayproof check --backend python:x:Y")
    assert clauses()["reservation-01"].text in text
    assert '"reserved_tokens": 30,' in text
    assert '"reserved_tokens": 31,' in text
    assert text.splitlines()[-1].split(maxsplit=1) == [
        "replay",
        "wayproof check --backend python:x:Y --only hand/reserved/0001",
    ]


def test_a_failure_that_rests_on_a_ruling_says_so() -> None:
    vector = stories.story("ruled/0001", *stories.RESERVED.steps, rests_on=(5, 20))
    divergence = judged(fakes.WrongReply, vector).divergence
    assert divergence is not None
    assert divergence.rests_on == (5, 20)
    ruled = judged(fakes.StandingVersion, vector).divergence
    assert ruled is not None
    assert (ruled.kind, ruled.rests_on) == ("version", ())  # that is the seed's own letter


def test_no_ruling_on_what_changes_nothing_explains_a_change_that_did_not_come() -> None:
    """Ruling 11 is about repeated cancellations, which change nothing; ruling 20 about changes."""
    vector = stories.story("ruled/0001", *stories.RESERVED.steps, rests_on=(11, 20))
    answer = judged(fakes.WrongReply, vector).divergence
    state = judged(fakes.WrongState, vector).divergence
    assert answer is not None
    assert state is not None
    assert (answer.kind, answer.rests_on) == ("reply", (11, 20))
    assert (state.kind, state.rests_on) == ("state", (20,))


def test_every_clause_that_the_player_names_by_itself_is_in_the_register() -> None:
    named = {
        clause
        for module in (exchange, names, player, projection)
        for clause in re.findall(r'"([a-z]+-\d\d)"', inspect.getsource(module))
    }
    assert named
    assert {clause for clause in named if clause not in clauses()} == set()


def test_a_backend_is_sent_no_expectation_and_no_name() -> None:
    sent = json.dumps(fakes.Listening.heard_from(stories.RESERVED))
    assert '"reserve"' in sent
    assert '"max_output_tokens": 20' in sent
    assert "expect" not in sent
    assert "$" not in sent


def test_literal_strings_are_sent_as_they_are() -> None:
    heard = fakes.Listening.heard_from(stories.UNKNOWN)
    assert ["teleport", {"to": "$J"}] in heard


def test_pages_are_read_to_their_end() -> None:
    backend = load_backend("model")
    world = backend.open("pages", WorldSetup(registry=stories.REGISTRY, now=1_893_456_000_000))
    known = Names(stories.CONSTANTS)
    ask = partial(exchange.ask, world)

    def sent(step: CallStep, **changes: object) -> None:
        arguments = known.resolve({**step.arguments, **changes})
        reply = ask(step.operation, arguments)
        assert isinstance(reply, exchange.Answered), reply
        known.bind(step.bind, arguments, reply.value)

    generous = {**stories.CONSTANTS["policy"], "max_total_tokens": 100_000}
    sent(stories.start(), policy=generous)
    sent(stories.LEASE)
    sent(stories.BEGIN)
    for number in range(2 * projection.PAGE + 1):
        sent(stories.RESERVE, invocation_id=f"call-{number}", transmission_id=f"sent-{number}")
    seen = projection.observe(world, known).projection["J"]["reservations"]
    assert [record["ordinal"] for record in seen] == list(range(1, 2 * projection.PAGE + 2))


SHORTLY_RESERVED = replace(stories.RESERVED, steps=stories.RESERVED.steps[:-1])


def with_states(vector: Vector, *others: str) -> Vector:
    """The vector, its last state but one of several."""
    *steps, last = vector.steps
    allowed = tuple(sorted({last.digest or "", *others}))
    last = replace(last, digest=None, changes=None, digest_one_of=allowed)
    return replace(vector, steps=(*steps, last), final=None)


def test_one_of_several_states_is_asked_for() -> None:
    story = with_states(SHORTLY_RESERVED, "0" * 32)
    assert judged(fakes.Spoilt, story).verdict is Verdict.PASS
    spoilt = judged(fakes.WrongState, story).divergence
    assert spoilt is not None
    assert (spoilt.step, spoilt.kind) == (len(story.steps) - 1, "state")
    assert spoilt.expected == "one of the 2 states that are allowed while something is due"
    assert "/J/snapshot/tokens/reserved_tokens" in spoilt.differences


def test_a_read_that_is_torn_by_what_falls_due_is_read_again() -> None:
    story = with_states(SHORTLY_RESERVED, "0" * 32)
    assert judged(fakes.TornRead, story).verdict is Verdict.PASS
    assert judged(fakes.TornRead, SHORTLY_RESERVED).verdict is Verdict.FAIL


def test_a_reservation_keeps_the_version_that_created_it() -> None:
    paid = record(next(histories()), 1)
    assert judged(fakes.Spoilt, paid).verdict is Verdict.PASS
    divergence = judged(fakes.MovingCreation, paid).divergence
    assert divergence is not None
    assert divergence.action == "call transmit"
    assert (divergence.kind, divergence.clauses) == ("version", ("reservation-02",))


def at(second: int) -> str:
    return f"2030-01-01T00:00:{second:02d}.000Z"


@pytest.mark.parametrize(("settled", "right"), [(4, False), (5, True), (7, True), (8, False)])
def test_what_is_new_was_committed_since_the_last_look(settled: int, right: bool) -> None:
    midnight = to_milliseconds(parse_moment(at(0)))
    before = {("snapshot", "created_at"): at(0)}
    after = {**before, ("snapshot", "settled_at"): at(settled)}
    since, now = midnight + 5000, midnight + 7000
    if right:
        check_moments(before, after, since, now)
        return
    with pytest.raises(exchange.Mismatch) as caught:
        check_moments(before, after, since, now)
    assert (caught.value.kind, caught.value.clauses) == ("moment", ("observe-03",))


def test_every_moment_of_a_commit_is_looked_at() -> None:
    written = {
        field.name
        for record in vars(records).values()
        if isinstance(record, type) and is_dataclass(record)
        for field in fields(record)
        if field.name.endswith("_at")
    }
    assert written - set(COMMIT_MOMENTS) == {"lease_expires_at"}
