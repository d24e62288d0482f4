"""The lifecycle of a journey as a drawing: where states stand and how transitions run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from wayproof.conformance.report.matrix import TransitionRow
from wayproof.spec.journey.vocabulary import TERMINAL_STATES, LifecycleState

WIDTH: Final = 740
HEIGHT: Final = 340
BOX_WIDTH: Final = 146
BOX_HEIGHT: Final = 40

PLACES: Final[Mapping[LifecycleState, tuple[int, int]]] = {
    LifecycleState.PENDING: (10, 150),
    LifecycleState.RUNNING: (212, 14),
    LifecycleState.CANCELLING: (330, 286),
    LifecycleState.COMPLETED: (584, 14),
    LifecycleState.FAILED: (584, 82),
    LifecycleState.TIMED_OUT: (584, 150),
    LifecycleState.BUDGET_EXCEEDED: (584, 218),
    LifecycleState.CANCELLED: (584, 286),
}
"""The upper left corner of each state's box, so that no line runs through another's box."""

_APART: Final = 14
"""How far the ends of lines into one box stand apart."""

_ARROW: Final = 8
"""How much room the head of an arrow takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One state."""

    name: str
    x: int
    y: int
    terminal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One transition, as the data of an SVG path."""

    row: TransitionRow
    path: str


def boxes() -> tuple[Box, ...]:
    """Every state."""
    return tuple(
        Box(name=str(state), x=x, y=y, terminal=state in TERMINAL_STATES)
        for state, (x, y) in PLACES.items()
    )


def lines(rows: Iterable[TransitionRow]) -> tuple[Line, ...]:
    """Every legal transition; those that went wrong last, so that nothing covers them."""
    legal = [row for row in rows if row.legal]
    drawn = [Line(row=row, path=_path(row, legal)) for row in legal]
    return tuple(sorted(drawn, key=lambda line: bool(line.row.failed)))


def _path(row: TransitionRow, rows: list[TransitionRow]) -> str:
    x1, y1 = PLACES[LifecycleState(row.source)]
    x2, y2 = PLACES[LifecycleState(row.target)]
    if x2 < x1 + BOX_WIDTH:  # below it
        x1, x2 = x1 + BOX_WIDTH // 2, x2 + BOX_WIDTH // 2
        y1, y2 = y1 + BOX_HEIGHT, y2 - _ARROW
        bend = (y2 - y1) // 2
        return f"M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"
    # The ends into one box stand in the order in which the lines come, the uppermost first.
    beside = sorted(
        (other.source for other in rows if other.target == row.target and not _below(other)),
        key=lambda source: PLACES[LifecycleState(source)][1],
    )
    shift = beside.index(row.source) * _APART - (len(beside) - 1) * _APART // 2
    x1, y1 = x1 + BOX_WIDTH, y1 + BOX_HEIGHT // 2
    x2, y2 = x2 - _ARROW, y2 + BOX_HEIGHT // 2 + shift
    bend = (x2 - x1) // 2
    return f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"


def _below(row: TransitionRow) -> bool:
    return PLACES[LifecycleState(row.target)][0] < PLACES[LifecycleState(row.source)][0] + BOX_WIDTH
