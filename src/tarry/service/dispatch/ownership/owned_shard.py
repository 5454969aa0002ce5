"""A shard that this process owns, with the lanes of it that are in memory."""

from typing import TYPE_CHECKING

from tarry.service.dispatch.ownership.held_lease import HeldLease
from tarry.service.model.lane import Lease

if TYPE_CHECKING:
    from tarry.service.dispatch.lane.lane import Lane


class OwnedShard:
    """The lease of a shard, and the lanes that were loaded under it."""

    __slots__ = ("held", "is_known", "lanes")

    def __init__(self, held: HeldLease) -> None:
        self.held = held
        self.is_known = False
        """Whether all its lanes that are awake are in memory, or on the list of lanes to load."""
        self.lanes: dict[int, Lane] = {}

    @property
    def lease(self) -> Lease:
        """The lease itself."""
        return self.held.lease

    @property
    def is_quiet(self) -> bool:
        """Whether no lane of it has a request on its way or a settlement to write."""
        return all(lane.is_quiet for lane in self.lanes.values())

    def know(self) -> None:
        """Take in that all its lanes that are awake are known."""
        self.is_known = True

    def doubt(self) -> None:
        """Take in that lanes may be awake that nobody knows of."""
        self.is_known = False
