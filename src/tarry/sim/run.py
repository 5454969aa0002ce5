"""The input and output of a simulated run."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tarry.core.breaker import BreakerRule
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.policy import Policy
from tarry.core.probe_rule import PROBES, ProbeRule
from tarry.core.value import Value
from tarry.errors import ScenarioError
from tarry.sim.chance import Chance

PACED = "paced"
"""The name of the contestant that is the lane's pacer."""

Floats = npt.NDArray[np.float64]


class Contestant(Value):
    """A policy to simulate, with its guards.

    Without a policy it is the lane's pacer, which only the backlog model supports. `probe` says how
    its probes become fewer while the endpoint stays down.
    """

    name: str
    policy: Policy | None
    budget: QuotaRule | RatioRule | None = None
    breaker: BreakerRule | None = None
    probe: ProbeRule = PROBES


class Curve(NamedTuple):
    """A line to draw: its label, its unit, and its values over time in seconds."""

    label: str
    unit: str
    seconds: Floats
    values: Floats


class Run(NamedTuple):
    """The result of one run: metrics by name (None: it never happened), and curves by name."""

    metrics: Mapping[str, float | None]
    curves: Mapping[str, Curve]


class Measure(Value):
    """What a metric means, and its unit ("" for a plain ratio or count)."""

    about: str
    unit: str = ""


class Scenario(Protocol):
    """What can be simulated: a model's settings as a frozen value that can run."""

    @property
    def measures(self) -> Mapping[str, Measure]:
        """The metrics of the model, in display order."""

    def refuse(self, contestant: Contestant) -> None:
        """Raise ScenarioError if the model does not support such a contestant."""

    def simulate(self, contestant: Contestant, chance: Chance) -> Run:
        """Simulate one run."""


def lone_policy(contestant: Contestant, model: str) -> Policy:
    """Return the policy of a contestant, and refuse guards and the pacer.

    This is for models without a server that a guard could learn from.
    """
    for guard in ("budget", "breaker"):
        if (rule := getattr(contestant, guard)) is not None:
            raise ScenarioError(guard, rule, f"left out: {model} has no guards, model 'server' has")
    if contestant.policy is None:
        wanted = f"a policy: {model} has no backlog to pace, model 'backlog' has"
        raise ScenarioError("policy", contestant.name, wanted)
    return contestant.policy
