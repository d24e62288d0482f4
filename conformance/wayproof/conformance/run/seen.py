"""What a play has seen of one journey, and what every further sight of it must agree with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from wayproof.conformance.run.exchange import Mismatch
from wayproof.conformance.run.moments import Moments, check_moments, committed_moments
from wayproof.conformance.run.projection import Created
from wayproof.conformance.vectors.format import JsonValue

_CREATED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "reservations": ("reservation-02",),
    "dispatch_intents": ("dispatch-01",),
}
"""The clause by which such a record belongs to the commit that creates it."""


@dataclass(slots=True)
class Seen:
    """One journey as it was seen last."""

    version: int | None = None
    """The last record version, told by a reply or by the reads."""
    certain_version: int | None = None
    """The last one while nothing was due: what is due may raise it before a request."""
    projection: Mapping[str, JsonValue] | None = None
    """What the reads showed last."""
    projected_version: int = 0
    """The record version of that."""
    created: Created = field(default_factory=dict)
    """The versions at which its reservations and dispatch intents were created."""
    moments: Moments = field(default_factory=dict)

    def see_version(
        self, version: int, wanted: Literal["raised", "same", "any"], clauses: tuple[str, ...]
    ) -> None:
        """Take the version that a reply tells; ``clauses`` are those that the request is about.

        Raises:
            Mismatch: if it is not as wanted, or falls.
        """
        last, certain = self.version, self.certain_version
        self.version = self.certain_version = version
        if last is None or certain is None:
            return
        if version < last:
            raise Mismatch("version", f"at least {last}", version, ("observe-12",))
        if wanted == "raised" and version <= certain:
            raise Mismatch("version", f"above {certain}", version, ("observe-12",))
        if wanted == "same" and version != last:
            raise Mismatch("version", f"{last}, as before", version, (*clauses, "observe-13"))

    def see_state(
        self,
        projection: Mapping[str, JsonValue],
        version: int,
        created: Created,
        *,
        since: int,
        now: int,
        certain: bool,
    ) -> tuple[str, str] | None:
        """Take what the reads show at ``now``, when ``since`` was the moment of the look before:
        a projection, its record version, and the versions at which its records were created.
        It is ``certain`` if only one state is allowed.

        Returns:
            The lifecycle states before and after, if they differ.

        Raises:
            Mismatch: if versions or moments do not fit what was seen before.
        """
        before = self.projection
        last = version if before is None else self.projected_version
        floor = last if self.version is None else self.version
        if version < floor:
            raise Mismatch("version", f"at least {floor}", version, ("observe-12",))
        if before is not None and before != projection and version == last:
            expected = f"above {last}, since the state changed"
            raise Mismatch("version", expected, version, ("observe-12",))
        if before != projection:
            moments = committed_moments(projection)
            check_moments(self.moments, moments, since, now)
            self.moments = moments
        self._see_created(created)
        self.projection, self.projected_version, self.version = projection, version, version
        if certain:
            self.certain_version = version
        if before is None:
            return None
        moved = before["snapshot"]["lifecycle_state"], projection["snapshot"]["lifecycle_state"]
        return moved if moved[0] != moved[1] else None

    def _see_created(self, created: Created) -> None:
        """A reservation or an intent is created at a later version than any that was shown
        without it, and keeps it."""
        for what, versions in created.items():
            before = list(self.created.get(what, ()))
            known, fresh = list(versions[: len(before)]), list(versions[len(before) :])
            if known != before:
                stays = {"created_version": before}
                raise Mismatch("version", stays, list(versions), _CREATED_BY[what])
            last = self.projected_version
            if self.projection is not None and any(version <= last for version in fresh):
                raise Mismatch("version", f"created_version above {last}", fresh, _CREATED_BY[what])
        self.created = created
