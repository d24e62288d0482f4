"""Reports of real plays, made without a worker process; and a backend that means ill."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from tests.conformance import stories
from tests.conformance.fakes import Spoilt, changed

from wayproof.conformance.protocol.backend import Answer, Backend, Hello, Refused, Reply
from wayproof.conformance.report.known import KnownFailure, with_known
from wayproof.conformance.report.ndjson import Recorder
from wayproof.conformance.report.results import Report
from wayproof.conformance.report.summary import summarize
from wayproof.conformance.run.check import Begun, Check
from wayproof.conformance.run.player import play
from wayproof.conformance.run.verdict import Result
from wayproof.conformance.vectors.format import Vector

SCRIPT = "</script><script>document.title = 'owned'</script><img src=x onerror=alert(1)>"
CONTROLS = "\x00\x1b[31m\x0b\ufffe\r\ud800 ``` @everyone |"


class Hostile(Spoilt):
    """Writes markup and control characters wherever it can."""

    def hello(self) -> Hello:
        return replace(super().hello(), name=SCRIPT, version=CONTROLS)

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if operation == "reserve":
            return changed(reply, transmission_id=SCRIPT)
        if operation == "cancel":
            raise LookupError(SCRIPT + CONTROLS)
        if operation == "heartbeat" and isinstance(reply, Refused):
            return replace(reply, code=f"{SCRIPT}\x00")
        return reply


class NeverEnds(Spoilt):
    """Shows a completed journey as cancelling, to which nothing leads from there."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if operation != "snapshot" or not isinstance(reply, Answer):
            return reply
        completed = reply.value["lifecycle_state"] == "completed"
        return changed(reply, lifecycle_state="cancelling") if completed else reply


def judged(
    backend: Backend,
    vectors: Sequence[Vector] = stories.STORIES,
    known: Iterable[KnownFailure] = (),
) -> list[Result]:
    """The results of playing the vectors, the last one first."""
    capabilities = backend.hello().capabilities
    results = [with_known(play(vector, backend, capabilities), known) for vector in vectors]
    return results[::-1]


def report_of(
    results: Sequence[Result],
    hello: Hello,
    vectors: Sequence[Vector] = stories.STORIES,
    *,
    file: IO[bytes] | None = None,
    seconds: float = 1.5,
) -> Report:
    """The document of these results, told in the order in which they are given."""
    held = {vector.id: vector for vector in vectors}
    check = Check(backend="python:the.backend:Factory", vectors=Path("somewhere"))
    begun = Begun(
        hello=hello,
        contract="journey/1",
        ids=tuple(result.id for result in results),
        fresh=0,
        seed=None,
        replay="wayproof check --backend python:the.backend:Factory",
    )
    recorder = Recorder(file)
    recorder.begin(check, begun)
    for result in results:
        recorder.hear(result, held.get(result.id))
    recorder.end(
        summarize(
            results,
            backend=check.backend,
            hello=hello,
            contract="journey/1",
            seconds=seconds,
            replay=begun.replay,
        )
    )
    assert recorder.report is not None
    return recorder.report


def report_on(backend: Backend, known: Iterable[KnownFailure] = ()) -> Report:
    """The report on a backend that plays the hand-written stories."""
    vectors = (*stories.STORIES, stories.SCOPED)
    return report_of(judged(backend, vectors, known), backend.hello(), vectors)
