"""What a lane remembers of its endpoint, an event type, and one delivery that failed.

Each lane numbers its successes. `..._after` is the number of the lane's last success at the time of
a failure, so comparing it with the lane's number tells whether the endpoint accepted another
message since. `blame` uses these values to decide whose failure it was.
"""

import math
from collections.abc import Mapping

from tarry.core.second_tries import NO_TRIES, SecondTries
from tarry.core.value import Value, settle

HEALTHY_WITHIN = 60.0
"""For how many seconds after a success a failure may be the message's own. It is short, so that a
delivery which is retried notices an outage before its attempts are used up."""
NEVER = math.inf
"""The number of a success, or a time, that never comes."""


class Charge(Value):
    """Attempts that failed after one success, to be given back if the lane opens.

    The delivery had `attempts` before them. `tries` and `message` identify it in the store.
    """

    after: int
    attempts: int
    tries: int
    message: str

    def __init__(self, after: int, attempts: int, tries: int, message: str) -> None:
        settle(self, "after", after)
        settle(self, "attempts", attempts)
        settle(self, "tries", tries)
        settle(self, "message", message)


class DeliveryFacts(Value):
    """The facts about one delivery.

    The endpoint first refused it at `refused_at`. It first failed at the cost of an attempt after
    the success `failed_after`; `charge` holds the latest such attempts. It failed `slowed` times
    because of the lane's pace, the first time after the success `slowed_after`, and waits `pause`
    seconds since the last time.
    """

    refused_at: float
    failed_after: float
    charge: Charge | None
    slowed: int
    slowed_after: float
    pause: float | None

    def __init__(  # noqa: PLR0913  one argument a field
        self,
        *,
        refused_at: float = NEVER,
        failed_after: float = NEVER,
        charge: Charge | None = None,
        slowed: int = 0,
        slowed_after: float = NEVER,
        pause: float | None = None,
    ) -> None:
        settle(self, "refused_at", refused_at)
        settle(self, "failed_after", failed_after)
        settle(self, "charge", charge)
        settle(self, "slowed", slowed)
        settle(self, "slowed_after", slowed_after)
        settle(self, "pause", pause)

    def refuse(self, now: float) -> "DeliveryFacts":
        """Remember when the endpoint first refused it."""
        return self.replace(refused_at=now) if self.refused_at == NEVER else self

    def slow(self, after: int, pause: float) -> "DeliveryFacts":
        """Count a failure that is put down to the lane's pace."""
        first = min(self.slowed_after, after)
        return self.replace(slowed=self.slowed + 1, slowed_after=first, pause=pause)

    def charge_for(self, after: int, attempts: int, tries: int, message: str) -> "DeliveryFacts":
        """Remember an attempt that counted; the delivery had `attempts` and `tries` before it."""
        if self.charge is not None and self.charge.after == after:
            attempts = self.charge.attempts
        return DeliveryFacts(
            refused_at=self.refused_at,
            failed_after=min(self.failed_after, after),
            charge=Charge(after, attempts, tries + 1, message),
            slowed=self.slowed,
            slowed_after=self.slowed_after,
            pause=self.pause,
        )

    def give_back(self, after: int) -> "DeliveryFacts":
        """Forget the attempts that failed after this success: the endpoint failed."""
        first = NEVER if self.failed_after == after else self.failed_after
        return self.replace(charge=None, failed_after=first)

    def settle_down(self) -> "DeliveryFacts":
        """Forget failures that were put down to the pace: the lane has no pace any more."""
        return self.replace(slowed=0, slowed_after=NEVER, pause=None) if self.slowed else self

    def start_over(self) -> "DeliveryFacts":
        """Keep only its charge, as of a lane without a success: another endpoint is there."""
        charge = self.charge
        return DeliveryFacts(charge=None if charge is None else charge.replace(after=0))


CLEAN = DeliveryFacts()
"""The facts about a delivery without a failure that is remembered."""


class EventTypeFacts(Value):
    """The facts about one event type: whether the endpoint ever accepted it, and its failures.

    `failures` counts those in a row, the first of them at `failing_since`.
    """

    accepted: bool = False
    failures: int = 0
    failing_since: float = NEVER

    def fail(self, now: float) -> "EventTypeFacts":
        """Count one more failure."""
        return self.replace(failures=self.failures + 1, failing_since=min(self.failing_since, now))


UNSEEN = EventTypeFacts()
ACCEPTED = EventTypeFacts(accepted=True)
_NO_TYPES: Mapping[str, EventTypeFacts] = {}


class LaneFacts(Value):
    """The facts about a lane.

    `successes` is the number of its last success and `accepted_at` its time. `in_a_row` failures
    counted against the endpoint since, and `refusals` of all failures were refusals.
    """

    successes: int
    accepted_at: float
    in_a_row: int
    refusals: int
    types: Mapping[str, EventTypeFacts]
    tries: SecondTries

    def __init__(  # noqa: PLR0913  one argument a field
        self,
        *,
        successes: int = 0,
        accepted_at: float = -math.inf,
        in_a_row: int = 0,
        refusals: int = 0,
        types: Mapping[str, EventTypeFacts] = _NO_TYPES,
        tries: SecondTries = NO_TRIES,
    ) -> None:
        settle(self, "successes", successes)
        settle(self, "accepted_at", accepted_at)
        settle(self, "in_a_row", in_a_row)
        settle(self, "refusals", refusals)
        settle(self, "types", types)
        settle(self, "tries", tries)

    def is_healthy(self, now: float) -> bool:
        """Return whether the endpoint accepted a message within the last minute."""
        return now - self.accepted_at < HEALTHY_WITHIN
