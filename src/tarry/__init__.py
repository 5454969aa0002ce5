"""Retries that never stampede: one policy for calls, simulations and deliveries."""

from tarry.call.api import attempts, retry
from tarry.call.block import Attempt
from tarry.call.breaker import Breaker
from tarry.call.budget import Quota, Ratio
from tarry.call.policy import Policy
from tarry.call.scope import disabled, remaining
from tarry.core.backoff import Exponential, Fibonacci, Fixed, Linear, Schedule
from tarry.core.decide import decide
from tarry.core.jitter import Decorrelated, Equal, Full, NoJitter, Percent, Smooth
from tarry.core.outcome import Again, Done, Failure, GiveUp, Kind, Pending, Success, Why
from tarry.core.policy import RetryAfter, Statuses
from tarry.core.probe_rule import ProbeRule
from tarry.core.progress import Progress
from tarry.errors import (
    AttemptTimedOut,
    BudgetSpent,
    CircuitOpen,
    DecorationError,
    GaveUp,
    PolicyError,
    PolicyFormatError,
    Refused,
    ScenarioError,
    TarryError,
)

__all__ = [
    "Again",
    "Attempt",
    "AttemptTimedOut",
    "Breaker",
    "BudgetSpent",
    "CircuitOpen",
    "DecorationError",
    "Decorrelated",
    "Done",
    "Equal",
    "Exponential",
    "Failure",
    "Fibonacci",
    "Fixed",
    "Full",
    "GaveUp",
    "GiveUp",
    "Kind",
    "Linear",
    "NoJitter",
    "Pending",
    "Percent",
    "Policy",
    "PolicyError",
    "PolicyFormatError",
    "ProbeRule",
    "Progress",
    "Quota",
    "Ratio",
    "Refused",
    "RetryAfter",
    "ScenarioError",
    "Schedule",
    "Smooth",
    "Statuses",
    "Success",
    "TarryError",
    "Why",
    "attempts",
    "decide",
    "disabled",
    "remaining",
    "retry",
]
