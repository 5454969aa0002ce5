"""Which share of the failures at a pace is the messages' own, by trying them again.

An endpoint that is overloaded fails whatever comes; a moment later it takes what it failed. One
that cannot digest some messages fails those again, while it takes others. So what failed is
compared with what is tried for the first time just then: what fails more often does so by itself.
"""

from msgspec import Struct
from msgspec.structs import replace

LATELY = 20
"""Over how many first tries the share of failures is taken: it is to be that of just now."""
USUALLY = 200
"""The same, where it is to be that of always."""
MEMORY = 100
"""How many second tries are remembered."""
DOUBT = 4
"""So many second tries count as if they had shown nothing."""
MOST = 4.0
"""How many failures in a row may be spared."""


class Stubborn(Struct, frozen=True):
    """What first and second tries came to. A value: lanes in which nothing failed share one.

    `share` of the first tries failed lately, and `usual` in the long run. `failed` of the `tried`
    second ones failed again; `expected` would have, were they like the first ones of their time.
    Of the next failures so many may be `spared`: as many as are usual, whatever happens just now.
    """

    firsts: int = 0
    share: float = 0.0
    usual: float = 0.0
    tried: float = 0.0
    failed: float = 0.0
    expected: float = 0.0
    spared: float = 0.0

    @property
    def own(self) -> float:
        """The share of the failures that are the messages' own, as far as is known."""
        like_others = self.tried - self.expected
        if self.failed <= self.expected or like_others < 1:
            return 0.0
        return (self.failed - self.expected) / like_others * self.tried / (self.tried + DOUBT)

    def first(self, *, failed: bool) -> "Stubborn":
        """One was tried for the first time."""
        firsts = self.firsts + 1
        usual = self.usual + (failed - self.usual) / min(firsts, USUALLY)
        return replace(
            self,
            firsts=firsts,
            share=self.share + (failed - self.share) / min(firsts, LATELY),
            usual=usual,
            spared=min(MOST, self.spared + self.own * usual),
        )

    def again(self, *, failed: bool) -> "Stubborn":
        """One was tried again that had failed before another was taken."""
        kept = 1 - 1 / MEMORY
        return replace(
            self,
            tried=kept * self.tried + 1,
            failed=kept * self.failed + failed,
            expected=kept * self.expected + self.share,
        )

    def spare(self) -> "Stubborn | None":
        """What is left once a failure was put down to its message; None if there are none left."""
        return replace(self, spared=self.spared - 1) if self.spared >= 1 else None


UNTRIED = Stubborn()
