"""A prompt's upper bound is conservative, or there is none."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.impl.provider import ESTIMATE, PARTS, PROVIDER

from wayproof.impl.journey.estimates import Provider, prompt_bound

Bound = Callable[[tuple[str, ...], Provider], int | None]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def tokens_of(text: str, cuts: set[int]) -> list[bytes]:
    """A byte-level tokenizer's work on a text: pieces of its UTF-8, cut wherever it likes."""
    data = text.encode()
    at = [0, *sorted(cut for cut in cuts if 0 < cut < len(data)), len(data)]
    return [data[start:end] for start, end in pairwise(at) if start < end]


def check(bound: Bound) -> None:
    """See that no tokenizer that the declaration admits makes more tokens than the bound says.

    Raises:
        AssertionError: if one does.
    """

    @settings(database=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
    @given(
        parts=st.lists(TEXT, max_size=4).map(tuple),
        cuts=st.sets(st.integers(0, 160)) | st.just(set(range(160))),
        framing=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    )
    def checked(parts: tuple[str, ...], cuts: set[int], framing: tuple[int, int]) -> None:
        provider = replace(PROVIDER, tokens_per_request=framing[0], tokens_per_part=framing[1])
        tokens = framing[0] + sum(framing[1] + len(tokens_of(part, cuts)) for part in parts)
        found = bound(parts, provider)
        assert found is not None and tokens <= found

    checked()


def test_the_bound_is_never_below_what_a_byte_level_tokenizer_makes() -> None:
    check(prompt_bound)


def by_ratio(parts: tuple[str, ...], provider: Provider) -> int:
    framing = provider.tokens_per_request + provider.tokens_per_part * len(parts)
    return framing + sum(-(-len(part) // 4) for part in parts)


def by_characters(parts: tuple[str, ...], provider: Provider) -> int:
    framing = provider.tokens_per_request + provider.tokens_per_part * len(parts)
    return framing + sum(map(len, parts))


def without_parts_framing(parts: tuple[str, ...], provider: Provider) -> int:
    return provider.tokens_per_request + sum(len(part.encode()) for part in parts)


def without_requests_framing(parts: tuple[str, ...], provider: Provider) -> int:
    return sum(provider.tokens_per_part + len(part.encode()) for part in parts)


@pytest.mark.parametrize(
    "hopeful", [by_ratio, by_characters, without_parts_framing, without_requests_framing]
)
def test_a_hopeful_bound_is_found(hopeful: Bound) -> None:
    with pytest.raises(AssertionError):
        check(hopeful)


def test_the_bound_counts_bytes_and_framing() -> None:
    assert prompt_bound(PARTS, PROVIDER) == ESTIMATE
    assert prompt_bound((), PROVIDER) == 3


@pytest.mark.parametrize("part", [b"bytes", None, 7, ["text"], "lone \ud800"])
def test_what_is_no_text_has_no_bound(part: object) -> None:
    assert prompt_bound((*PARTS, part), PROVIDER) is None


def test_there_is_no_bound_for_other_tokenizers_and_none_that_no_record_holds() -> None:
    assert prompt_bound(PARTS, replace(PROVIDER, byte_level=False)) is None
    enormous = replace(PROVIDER, tokens_per_request=2**53 - 1)
    assert prompt_bound((), enormous) == 2**53 - 1
    assert prompt_bound(PARTS, enormous) is None


@pytest.mark.parametrize(
    "wrong", [{"tokens_per_request": -1}, {"tokens_per_part": -1}, {"max_output_tokens": 0}]
)
def test_a_declaration_of_what_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is (not negative|positive)"):
        replace(PROVIDER, **wrong)
