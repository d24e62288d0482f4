"""Mutants with names, planned from the contract sentence by sentence: what a careless author gets
wrong. What several of them need stands here; begin with ``starting.py``.
"""

from textwrap import dedent, indent
from typing import Final

from wayproof.conformance.mutants.mutant import Edit

FROM_ANY_STATE: Final = Edit(
    file="ending.py", find="if state in targets", replace="if targets is not None"
)
"""The end of a journey no longer checks which state it is reached from, so that a fault that asks
for an illegal end shows itself as such and not as an exception."""

NO_COUNTER_CHECK: Final = Edit(
    file="schema.py",
    find="CHECK (max_{c} IS NULL OR {c} <= max_{c})",
    replace="CHECK ({c} >= 0)",
)
"""The table no longer holds counters to their limits."""

NO_CEILING_CHECK: Final = Edit(
    file="reservations.py", find="+ ? <= max_total_tokens", replace="+ ? >= 0"
)
"""The statement that grants a reservation no longer holds the total to the ceiling."""

SAME_SCOPE: Final = (
    "SELECT other.journey FROM starts AS own JOIN starts AS other"
    " USING (namespace, creation_scope) WHERE own.journey = ?"
)
"""The journeys of one creation scope, by the key of one of them: what a statement touches that
forgot which journey it was about."""


def eased(body: str, *, part: str = "", operation: str = "") -> tuple[Edit, ...]:
    """The edits of a service that is kind to its callers before it decodes what they sent.

    ``body`` changes the dictionary ``part`` in place: the arguments, or the object that they hold
    under that name. ``operation`` restricts it to one operation.
    """
    chosen = f"sent.get({part!r})" if part else "sent"
    asked = f"operation == {operation!r} and " if operation else ""
    function = f"""\
def _eased(operation: Any, arguments: Any) -> Any:
    import re, secrets
    from copy import deepcopy
    try:
        sent = deepcopy(arguments)
    except RecursionError:
        return arguments
    part = {chosen} if isinstance(sent, dict) else None
    if {asked}isinstance(part, dict):
{indent(dedent(body).strip(), " " * 8)}
    return sent


class JourneyService:"""
    return (
        Edit(
            file="service.py",
            find="decode(operation, arguments)",
            replace="decode(operation, _eased(operation, arguments))",
        ),
        Edit(file="service.py", find="class JourneyService:", replace=function),
    )
