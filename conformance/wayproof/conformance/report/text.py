"""Text that came from outside, made fit to be written."""

import re
from typing import Final

_UNWRITABLE: Final = re.compile(
    "[^\\t\\n\\x20-\\x7e\\xa0-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]"
)
"""What XML 1.0 (2.2) cannot hold or advises against, and carriage returns, which it drops."""


def writable(text: str) -> str:
    """The text, control characters in it written as escapes that people can read."""
    return _UNWRITABLE.sub(lambda found: ascii(found[0])[1:-1], text)


def shortened(text: str, longest: int) -> str:
    """The beginning of a text, and how many characters more there are."""
    left = len(text) - longest
    return text if left <= 0 else f"{text[:longest]}… ({left} characters more)"
