"""What a user wants from a policy: all clients are served in time after an outage."""

from tarry.core import checks
from tarry.core.value import Value, settle
from tarry.errors import PolicyError, ScenarioError
from tarry.sim.backlog.endpoint import MANNERS, Manner
from tarry.sim.backlog.settings import MOST_DELIVERIES

LONGEST_OUTAGE = 1e8
"""Three years: limits that outlast twice this outage are still valid in a policy."""
LONGEST_DRAIN = 1e6
SHORTEST_UNIT = 1.0
"""Waits much below a second bring no advantage."""
MOST_WAITS_IN_OUTAGE = 1000
"""An outage should have no more than this many of the shortest waits, if the latency allows."""
ROOM = 4
RATE = "a number, 1 or more: an endpoint feels overload by the second"


class Wish(Value):
    """All `clients` fail when an `outage` begins at a service that serves `capacity` a second.

    When it is back, everybody should be served within `latency` seconds. `endpoint` says how the
    service behaves above its capacity.
    """

    clients: int
    capacity: float
    outage: float
    latency: float
    endpoint: Manner

    def __init__(
        self,
        *,
        clients: int,
        capacity: float,
        outage: checks.Seconds,
        latency: checks.Seconds,
        endpoint: Manner = "brittle",
    ) -> None:
        try:
            settle(self, "clients", checks.count("clients", clients))
            settle(self, "capacity", checks.number("capacity", capacity, RATE, _is_felt))
            settle(self, "outage", checks.positive_seconds("outage", outage))
            settle(self, "latency", checks.positive_seconds("latency", latency))
        except PolicyError as error:
            raise ScenarioError(error.field, error.value, error.wanted) from None
        if endpoint not in MANNERS:
            raise ScenarioError("endpoint", endpoint, f"one of {', '.join(MANNERS)}")
        settle(self, "endpoint", endpoint)
        self._must_fit()

    @property
    def drain(self) -> float:
        """The drain limit: no policy serves everybody sooner."""
        return self.clients / self.capacity

    @property
    def unit(self) -> float:
        """The unit of the waits: the drain limit, or more if that is very short."""
        unhurried = min(self.latency / ROOM, self.outage / MOST_WAITS_IN_OUTAGE)
        return max(self.drain, SHORTEST_UNIT, unhurried)

    def _must_fit(self) -> None:
        if self.clients > MOST_DELIVERIES:
            raise ScenarioError("clients", self.clients, f"at most {MOST_DELIVERIES:,}")
        if self.drain > LONGEST_DRAIN:
            wanted = f"at least {self.clients / LONGEST_DRAIN:g} for {self.clients:,} clients"
            raise ScenarioError("capacity", self.capacity, wanted)
        if self.outage > LONGEST_OUTAGE:
            raise ScenarioError("outage", self.outage, f"at most {LONGEST_OUTAGE:,.0f}")


def _is_felt(rate: float) -> bool:
    return rate >= 1
