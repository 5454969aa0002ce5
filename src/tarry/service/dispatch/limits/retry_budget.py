"""A lane's retry budget: how many of its sends may be retries while all is well."""

from tarry.core.budget import RatioRule
from tarry.core.window import SLICES, Window

RULE = RatioRule(ratio=0.5, bootstrap=20)
"""Retries are at most half of what is sent, but for a few."""
PAUSE = RULE.window / SLICES
"""How long a retry waits that the budget has no room for."""
_NOTHING = Window()


class Budget:
    """Counts sends, and says whether one more may be a retry."""

    __slots__ = ("_counted", "_sends")

    def __init__(self) -> None:
        self._sends = 0
        self._counted = _NOTHING

    def sent(self) -> None:
        """Something was sent."""
        self._sends += 1

    def spend(self, now: float) -> bool:
        """Whether a retry may go; then it is counted."""
        slot = RULE.slot(now)
        self._counted = RULE.call(self._counted, self._sends, slot)
        self._sends = 0
        counted = RULE.spend(self._counted, slot)
        if counted is not None:
            self._counted = counted
        return counted is not None
