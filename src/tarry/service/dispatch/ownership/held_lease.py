"""The lease of a shard while this process holds it: until when its lanes may send."""

from tarry.service.dispatch.clock import LONG_AGO
from tarry.service.model.lane import Lease


class HeldLease:
    """One shard's lease. All lanes of the shard look at it before they send."""

    __slots__ = ("_delayed", "is_leaving", "lease", "since", "until")

    def __init__(self, lease: Lease, until: float, since: float = LONG_AGO) -> None:
        self.lease = lease
        self.until = until
        """Nothing is sent after this time unless the lease is renewed."""
        self.since = since
        """When the lease was taken: before that, another worker may have sent for the shard."""
        self.is_leaving = False
        """Whether the shard is being handed over: nothing more is sent."""
        self._delayed = False

    def renew(self, until: float) -> None:
        """Set the end of the renewed lease."""
        self.until = until

    def leave(self) -> None:
        """Send nothing more: the shard is being handed over."""
        self.is_leaving = True

    def delay(self) -> None:
        """Remember that a lane had a delivery to send while the lease was about to end."""
        self._delayed = True

    def end_delay(self) -> bool:
        """Return whether lanes had to wait for the renewal, and reset that."""
        delayed, self._delayed = self._delayed, False
        return delayed
