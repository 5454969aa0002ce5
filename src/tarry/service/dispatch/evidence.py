"""What its lanes saw of an origin: when it is the trouble of all, and when of some alone.

Values: of the many origins that are well, all have the same ones.
"""

from collections.abc import Iterable

from msgspec import Struct

from tarry.service.dispatch.gate import RULE

SEVERAL = 3
"""So many lanes speak for their origin; fewer may have troubles of their own."""
_NOBODY: frozenset[int] = frozenset()


class Failures(Struct, frozen=True):
    """What failed since something passed: how often, how often nobody was there, in which lanes.

    Of the lanes only as many are kept as speak for their origin.
    """

    count: int = 0
    unreachable: int = 0
    lanes: frozenset[int] = _NOBODY

    @property
    def many(self) -> bool:
        """Whether it was no mishap."""
        return self.count >= RULE.failures

    @property
    def of_all(self) -> bool:
        """Whether it is the trouble of all."""
        return len(self.lanes) >= SEVERAL or self.unreachable >= RULE.failures

    def add(self, lane: int, *, unreachable: bool) -> "Failures":
        """With one more."""
        lanes = self.lanes if len(self.lanes) >= SEVERAL else self.lanes | {lane}
        return Failures(self.count + 1, self.unreachable + unreachable, lanes)


class Refusals(Struct, frozen=True):
    """Lanes that were refused since somebody passed; `own` are those that were before.

    What was refused before others passed is about that lane alone. `is_news`: the last one was
    refused for the first time, so it may be.
    """

    lanes: frozenset[int] = _NOBODY
    own: frozenset[int] = _NOBODY
    is_news: bool = False

    @property
    def of_all(self) -> bool:
        """Whether so many are refused that it is meant for all."""
        return len(self.lanes) >= SEVERAL

    def add(self, lane: int) -> "Refusals":
        """With one more."""
        return Refusals(self.lanes | {lane}, self.own, lane not in self.lanes)

    def passed(self, lanes: Iterable[int]) -> "Refusals":
        """Somebody passed: with these it is about them alone."""
        return Refusals(_NOBODY, self.own.union(lanes), self.is_news)

    def taken(self, lane: int) -> "Refusals":
        """This one was taken: it is refused no more."""
        return Refusals(self.lanes, self.own - {lane}, self.is_news) if lane in self.own else self

    def failed(self) -> "Refusals":
        """Something failed that is no refusal: those before it do not say that all are refused."""
        return Refusals(_NOBODY, self.own, self.is_news)

    def opened(self) -> "Refusals":
        """All are in trouble: who was refused before is no exception any more."""
        return Refusals(self.lanes, _NOBODY, self.is_news)


NO_FAILURES = Failures()
NO_REFUSALS = Refusals()
