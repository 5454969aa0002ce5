"""What a lane remembers of its endpoint, an event type, and one delivery that failed.

A lane remembers when the latest message was sent that its endpoint accepted, and a delivery when it
failed. Comparing the two tells whether the endpoint accepted another message that was sent after
the failure. If it was sent before the failure, it says nothing: a slow endpoint may go down while
it still answers older requests. `blame` uses these values to decide whose failure it was.
"""

import math
from collections.abc import Mapping

from tarry.core.second_tries import NO_TRIES, SecondTries
from tarry.core.value import Value, settle

HEALTHY_WITHIN = 60.0
"""For how many seconds after a success a failure may be the message's own. It is short, so that a
delivery which is retried notices an outage before its attempts are used up."""
NEVER = math.inf
"""A time that never comes."""


class Charge(Value):
    """Attempts that failed, the last one `at` a time, to be given back if the lane opens.

    The delivery had `attempts` before them. `tries` and `message` identify it in the store.
    """

    at: float
    attempts: int
    tries: int
    message: str

    def __init__(self, at: float, attempts: int, tries: int, message: str) -> None:
        settle(self, "at", at)
        settle(self, "attempts", attempts)
        settle(self, "tries", tries)
        settle(self, "message", message)


class DeliveryFacts(Value):
    """The facts about one delivery.

    The endpoint first refused it at `refused_at`. It last failed at the cost of an attempt at
    `failed_at`; `charge` holds the latest such attempts. It failed `slowed` times because of the
    lane's pace, the first time at `slowed_at`, and waits `pause` seconds since the last time.
    """

    refused_at: float
    failed_at: float
    charge: Charge | None
    slowed: int
    slowed_at: float
    pause: float | None

    def __init__(  # noqa: PLR0913  one argument a field
        self,
        *,
        refused_at: float = NEVER,
        failed_at: float = NEVER,
        charge: Charge | None = None,
        slowed: int = 0,
        slowed_at: float = NEVER,
        pause: float | None = None,
    ) -> None:
        settle(self, "refused_at", refused_at)
        settle(self, "failed_at", failed_at)
        settle(self, "charge", charge)
        settle(self, "slowed", slowed)
        settle(self, "slowed_at", slowed_at)
        settle(self, "pause", pause)

    def refuse(self, now: float) -> "DeliveryFacts":
        """Remember when the endpoint first refused it."""
        return self.replace(refused_at=now) if self.refused_at == NEVER else self

    def slow(self, now: float, pause: float) -> "DeliveryFacts":
        """Count a failure that is put down to the lane's pace."""
        first = min(self.slowed_at, now)
        return self.replace(slowed=self.slowed + 1, slowed_at=first, pause=pause)

    def charge_for(self, charge: Charge, accepted: float) -> "DeliveryFacts":
        """Remember an attempt that counted, together with those before it that may be given back.

        `accepted` is when the latest message was sent that the endpoint accepted.
        """
        if self.charge is not None and self.charge.at >= accepted:
            charge = charge.replace(attempts=self.charge.attempts)
        return self.replace(failed_at=charge.at, charge=charge)

    def give_back(self, accepted: float) -> "DeliveryFacts":
        """Forget the attempts that failed since the endpoint last accepted a message."""
        return self if self.failed_at < accepted else self.replace(charge=None, failed_at=NEVER)

    def settle_down(self) -> "DeliveryFacts":
        """Forget failures that were put down to the pace: the lane has no pace any more."""
        return self.replace(slowed=0, slowed_at=NEVER, pause=None) if self.slowed else self

    def start_over(self) -> "DeliveryFacts":
        """Keep only its charge: another endpoint is there."""
        return DeliveryFacts(charge=self.charge)


CLEAN = DeliveryFacts()
"""The facts about a delivery without a failure that is remembered."""


class EventTypeFacts(Value):
    """The facts about one event type: whether the endpoint ever accepted it, and its failures.

    `failures` counts those in a row, refusals among them, the first of them at `failing_since`.
    Since `only_fails_since` there are enough of them to say that the type always fails.
    """

    accepted: bool = False
    failures: int = 0
    failing_since: float = NEVER
    only_fails_since: float = NEVER

    def fail(self, now: float, *, enough: int) -> "EventTypeFacts":
        """Count one more failure; `enough` of them say that the type always fails."""
        failures = self.failures + 1
        return self.replace(
            failures=failures,
            failing_since=min(self.failing_since, now),
            only_fails_since=now if failures == enough else self.only_fails_since,
        )


UNSEEN = EventTypeFacts()
ACCEPTED_TYPE = EventTypeFacts(accepted=True)
_NO_TYPES: Mapping[str, EventTypeFacts] = {}


class LaneFacts(Value):
    """The facts about a lane.

    The endpoint last accepted a message at `accepted_at`; the latest message that it accepted was
    sent at `accepted_sent_at`. Since then `in_a_row` failures counted against the endpoint, and
    `refusals` of all failures were refusals.
    """

    accepted_sent_at: float
    accepted_at: float
    in_a_row: int
    refusals: int
    types: Mapping[str, EventTypeFacts]
    tries: SecondTries

    def __init__(  # noqa: PLR0913  one argument a field
        self,
        *,
        accepted_sent_at: float = -math.inf,
        accepted_at: float = -math.inf,
        in_a_row: int = 0,
        refusals: int = 0,
        types: Mapping[str, EventTypeFacts] = _NO_TYPES,
        tries: SecondTries = NO_TRIES,
    ) -> None:
        settle(self, "accepted_sent_at", accepted_sent_at)
        settle(self, "accepted_at", accepted_at)
        settle(self, "in_a_row", in_a_row)
        settle(self, "refusals", refusals)
        settle(self, "types", types)
        settle(self, "tries", tries)

    def is_healthy(self, now: float) -> bool:
        """Return whether the endpoint accepted a message within the last minute."""
        return now - self.accepted_at < HEALTHY_WITHIN
