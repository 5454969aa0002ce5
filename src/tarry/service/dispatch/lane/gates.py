"""The gate that a lane goes by: its own, or the one that it shares with others of its origin."""

from tarry.core.pace import CLOSED, Phase
from tarry.service.dispatch.limits.gate import Gate
from tarry.service.dispatch.origins.origin import Origin


class LaneGates:
    """A lane's own gate, and the group of its application's lanes at the same origin."""

    __slots__ = ("group", "is_apart", "own")

    def __init__(self, own: Gate, group: Origin) -> None:
        self.own, self.group = own, group
        self.is_apart = False
        """Whether the lane goes by its own gate although its origin is in trouble: its attempts
        are refused, or fail, while those of others pass."""

    @property
    def shared(self) -> Gate:
        """The gate of the origin. Its phase is closed while the origin is well."""
        return self.group.leader.gate

    @property
    def current(self) -> Gate:
        """The gate that the lane goes by now."""
        shared = self.group.leader.gate
        return self.own if shared.phase is CLOSED or self.is_apart else shared

    @property
    def phase(self) -> Phase:
        """The phase of the gate that the lane goes by now."""
        return self.current.phase

    def move(self, group: Origin) -> None:
        """Belong to another origin from now on."""
        self.group, self.is_apart = group, False

    def go_apart(self) -> None:
        """Go by the lane's own gate, whatever the origin does."""
        self.is_apart = True

    def come_back(self) -> None:
        """Go by the origin's gate again as long as that is shared."""
        self.is_apart = False

    def join(self) -> bool:
        """Leave the pace to the origin; return whether the lane had a pace of its own."""
        had_its_own = self.own.phase is not CLOSED
        self.is_apart = False
        self.own.close()
        return had_its_own
