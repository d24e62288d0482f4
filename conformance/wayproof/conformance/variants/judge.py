"""Playing the suite on variants: whatever is no pass is a false alarm, or no verdict."""

import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from threading import Event

from wayproof.conformance.protocol.backend import Hello
from wayproof.conformance.run.handshake import judge_handshake
from wayproof.conformance.run.suite import CouldNotRunError, WrongInputError, run_suite
from wayproof.conformance.run.verdict import Result, Verdict
from wayproof.conformance.run.worker import Task
from wayproof.conformance.variants.variant import Variant

PASSED, FALSE_ALARM, COULD_NOT_RUN = 0, 1, 3
"""The exit codes of ``wayproof variants``; 2 is wrong input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the suite says of one variant."""

    variant: Variant
    counts: Mapping[Verdict, int]
    """How many vectors and fresh sequences came to each verdict."""
    others: tuple[Result, ...] = ()
    """Everything but passes and what does not apply, by id."""
    problem: str = ""
    """Why it could not be made or closed."""
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """0 it passes everything, 1 a false alarm, 3 not everything could be judged."""
        if self.counts.get(Verdict.FAIL):
            return FALSE_ALARM
        if self.problem or self.others or not self.counts.get(Verdict.PASS):
            return COULD_NOT_RUN
        return PASSED


def judge(
    variants: Sequence[Variant], tasks: Sequence[Task], *, jobs: int = 1, seconds: float = 60.0
) -> Generator[Judgement, None, None]:
    """Play the same on every variant, ``jobs`` of them at a time; in the order of the variants.

    ``seconds`` bounds each vector and each run of fresh sequences. Closing the iterator early ends
    what is being played.
    """
    stop = Event()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield from pool.map(lambda v: judge_one(v, tasks, seconds, stop), variants)
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def judge_one(
    variant: Variant, tasks: Sequence[Task], seconds: float, stop: Event | None = None
) -> Judgement:
    """Play everything on one variant, in a process of its own, until ``stop`` is set."""
    started = time.monotonic()
    counts: Counter[Verdict] = Counter()
    others: list[Result] = []
    problem = ""
    try:
        with closing(run_suite(tasks, backend=variant.place, seconds=seconds)) as messages:
            for message in messages:
                if stop is not None and stop.is_set():
                    problem = "it was stopped"
                    break
                result = judge_handshake(message) if isinstance(message, Hello) else message
                if result is None:
                    continue
                counts[result.verdict] += 1
                if result.verdict not in (Verdict.PASS, Verdict.NOT_APPLICABLE):
                    others.append(result)
    except (CouldNotRunError, WrongInputError) as error:
        problem = str(error)
    return Judgement(
        variant=variant,
        counts=counts,
        others=tuple(sorted(others, key=lambda result: result.id)),
        problem=problem,
        seconds=time.monotonic() - started,
    )


def exit_code(judgements: Sequence[Judgement]) -> int:
    """Of all together: a false alarm outweighs what could not be judged."""
    codes = {judgement.exit_code for judgement in judgements}
    return next((code for code in (FALSE_ALARM, COULD_NOT_RUN) if code in codes), PASSED)
