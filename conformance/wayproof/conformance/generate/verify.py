"""Whether the vectors on disk hold: read strictly, and played by both readings of the contract."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from wayproof.conformance.generate.suite import signature_of
from wayproof.conformance.progress import Progress
from wayproof.conformance.protocol.load import load_backend
from wayproof.conformance.run.player import play
from wayproof.conformance.run.verdict import Verdict
from wayproof.conformance.vectors.reader import VectorProblem
from wayproof.conformance.vectors.suite import read_suite


def verify_suite(folder: Path, progress: Progress, say: Callable[[str], None] = print) -> list[str]:
    """Everything that does not hold, in words; nothing if all does."""
    try:
        vectors = read_suite(folder, progress=progress)
    except (VectorProblem, OSError) as problem:
        return [str(problem)]
    problems = []
    told = Counter(signature_of(vector) for vector in vectors)
    twice = [v.id for v in vectors if told[signature_of(v)] > 1]
    if twice:
        problems.append(f"told twice: {', '.join(twice[:10])}")
    say(f"{len(vectors)} vectors read; digests, states and names hold; none is told twice")
    for name in ("model", "sqlite"):
        backend = load_backend(name)
        capabilities = backend.hello().capabilities
        verdicts: Counter[Verdict] = Counter()
        try:
            for done, vector in enumerate(vectors):
                progress(f"playing on {name}", done, len(vectors))
                result = play(vector, backend, capabilities)
                verdicts[result.verdict] += 1
                if result.verdict is not Verdict.PASS:
                    problems.append(f"{vector.id} on {name}: {result.verdict} {result.note}")
        finally:
            backend.close()
        counted = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        say(f"on {name}: {counted}")
    return problems
