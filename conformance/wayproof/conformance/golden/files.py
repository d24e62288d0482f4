"""The file of golden bytes; ``docs/canonical-bytes.md`` says how each of them is made."""

import json
from pathlib import Path
from typing import Any, Final

from wayproof.conformance.golden.cases import Case, entry, section
from wayproof.conformance.golden.definitions import definition_entries
from wayproof.conformance.golden.refusals import refusal_entries
from wayproof.conformance.golden.requests import request_entries
from wayproof.conformance.golden.states import projection_entries, state_entries
from wayproof.conformance.golden.texts import CASES
from wayproof.spec.journey.digests import canonical_json, digest_of

GOLDEN_FOLDER: Final = Path("conformance/golden")

FORMAT: Final = "wayproof-golden/1.0"

MARKER: Final = "Written by `wayproof generate`. Do not edit. See docs/canonical-bytes.md."


def golden_files() -> dict[Path, bytes]:
    """The file of each contract, by its path from the repository's root."""
    # ASCII alone, so that no editor can normalize what it is about.
    text = json.dumps(golden_document(), indent=1)
    return {GOLDEN_FOLDER / "journey.json": text.encode() + b"\n"}


def golden_document() -> dict[str, Any]:
    """Every golden of the journey contract.

    Raises:
        FalseClaim: if one is not what it says of itself.
    """
    projections = list(projection_entries())
    return {
        "$comment": MARKER,
        "format": FORMAT,
        "contract": "journey/1",
        "canonical_json": section(_text_entry(case) for case in CASES),
        "definitions": section(definition_entries()),
        "requests": section(request_entries()),
        "projections": projections,
        "states": section(state_entries(projections[0]["canonical"])),
        "refused": list(refusal_entries()),
    }


def _text_entry(case: Case) -> dict[str, Any]:
    value = json.loads(case.text)
    canonical = canonical_json(value)
    return entry(case, canonical, hex=canonical.hex(), digest=digest_of(value))
