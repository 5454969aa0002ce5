"""How far an effort has come: all that `decide` needs to know of the past."""

import math

from tarry.core.outcome import Again
from tarry.core.value import Value, settle


class Progress(Value):
    """`attempts` made so far (the one just ended included), since `started_at`.

    `memory` is the jitter's, from the last `Again`. `deadline_at` is an end inherited from
    outside, on the same clock as `started_at`.
    """

    attempts: int
    started_at: float
    memory: float | None
    deadline_at: float

    def __init__(
        self,
        attempts: int = 1,
        started_at: float = 0.0,
        memory: float | None = None,
        deadline_at: float = math.inf,
    ) -> None:
        settle(self, "attempts", attempts)
        settle(self, "started_at", started_at)
        settle(self, "memory", memory)
        settle(self, "deadline_at", deadline_at)

    def after(self, again: Again) -> "Progress":
        """Return the progress with one more attempt begun."""
        return Progress(self.attempts + 1, self.started_at, again.memory, self.deadline_at)
