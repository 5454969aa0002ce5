"""A scenario that has been read: a model with its settings, and the contestants."""

from collections.abc import Mapping

from tarry.core.breaker import BreakerRule
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.policy import Policy
from tarry.core.value import Value
from tarry.sim.run import Contestant, Scenario


class Storm(Value):
    """A scenario with its name, its description, and its own contestants.

    `settings` has all settings, including defaults, as plain values under the keys of the file.
    `text` is the file itself. `budget` and `breaker` guard every contestant without its own.
    """

    name: str
    about: str
    model: str
    settings: Mapping[str, object]
    text: str
    scenario: Scenario
    contestants: tuple[Contestant, ...] = ()
    budget: QuotaRule | RatioRule | None = None
    breaker: BreakerRule | None = None

    def contestant(self, name: str, policy: Policy) -> Contestant:
        """Return a contestant for a policy from elsewhere, with the guards of this storm."""
        return Contestant(name, policy, self.budget, self.breaker)
