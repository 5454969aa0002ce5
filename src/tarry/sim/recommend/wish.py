"""What somebody wants of a policy: so many clients, such a service, served again in time."""

from tarry.core import checks
from tarry.core.value import Value, settle
from tarry.errors import PolicyError, ScenarioError
from tarry.sim.endpoint import MANNERS, Manner
from tarry.sim.world import MOST

LONGEST_OUTAGE = 1e8
"""Three years: the limits of a policy outlast twice the outage and stay within its own bounds."""
LONGEST_DRAIN = 1e6
SHORTEST_UNIT = 1.0
"""Waits much below a second gain nobody anything."""
PATIENCE = 1000
"""How many of the shortest waits an outage has at most, as long as the latency leaves room."""
ROOM = 4
RATE = "a number, 1 or more: an endpoint feels overload by the second"


class Wish(Value):
    """All `clients` fail when an `outage` begins at a service that can do `capacity` a second.

    When it is back, everybody should be served within `latency` seconds. Above its capacity the
    service does what `endpoint` says.
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
            settle(self, "capacity", checks.number("capacity", capacity, RATE, _felt))
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
        """What the waits are measured by: the drain limit, unless that is next to nothing."""
        unhurried = min(self.latency / ROOM, self.outage / PATIENCE)
        return max(self.drain, SHORTEST_UNIT, unhurried)

    def _must_fit(self) -> None:
        if self.clients > MOST:
            raise ScenarioError("clients", self.clients, f"at most {MOST:,}")
        if self.drain > LONGEST_DRAIN:
            wanted = f"at least {self.clients / LONGEST_DRAIN:g} for {self.clients:,} clients"
            raise ScenarioError("capacity", self.capacity, wanted)
        if self.outage > LONGEST_OUTAGE:
            raise ScenarioError("outage", self.outage, f"at most {LONGEST_OUTAGE:,.0f}")


def _felt(rate: float) -> bool:
    return rate >= 1
