"""What a step of the model yields, and how a rule names the clauses that it realises."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from wayproof.model.journey.state import State
from wayproof.spec.journey.records import OutcomeSummary
from wayproof.spec.journey.refusals import RefusalCode


class Answered(NamedTuple):
    """The request was carried out (or replayed): a record, or None where a read has nothing."""

    record: object


class Refused(NamedTuple):
    """The request was refused."""

    code: RefusalCode
    outcome: OutcomeSummary | None = None
    """How the journey ended, where the refusal found it ended or ended it."""


Reply = Answered | Refused


class Transition(NamedTuple):
    """One step: the state after it, the reply, and the labels of the rules that were applied."""

    state: State
    reply: Reply
    labels: tuple[str, ...]
    """First those of the checkpoint, if it did anything, last the request's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of the contract: a label, where it stands, and the clauses that it realises."""

    label: str
    clauses: tuple[str, ...]
    source: Callable[..., object]
    """The function that applies it."""


RULES: Final[dict[str, Rule]] = {}
"""Every rule by its label."""

Function = TypeVar("Function", bound=Callable[..., object])


def realises(clauses_by_label: Mapping[str, str]) -> Callable[[Function], Function]:
    """Register the rules that a function applies: label -> clause ids, separated by spaces."""

    def register(function: Function) -> Function:
        for label, clauses in clauses_by_label.items():
            if label in RULES:
                raise ValueError(f"two rules are labelled {label}")
            RULES[label] = Rule(label=label, clauses=tuple(clauses.split()), source=function)
        return function

    return register
