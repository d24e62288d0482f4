"""Mutants made for tests: the service, with something put in front of what it does."""

from wayproof.conformance.mutants.catalogue import Candidate, candidate_of
from wayproof.conformance.mutants.mutant import Edit, Mutant

CALL = "    def call(self, operation: str, arguments: object, *, now: int) -> Reply:\n"
HONEST = "return self.honest(operation, arguments, now=now)"


def planted(name: str, *lines: str, file: str = "service.py", **fields: object) -> Mutant:
    """The service doing ``lines`` and then what it did before, which is ``self.honest``."""
    body = "".join(f"        {line}\n" for line in (*lines, HONEST))
    return Mutant(
        **{
            "name": name,
            "clauses": ("reservation-01",),
            "fault": "It does what the test wants.",
            "kind": "logic",
            "edits": (
                Edit(
                    file=file,
                    find=CALL,
                    replace=CALL + body + "\n" + CALL.replace("call", "honest", 1),
                ),
            ),
            **fields,
        }  # type: ignore[arg-type]
    )


DEAD = planted("dead", "operation = str(operation)", fault="Nothing at all is wrong.")
REFUSES = planted(
    "refuses",
    'if operation == "reserve":',
    "    from wayproof.spec.journey.refusals import RefusalCode",
    "    return Refused(code=RefusalCode.FENCED)",
)
NEVER_BEGINS = planted(
    "never-begins",
    'if operation == "begin_journey":',
    "    from wayproof.spec.journey.refusals import RefusalCode",
    "    return Refused(code=RefusalCode.FENCED)",
)
RAISES = planted("raises", 'if operation == "reserve":', '    raise RuntimeError("planted")')
LOOPS = planted("loops", 'while operation == "reserve":', "    pass")
EXITS = planted("exits", 'if operation == "reserve":', "    __import__('os')._exit(7)")
SPEAKS = planted("speaks", "print('said on stdout')")


def candidate(mutant: Mutant) -> Candidate:
    return candidate_of(mutant, "named")
