"""The report as one JSON document."""

from dataclasses import asdict

from wayproof.conformance.report.failure import failure_text, sentence
from wayproof.conformance.report.summary import Summary, conclusion
from wayproof.conformance.run.verdict import Result
from wayproof.conformance.vectors.format import JsonValue
from wayproof.conformance.vectors.writer import to_json

FORMAT = "wayproof-report/1.0"


def report_document(summary: Summary) -> dict[str, JsonValue]:
    """The whole run; durations in milliseconds. Passes are counted, not listed."""
    return {
        "format": FORMAT,
        "contract": summary.contract,
        "backend": {
            "given": summary.backend,
            "name": summary.hello.name,
            "version": summary.hello.version,
            "capabilities": list(summary.hello.capabilities),
        },
        "conclusion": conclusion(summary),
        "exit_code": summary.exit_code,
        "counts": {verdict.value: count for verdict, count in summary.counts.items()},
        "vectors": summary.vectors,
        "only": summary.only,
        "commands": summary.commands,
        "milliseconds": round(summary.seconds * 1000),
        "cut_short": summary.cut_short,
        "fresh": {"count": summary.fresh, "seed": summary.seed},
        "suspects": [
            {
                "clause": suspect.clause,
                "text": sentence(suspect.clause),
                "suspicion": round(suspect.suspicion, 3),
                "failed": suspect.failed,
                "passed": suspect.passed,
            }
            for suspect in summary.suspects
        ],
        "results": [_result(result, summary.replay) for result in summary.results],
    }


def _result(result: Result, command: str) -> dict[str, JsonValue]:
    told = asdict(result)
    told["verdict"] = result.verdict.value
    told["milliseconds"] = round(told.pop("seconds") * 1000)
    told["replay"] = f"{command} {result.replay}" if result.replay else ""
    told["vector"] = to_json(result.vector)
    told["message"] = failure_text(result, command)
    if result.divergence is not None:
        told["divergence"]["differences"] = {
            pointer: {"expected": expected, "observed": observed}
            for pointer, (expected, observed) in result.divergence.differences.items()
        }
    return told
