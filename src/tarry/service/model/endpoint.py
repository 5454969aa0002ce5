"""An endpoint: where an application's messages go, which of them, and whether it is enabled."""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

Parking = tuple[float, float | None]
"""The start and end of a time in which an endpoint was parked; the end is None while it is."""


class Standing(StrEnum):
    """Whether messages are sent to an endpoint."""

    ENABLED = "enabled"
    PAUSED = "paused"  # by its owner: deliveries wait, and their age grows
    DISABLED = "disabled"  # by its owner: new deliveries are skipped
    PARKED = "parked"  # by tarry: deliveries wait, and their age does not grow
    DELETED = "deleted"  # its live deliveries are being discarded


ENABLED = Standing.ENABLED
"""A plain name for code that runs for every delivery, where looking up a member takes time."""


class Secret(Struct, frozen=True):
    """A sealed signing secret. An old one still signs requests until it expires."""

    sealed: bytes
    expires_at: float | None = None


class Endpoint(Struct, frozen=True, kw_only=True, gc=False):  # it holds only values: no cycles
    """Where messages go, and by which rules.

    `event_types` and `channels` choose the messages; None chooses all. `rate` limits the attempts
    per second, `concurrency` the attempts at a time. A `fifo` endpoint gets one at a time, in
    order; with `blocking`, a delivery that failed permanently blocks the ones after it. `headers`
    are the owner's own headers, sealed. `policy` is a policy document in JSON. `probed_at` is when
    a person last requested a probe at once.
    """

    id: str
    application: str
    lane: int = 0  # set by the store
    url: str
    uid: str | None = None
    description: str = ""
    event_types: tuple[str, ...] | None = None
    channels: tuple[str, ...] | None = None
    rate: float | None = None
    concurrency: int | None = None
    fifo: bool = False
    blocking: bool = False
    policy: str | None = None
    headers: bytes | None = None
    secrets: tuple[Secret, ...] = ()
    metadata: dict[str, str] = {}
    standing: Standing = Standing.ENABLED
    parked: tuple[Parking, ...] = ()
    probed_at: float | None = None
    created_at: float
    updated_at: float

    def stand(self, standing: Standing, at: float) -> "Endpoint":
        """Return the endpoint with a standing that starts at `at`; a parking starts or ends then.

        A deleted endpoint stays deleted, and no longer has its secrets, headers and metadata.
        """
        if self.standing is Standing.DELETED:
            return self
        if standing is Standing.PARKED:
            opened = any(until is None for _, until in self.parked)
            parked = self.parked if opened else (*self.parked, (at, None))
        else:
            parked = tuple(
                (since, max(since, at) if until is None else until) for since, until in self.parked
            )
        changed = replace(self, standing=standing, parked=parked, updated_at=at)
        return (
            replace(changed, secrets=(), headers=None, metadata={})
            if standing is Standing.DELETED
            else changed
        )

    def following(self, stored: "Endpoint") -> "Endpoint":
        """Return this endpoint as a new version of a stored one, whose lane and parkings stay."""
        changed = replace(
            self,
            id=stored.id,
            application=stored.application,
            lane=stored.lane,
            standing=stored.standing,
            parked=stored.parked,
        )
        return changed.stand(self.standing, self.updated_at)

    def wants(self, event_type: str, channels: tuple[str, ...]) -> bool:
        """Return whether a message of this type and these channels goes to this endpoint."""
        return chooses(self.event_types, self.channels, event_type, channels)

    def age(self, accepted_at: float, now: float) -> float:
        """Return the age of a delivery; time in which the endpoint was parked does not count."""
        parked = sum(
            max(0.0, min(now, now if until is None else until) - max(accepted_at, since))
            for since, until in self.parked
        )
        return max(0.0, now - accepted_at - parked)


def chooses(
    types_filter: tuple[str, ...] | None,
    channels_filter: tuple[str, ...] | None,
    event_type: str,
    channels: tuple[str, ...],
) -> bool:
    """Return whether an endpoint's filters choose a message of this type and these channels."""
    if types_filter is not None and event_type not in types_filter:
        return False
    return channels_filter is None or not set(channels_filter).isdisjoint(channels)


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
