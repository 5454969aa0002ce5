"""How the probes of an endpoint that stays down become fewer: the `[probe]` table of a policy."""

from tarry.core import checks
from tarry.core.value import Value, settle
from tarry.errors import PolicyError

HOUR = 3600.0
LEAST_SHARE = 0.001
"""With a smaller share, an outage of a quarter of an hour would be probed every second."""


class ProbeRule(Value):
    """How late a probe may be, after the first ten minutes of an outage. Durations are seconds.

    A probe comes no later than the share `late` of the outage's age, or `late_large` while at least
    `large` deliveries wait, and never later than `at_most`. Until the outage is `steady` old, the
    probes also keep about the pace of its first ten minutes.
    """

    late: float
    late_large: float
    large: int
    steady: float
    at_most: float

    def __init__(
        self,
        *,
        late: float = 0.05,
        late_large: float = 0.01,
        large: int = 1_000,
        steady: checks.Seconds = HOUR,
        at_most: checks.Seconds = HOUR,
    ) -> None:
        settle(self, "late", _share("probe.late", late))
        settle(self, "late_large", _share("probe.late_large", late_large))
        settle(self, "large", checks.count("probe.large", large))
        settle(self, "steady", checks.seconds("probe.steady", steady))
        wanted = f"a number of seconds from 1 to {HOUR:,.0f}"
        longest = checks.seconds("probe.at_most", at_most, wanted)
        if not 1 <= longest <= HOUR:
            raise PolicyError("probe.at_most", at_most, wanted)
        settle(self, "at_most", longest)

    def latest(self, age: float, *, waiting: int) -> float:
        """Return by how many seconds a probe may be late in an outage of this age."""
        share = self.late_large if waiting >= self.large else self.late
        return min(self.at_most, share * age)


def _share(field: str, value: float) -> float:
    wanted = f"a number from {LEAST_SHARE:g} to 1"
    return checks.number(field, value, wanted, lambda share: LEAST_SHARE <= share <= 1)


PROBES = ProbeRule()
"""The rule of a policy without a `[probe]` table: one object, so that lanes see at once that
nothing differs."""
