"""An endpoint: where an application's messages go, which of them, and how it stands."""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

Parking = tuple[float, float | None]
"""From when until when an endpoint was parked; None while it still is."""


class Standing(StrEnum):
    """Whether messages go to an endpoint."""

    ENABLED = "enabled"
    PAUSED = "paused"  # by its owner: messages wait, and get older
    DISABLED = "disabled"  # by its owner: new messages are recorded as skipped
    PARKED = "parked"  # by tarry: messages wait, and do not get older
    DELETED = "deleted"  # what waits is being discarded


ENABLED = Standing.ENABLED
"""A plain name for what runs with every delivery: looking up a member takes its time."""


class Secret(Struct, frozen=True):
    """A signing secret, sealed; an old one is still signed with until it expires."""

    sealed: bytes
    expires_at: float | None = None


class Endpoint(Struct, frozen=True, kw_only=True, gc=False):  # it holds values alone: no cycle
    """Where messages go, and by which rules.

    `event_types` and `channels` choose the messages; None takes all. `rate` is how many attempts a
    second it gets at the most, `concurrency` how many at a time. A `fifo` endpoint gets one at a
    time in order; with `blocking` a delivery that finally failed holds up the others. `headers`
    are its owner's own, sealed. `policy` is a policy document in JSON. `probed_at` is when somebody
    last asked to have it tried at once.
    """

    id: str
    application: str
    lane: int = 0  # given by the store
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
        """The endpoint as it stands from `at` on; a parking begins or ends with it.

        A deleted one stays deleted, and needs its secrets and headers no more.
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
        stood = replace(self, standing=standing, parked=parked, updated_at=at)
        return replace(stood, secrets=(), headers=None) if standing is Standing.DELETED else stood

    def following(self, stored: "Endpoint") -> "Endpoint":
        """This endpoint in the place of a stored one, whose lane and parkings stay."""
        here = replace(
            self,
            id=stored.id,
            application=stored.application,
            lane=stored.lane,
            standing=stored.standing,
            parked=stored.parked,
        )
        return here.stand(self.standing, self.updated_at)

    def wants(self, event_type: str, channels: tuple[str, ...]) -> bool:
        """Whether a message of this type, sent to these channels, goes here."""
        if self.event_types is not None and event_type not in self.event_types:
            return False
        if self.channels is None:
            return True
        return not set(self.channels).isdisjoint(channels)

    def age(self, accepted_at: float, now: float) -> float:
        """How old a delivery is: the time it was parked does not count."""
        parked = sum(
            max(0.0, min(now, now if until is None else until) - max(accepted_at, since))
            for since, until in self.parked
        )
        return max(0.0, now - accepted_at - parked)
