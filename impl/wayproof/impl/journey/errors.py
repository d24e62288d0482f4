"""What opening a store can fail with.

::

    StoreError
    ├── ForeignFileError       the file is no journey store
    ├── StoreVersionError      it was written by a later version of this software
    └── StoreUnavailableError  it cannot be opened, read or written now

Once a store is open, everything that SQLite cannot do is the contract's refusal
``persistence_unavailable``.
"""


class StoreError(Exception):
    """A store file could not be opened. It was not changed."""


class ForeignFileError(StoreError):
    """The file exists and is something else."""


class StoreVersionError(StoreError):
    """The store has a version that this software does not know."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(f"the store has version {found}; this software knows up to {known}")
        self.found = found
        self.known = known


class StoreUnavailableError(StoreError):
    """SQLite could not open, read or write the file."""
