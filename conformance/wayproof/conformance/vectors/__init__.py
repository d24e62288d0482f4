"""The vector format: what a vector says, how it is written, and how strictly it is read.

Begin with ``format.py``; ``reader.py`` and ``writer.py`` are the two ways across the file.
"""

from pathlib import Path
from typing import Final

VECTORS: Final = Path(__file__).resolve().parents[3] / "vectors"
"""Where a checkout keeps its vectors: one folder for each contract, and the format's schema."""
