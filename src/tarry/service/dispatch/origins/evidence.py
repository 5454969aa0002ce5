"""Evidence that an origin is in trouble: for one lane, one application or all applications.

These are frozen values. All healthy origins share the same two.
"""

import math
from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tarry.service.dispatch.limits.gate import RULE

SEVERAL = 3
"""Failing lanes that are evidence against their application's group, and failing applications that
are evidence against the whole origin."""
Item = TypeVar("Item")
_NO_LANES: frozenset[int] = frozenset()
_NO_APPLICATIONS: frozenset[str] = frozenset()


class Failures(Struct, frozen=True):
    """The failures since the last success: their count, lanes, applications and first time.

    `unreachable` counts the latest failures in a row that could not connect. `answered` holds the
    applications that got an answer after those. At most `SEVERAL` lanes and applications are kept.
    """

    count: int = 0
    unreachable: int = 0
    lanes: frozenset[int] = _NO_LANES
    applications: frozenset[str] = _NO_APPLICATIONS
    answered: frozenset[str] = _NO_APPLICATIONS
    since: float = math.inf

    @property
    def many(self) -> bool:
        """Whether there are enough failures to open a gate."""
        return self.count >= RULE.failures

    @property
    def of_several_lanes(self) -> bool:
        """Whether several lanes fail."""
        return len(self.lanes) >= SEVERAL

    @property
    def of_several_applications(self) -> bool:
        """Whether lanes of several applications fail."""
        return len(self.applications) >= SEVERAL

    @property
    def nobody_there(self) -> bool:
        """Whether enough attempts in a row could not connect."""
        return self.unreachable >= RULE.failures

    def add(self, lane: int, application: str, *, unreachable: bool, now: float) -> "Failures":
        """Return these with one more. Any answer ends a row of `unreachable` ones."""
        return Failures(
            self.count + 1,
            self.unreachable + 1 if unreachable else 0,
            _with(self.lanes, lane),
            _with(self.applications, application),
            _NO_APPLICATIONS if unreachable else _with(self.answered, application),
            min(self.since, now),
        )

    def reached(self) -> "Failures":
        """Return these after an answer that is not counted as a failure."""
        return replace(self, unreachable=0)

    def is_news(self, before: "Failures") -> bool:
        """Return whether the last failure was the first answer to its application.

        False once `SEVERAL` applications were answered: that is evidence enough.
        """
        return len(before.answered) < len(self.answered) < SEVERAL

    def counted_anew(self) -> "Failures":
        """Return an empty count that remembers the time of the first failure."""
        return Failures(since=self.since)


def _with(kept: frozenset[Item], item: Item) -> frozenset[Item]:
    """Return the set with one more item, unless it holds `SEVERAL` already."""
    return kept if len(kept) >= SEVERAL else kept | {item}


class Refusals(Struct, frozen=True):
    """The lanes that were refused since the last success; `own` holds lanes refused before it.

    A refusal before others passed concerns that lane alone. `is_news` says that the last lane was
    refused for the first time, so its refusal may concern that lane alone.
    """

    lanes: frozenset[int] = _NO_LANES
    own: frozenset[int] = _NO_LANES
    is_news: bool = False

    @property
    def of_all(self) -> bool:
        """Whether enough lanes are refused to conclude that the origin refuses all."""
        return len(self.lanes) >= SEVERAL

    def add(self, lane: int) -> "Refusals":
        """Return these with one more lane."""
        return Refusals(self.lanes | {lane}, self.own, lane not in self.lanes)

    def passed(self, lanes: Iterable[int]) -> "Refusals":
        """Return these after a success: the refusals of these lanes concern them alone."""
        return Refusals(_NO_LANES, self.own.union(lanes), self.is_news)

    def taken(self, lane: int) -> "Refusals":
        """Return these after a delivery of this lane passed: it is not refused any more."""
        return Refusals(self.lanes, self.own - {lane}, self.is_news) if lane in self.own else self

    def failed(self) -> "Refusals":
        """Return these after a failure other than a refusal: they no longer concern all lanes."""
        return Refusals(_NO_LANES, self.own, self.is_news)

    def opened(self) -> "Refusals":
        """Return these after the gate opened: no lane is an exception any more."""
        return Refusals(self.lanes, _NO_LANES, self.is_news)


NO_FAILURES = Failures()
NO_REFUSALS = Refusals()
