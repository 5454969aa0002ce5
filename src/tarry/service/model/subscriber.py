"""What the store needs to know about an endpoint to decide which messages go there."""

from msgspec import Struct

from tarry.service.model.endpoint import Standing, chooses


class Subscriber(Struct, frozen=True, kw_only=True, gc=False):
    """The few fields of an endpoint that `add` caches: without its URL, headers and metadata.

    An application may have a thousand endpoints, and the cache holds thousands of applications.
    """

    id: str
    lane: int
    standing: Standing
    event_types: tuple[str, ...] | None = None
    channels: tuple[str, ...] | None = None

    @property
    def skips(self) -> bool:
        """Whether new deliveries to it are skipped."""
        return self.standing is Standing.DISABLED

    def wants(self, event_type: str, channels: tuple[str, ...]) -> bool:
        """Return whether a message of this type and these channels goes to this endpoint."""
        return chooses(self.event_types, self.channels, event_type, channels)
