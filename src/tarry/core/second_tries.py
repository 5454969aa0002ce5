"""Estimate which share of the failures at a pace are the messages' own, by second tries.

An overloaded endpoint fails any message, and accepts the same message a moment later. An endpoint
that cannot process some messages fails those again while it accepts the others. So compare how
often second tries fail with how often first tries fail at the same time. What second tries fail
more often is the messages' own.

This exists for one story: a backlog in which a tenth to a half of the messages always fail. Taken
for an overload, they slowed the drain from minutes to hours.
"""

from tarry.core.value import Value

RECENT_FIRSTS = 20
"""Over how many first tries the recent share of failures is averaged."""
USUAL_FIRSTS = 200
"""Over how many first tries the usual share of failures is averaged."""
REMEMBERED_SECONDS = 100
"""Over how many second tries the results are averaged."""
PRIOR = 4
"""How many second tries that showed nothing are assumed: a few results prove little."""
MOST_CREDIT = 4.0
"""How many failures in a row may be spared."""


class SecondTries(Value):
    """The results of first and second tries. Lanes in which nothing failed share one value.

    Of the first tries, the share `recent` failed lately, and `usual` in the long run. Of the
    `tried` second tries, `failed` failed again; `expected` would have failed if they were like the
    first tries of the same time. `credit` is how many of the next failures to put down to their
    messages: it grows by as many as usually fail, so a sudden overload soon uses it up.
    """

    firsts: int = 0
    recent: float = 0.0
    usual: float = 0.0
    tried: float = 0.0
    failed: float = 0.0
    expected: float = 0.0
    credit: float = 0.0

    @property
    def own(self) -> float:
        """The share of the failures that are the messages' own, as far as is known."""
        like_others = self.tried - self.expected
        if self.failed <= self.expected or like_others < 1:
            return 0.0
        return (self.failed - self.expected) / like_others * self.tried / (self.tried + PRIOR)

    def first(self, *, failed: bool) -> "SecondTries":
        """Count the result of a first try."""
        firsts = self.firsts + 1
        usual = self.usual + (failed - self.usual) / min(firsts, USUAL_FIRSTS)
        return self.replace(
            firsts=firsts,
            recent=self.recent + (failed - self.recent) / min(firsts, RECENT_FIRSTS),
            usual=usual,
            credit=min(MOST_CREDIT, self.credit + self.own * usual),
        )

    def second(self, *, failed: bool) -> "SecondTries":
        """Count the result of a second try; the endpoint accepted another message in between."""
        decay = 1 - 1 / REMEMBERED_SECONDS
        return self.replace(
            tried=decay * self.tried + 1,
            failed=decay * self.failed + failed,
            expected=decay * self.expected + self.recent,
        )

    @property
    def spares(self) -> bool:
        """Whether there is credit to put a failure down to its message."""
        return self.credit >= 1

    def spared(self) -> "SecondTries":
        """Use up the credit for one failure."""
        return self.replace(credit=self.credit - 1)


NO_TRIES = SecondTries()
