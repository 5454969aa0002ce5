"""Deliveries that each retry by themselves: `decide` for a whole array of failures at once."""

import math

import numpy as np
import numpy.typing as npt

from tarry.core.policy import Policy
from tarry.sim.run import Floats
from tarry.sim.waits import Waits, no_memory

Indices = npt.NDArray[np.intp]


class DueTimes:
    """The due time of each delivery under one policy; inf if it makes no more attempts.

    A property test checks that this agrees with `core.decide`.
    """

    def __init__(self, policy: Policy, due: Floats, draws: np.random.Generator) -> None:
        self.due = due
        self.lost = 0
        self._policy = policy
        self._waits = Waits(policy)
        self._started = due.copy()
        self._attempts = np.zeros(len(due), dtype=np.int64)
        self._memory = no_memory(len(due)).copy()
        self._draws = draws

    def fail(self, which: Indices, now: Floats, asked: float | None = None) -> None:
        """Record that these attempts failed at these times; `asked` is the Retry-After, if any."""
        attempts = self._attempts[which] + 1
        self._attempts[which] = attempts
        draws = self._draws.random(len(which))
        limit = math.inf if self._policy.attempts is None else self._policy.attempts
        within = math.inf if self._policy.within is None else self._policy.within
        left = self._started[which] + within - now
        if asked is not None and self._policy.retry_after.honour:
            waits, fits = self._as_asked(asked, attempts, left, draws)
        else:
            waits, memory = self._waits.draw(attempts, self._memory[which], draws)
            self._memory[which] = memory
            fits = waits <= left
        again = fits & (attempts < limit)
        self.due[which] = np.where(again, now + waits, np.inf)
        self.lost += len(which) - int(again.sum())

    def leave(self, which: Indices) -> None:
        """Record that these deliveries succeeded, even if `fail` has counted them as lost."""
        self.lost -= int(np.isinf(self.due[which]).sum())
        self.due[which] = np.inf

    def _as_asked(
        self, asked: float, attempts: npt.NDArray[np.int64], left: Floats, draws: Floats
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        curve = self._policy.backoff.curve
        numbers, places = np.unique(attempts, return_inverse=True)
        curves = np.array([curve(int(number)) for number in numbers])[places]
        spread = np.minimum(np.maximum(curves, asked / 2), left - asked)
        fits = (asked <= left) & (asked <= self._policy.retry_after.at_most)
        return asked + draws * spread, fits
