"""The policies to search: kinds of jitter, each with longer and shorter waits.

What decides is the longest wait, compared with the time N/C that the service needs for everybody. A
rising backoff starts at a second, so it suits single failures, too. A flat one is wide from the
first wait: only that spreads the clients in a short outage.
"""

from collections.abc import Iterator, Mapping

from tarry.core.backoff import Backoff, Exponential, Fixed
from tarry.core.jitter import Equal, Full, Jitter, Percent, Smooth
from tarry.core.policy import Policy
from tarry.core.value import Value
from tarry.sim.recommend.wish import Wish

MULTIPLES = (2.2, 2.0, 2.5, 1.85, 3.0, 1.7, 4.0, 1.55, 1.4, 1.25, 1.1)
"""The longest waits to try, in units of the wish. Likely ones come first, so that bad ones can be
stopped early."""
SMALL = ((40.0, (5.5, 8.0)), (5.0, (12.0, 20.0)))
"""For small capacities, more longest waits: below this many requests a second, random clusters
overload a service that is half idle."""
BASE = 1.0
DIGITS = 3

RISING: Mapping[str, Jitter] = {"smooth": Smooth(), "equal": Equal(), "full": Full()}
FLAT: Mapping[str, Jitter] = {**RISING, "percent": Percent(0.5)}


class Candidate(Value):
    """A backoff with a jitter; `name` describes both."""

    name: str
    backoff: Backoff
    jitter: Jitter

    @property
    def rising(self) -> bool:
        """Whether the waits start short and grow."""
        return isinstance(self.backoff, Exponential)

    @property
    def policy(self) -> Policy:
        """The candidate as a policy without limits."""
        return self.faster(1.0)

    def faster(self, times: float) -> Policy:
        """Return the policy for a world in which everything happens `times` times as fast."""
        backoff: Backoff
        if isinstance(self.backoff, Exponential):
            cap = self.backoff.ceiling / times
            backoff = Exponential(base=self.backoff.base / times, cap=cap)
        else:
            backoff = Fixed(self.backoff.ceiling / times)
        return Policy(
            backoff=backoff, jitter=self.jitter, attempts=None, within=None, name=self.name
        )


def candidates(wish: Wish) -> tuple[Candidate, ...]:
    """Return all candidates for a wish."""
    return tuple(_candidates(wish))


def _candidates(wish: Wish) -> Iterator[Candidate]:
    more = [longer for below, some in SMALL if wish.capacity < below for longer in some]
    for multiple in (*MULTIPLES, *more):
        longest = float(f"{multiple * wish.unit:.{DIGITS}g}")
        for name, jitter in RISING.items():
            base = min(BASE, longest / 2)
            backoff = Exponential(base=base, cap=longest)
            yield Candidate(f"{name} {base:g}..{longest:g} s", backoff, jitter)
        for name, jitter in FLAT.items():
            yield Candidate(f"{name} flat {longest:g} s", Fixed(longest), jitter)
