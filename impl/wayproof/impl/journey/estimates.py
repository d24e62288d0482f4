"""How many tokens a prompt can have at most, or that nobody can say (clause ``ceiling-10``).

The bound is the number of bytes that are sent, plus what the provider's format adds at most. It is
conservative exactly if

1. the tokenizer is byte-level: every token that stands for text stands for one byte of its UTF-8 at
   least, and whatever it does to the text before makes it no longer in bytes (a normalization such
   as NFKC does: one character of three bytes becomes eighteen);
2. the parts are everything that is sent, as it is sent: instructions, tool schemas and the history
   of the conversation are parts like any other;
3. the declared overhead is an upper bound of the tokens that stand for no text: those that frame a
   part or a request.

An average number of characters for each token is no bound at all: it holds for the text that it was
measured on. Where there is no bound there is None, and a reservation that asks with None ends its
journey as ``token_reservation_unavailable`` before anything is sent (ruling 66).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from wayproof.spec.journey.vocabulary import MAXIMUM_INTEGER, Idempotency


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What an adapter declares of a provider and its model: promises that nobody here can check."""

    byte_level: bool
    """Whether the first condition above holds for its tokenizer."""
    tokens_per_request: int
    """At most that many tokens are added to a request, whatever is in it."""
    tokens_per_part: int
    """At most that many tokens are added to each part."""
    max_output_tokens: int | None
    """What it is asked to put out at most, and keeps to, tokens of its reasoning included; None if
    that is not configured."""
    idempotency: Idempotency = Idempotency.NONE
    """Whether it executes at most once what is sent under one invocation id."""

    def __post_init__(self) -> None:
        if min(self.tokens_per_request, self.tokens_per_part) < 0:
            raise ValueError("an overhead is not negative")
        if self.max_output_tokens is not None and self.max_output_tokens < 1:
            raise ValueError("a maximum output is positive")


def prompt_bound(parts: Iterable[object], provider: Provider) -> int | None:
    """An upper bound of a prompt's tokens; None if no conservative one can be formed.

    There is none for a tokenizer that is not byte-level, for a part that is no text, for text that
    UTF-8 cannot write (a lone surrogate), and beyond 2**53-1.
    """
    if not provider.byte_level:
        return None
    bound = provider.tokens_per_request
    for part in parts:
        if not isinstance(part, str):
            return None
        try:
            bound += len(part.encode()) + provider.tokens_per_part
        except UnicodeEncodeError:
            return None
    return bound if bound <= MAXIMUM_INTEGER else None
