"""What goes into a simulated run, and what comes out of it."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tarry.core.breaker import BreakerRule
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.policy import Policy
from tarry.core.value import Value
from tarry.errors import ScenarioError
from tarry.sim.chance import Chance

PACED = "paced"
"""The name of the contestant that is the lane's pacer."""

Floats = npt.NDArray[np.float64]


class Contestant(Value):
    """A policy that is put through a storm, with the guards beside it.

    Without a policy it is the lane's pacer, which only the backlog model knows.
    """

    name: str
    policy: Policy | None
    budget: QuotaRule | RatioRule | None = None
    breaker: BreakerRule | None = None


class Curve(NamedTuple):
    """A line to draw: what it shows, in which unit, over time in seconds."""

    label: str
    unit: str
    seconds: Floats
    values: Floats


class Run(NamedTuple):
    """What one run gave: numbers under their names (None: it never happened), lines to draw."""

    metrics: Mapping[str, float | None]
    curves: Mapping[str, Curve]


class Measure(Value):
    """What a metric tells, and in which unit ("" is a plain ratio or count)."""

    about: str
    unit: str = ""


class Scenario(Protocol):
    """What can be simulated: each model's settings as a frozen value that knows how to run."""

    @property
    def measures(self) -> Mapping[str, Measure]:
        """The metrics of the model, in the order in which they are shown."""

    def refuse(self, contestant: Contestant) -> None:
        """Raise ScenarioError if the model has no use for such a contestant."""

    def simulate(self, contestant: Contestant, chance: Chance) -> Run:
        """One run."""


def lone_policy(contestant: Contestant, model: str) -> Policy:
    """The policy of a contestant in a model that knows nothing else: guards and pacers are refused.

    Such a model has no server behind it that a guard could learn from.
    """
    for guard in ("budget", "breaker"):
        if (rule := getattr(contestant, guard)) is not None:
            raise ScenarioError(guard, rule, f"left out: {model} has no guards, model 'server' has")
    if contestant.policy is None:
        wanted = f"a policy: {model} has no backlog to pace, model 'backlog' has"
        raise ScenarioError("policy", contestant.name, wanted)
    return contestant.policy
