"""What a lane keeps in mind about single deliveries while it cannot tell whose failure one is.

Bounded, and in memory only: what is forgotten costs a delivery one attempt more, or less.
"""

import math
from collections.abc import Container

from msgspec.structs import replace

from tarry.service.dispatch.limits.gate import RULE
from tarry.service.dispatch.outcomes.ruling import Ruling
from tarry.service.dispatch.outcomes.stubborn import UNTRIED
from tarry.service.dispatch.sparse import NOTHING, put, without
from tarry.service.model.delivery import ENDED
from tarry.service.model.lane import Due

REMEMBERED = 10_000
KINDS = 1000
RECENTLY = 600.0
"""How long a success makes refusals final, in seconds."""
LATELY = 60.0
"""How long it makes failures and refusals say nothing of the endpoint: so short that a delivery
which is retried finds out about an outage before its attempts are used up."""

MOSTLY = 0.8
"""The share of failures that are the messages' own from which on the second one of a message is."""


Suspect = tuple[int, int, str]
"""A delivery's attempts before it failed, its tries since, and the id of its message."""


class Doubts:
    """Deliveries that were refused, that failed by the lane's pace, or that failed last of all.

    The last are suspects: if the lane opens over them, it was the lane's failure and they get
    their attempts back. If another is taken first, it was their own.
    """

    __slots__ = (
        *("_kinds", "_moments", "_own", "_paced", "_refunds", "_refused", "_streaks", "_suspects"),
        *("_stubborn", "_to_blame", "refusals"),
    )

    def __init__(self) -> None:
        self.refusals = 0
        """How many were refused since the last was taken."""
        self._kinds: dict[str, None] = NOTHING
        self._refused: dict[int, float] = NOTHING
        self._moments: dict[int, tuple[int, float]] = NOTHING
        self._suspects: dict[int, Suspect] = NOTHING
        self._refunds: dict[int, Suspect] = NOTHING
        self._own: dict[int, None] = NOTHING
        """Deliveries that failed and did not get their attempts back."""
        self._paced: dict[int, None] = NOTHING
        """Deliveries that failed by the lane's pace since the last was taken."""
        self._to_blame: dict[int, None] = NOTHING
        """The same before it was."""
        self._streaks: dict[str, tuple[int, float]] = NOTHING
        """Of each kind that fails, how often in a row and since when."""
        self._stubborn = UNTRIED

    def proven(self, due: Due, *, accepted_at: float, now: float) -> bool:
        """Whether the endpoint took another delivery since it first refused this one."""
        first = self._refused.get(due.seq, math.inf)
        if first == math.inf and len(self._refused) < REMEMBERED:
            self._refused = put(self._refused, due.seq, now)
        return first < accepted_at and now - accepted_at < RECENTLY

    def usual(self, due: Due, *, accepted_at: float, now: float) -> bool:
        """Whether a refusal of this one says no more than that the endpoint never takes its kind.

        It takes others: it was not asked for messages of this type, and says so. One that refuses
        what it used to take is in trouble.
        """
        known = self._kinds
        return now - accepted_at < LATELY and bool(known) and due.event_type not in known

    def failed(self, due: Due, *, now: float) -> None:
        """One failed: that is one more of its kind."""
        count, since = self._streaks.get(due.event_type, (0, now))
        if count or len(self._streaks) < KINDS:
            self._streaks = put(self._streaks, due.event_type, (count + 1, since))

    def own(self, due: Due, *, accepted_at: float, now: float) -> bool:
        """Whether a failure of this one says nothing about the endpoint, which takes others.

        It took one since this one failed, or since this kind of messages does nothing but fail.
        """
        if now - accepted_at >= LATELY:
            return False
        count, since = self._streaks.get(due.event_type, (0, now))
        return due.seq in self._own or (count >= RULE.failures and since < accepted_at)

    def again(self, due: Due, *, accepted_at: float, now: float) -> bool:
        """Whether this one fails again that failed by the lane's pace before another was taken.

        That one failure was said already, and if it is the pace others fail as well.
        """
        return now - accepted_at < LATELY and due.seq in self._to_blame

    def failed_again(self) -> None:
        """One failed again that had failed by the lane's pace."""
        self._stubborn = self._stubborn.again(failed=True)

    def spares(self) -> bool:
        """One failed at the lane's pace: whether to put that down to the message all the same."""
        self._stubborn = self._stubborn.first(failed=True)
        spared = self._stubborn.spare()
        self._stubborn = spared or self._stubborn
        return spared is not None

    @property
    def mostly_own(self) -> bool:
        """Whether most of what fails at the lane's pace would fail at any."""
        return self._stubborn.own > MOSTLY

    def moments(self, due: Due) -> int:
        """How often this one failed by the lane's pace."""
        return self._moments.get(due.seq, (0, 0.0))[0]

    def moment(self, due: Due) -> float | None:
        """How long this one waits before it may go again; None if it does not wait for that."""
        return self._moments.get(due.seq, (0, None))[1]

    def remember(self, due: Due, ruling: Ruling) -> None:
        """Keep in mind what was ruled."""
        if ruling.state in ENDED:
            self._forget(due.seq)
        elif ruling.moment is not None:
            if due.seq not in self._moments and len(self._moments) >= REMEMBERED:
                return
            moment = (self.moments(due) + 1, ruling.moment)
            self._moments = put(self._moments, due.seq, moment)
            self._paced = put(self._paced, due.seq, None)
        elif ruling.counted:
            if due.seq not in self._suspects and len(self._suspects) >= REMEMBERED:
                return
            before, *_ = self._suspects.get(due.seq, (due.attempts,))
            suspect = (before, due.tries + 1, due.message)
            self._suspects = put(self._suspects, due.seq, suspect)

    def _forget(self, seq: int) -> None:
        """One that ended."""
        if self._refused:
            self._refused = without(self._refused, seq)
        if self._moments:
            self._moments = without(self._moments, seq)
        if self._suspects:
            self._suspects = without(self._suspects, seq)
        if self._refunds:
            self._refunds = without(self._refunds, seq)
        if self._own:
            self._own = without(self._own, seq)
        if self._to_blame:
            self._to_blame = without(self._to_blame, seq)

    def refused(self) -> None:
        """Count a refusal."""
        self.refusals += 1

    def forget_refusals(self) -> None:
        """Forget all refusals but one: the lane goes at a pace from here on."""
        self.refusals = min(self.refusals, 1)

    def taken(self, due: Due) -> None:
        """One was taken: what failed before was its own failure."""
        self.refusals = 0
        if self._stubborn is not UNTRIED:
            again = due.seq in self._to_blame
            step = self._stubborn.again if again else self._stubborn.first
            self._stubborn = step(failed=False)
        if due.event_type not in self._kinds and len(self._kinds) < KINDS:
            self._kinds = put(self._kinds, due.event_type, None)
        if self._streaks:
            self._streaks = without(self._streaks, due.event_type)
        for seq in self._suspects:
            if len(self._own) < REMEMBERED:
                self._own = put(self._own, seq, None)
        self._suspects = NOTHING
        for seq in self._paced:
            self._to_blame = put(self._to_blame, seq, None)
        self._paced = NOTHING

    def begin_anew(self) -> None:
        """Somebody else is there: what was refused or failed before says nothing about them."""
        self.refusals = 0
        self._kinds = self._refused = self._own = self._streaks = NOTHING
        self._stubborn = UNTRIED
        self.settled_down()

    def settled_down(self) -> None:
        """The lane has found its pace."""
        self._moments = self._paced = self._to_blame = NOTHING

    def blame_the_lane(self) -> None:
        """The lane opened: the suspects are to get their attempts back."""
        self._refunds = self._refunds | self._suspects if self._refunds else self._suspects
        self._suspects = NOTHING

    def refunded(self, due: Due) -> Due:
        """One that is on its way, with its attempts back if it is to get them."""
        attempts, *_ = self._refunds.get(due.seq, (due.attempts,))
        self._refunds = without(self._refunds, due.seq)
        return due if attempts == due.attempts else replace(due, attempts=attempts)

    def refundable(self, busy: Container[int]) -> list[tuple[int, int, int, str]]:
        """Take out those that nobody works on just now, as (sequence, attempts, tries, message)."""
        if not self._refunds:
            return []
        free = [seq for seq in self._refunds if seq not in busy]
        taken = [(seq, *self._refunds.pop(seq)) for seq in free]
        self._refunds = self._refunds or NOTHING
        return taken
