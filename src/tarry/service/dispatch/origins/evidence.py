"""Evidence that an origin is in trouble: for one lane, one application or all applications.

- `Failures` is a frozen value. All healthy origins share the same one.
- `Evidence` has the failures, refusals and holds of one level of an origin. It says what they
  prove.
"""

import math
from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tarry.core.pace import REMEMBERED, Sample
from tarry.service.dispatch.limits.gate import RULE
from tarry.service.dispatch.origins.member import Member
from tarry.service.dispatch.sparse import EMPTY_DICT

# --- Failures -----------------------------------------------------------------------------------

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
            _with_item(self.lanes, lane),
            _with_item(self.applications, application),
            _NO_APPLICATIONS if unreachable else _with_item(self.answered, application),
            min(self.since, now),
        )

    def reached(self) -> "Failures":
        """Return these after an answer that is not counted as a failure."""
        return replace(self, unreachable=0)

    def is_first_of_application(self, before: "Failures") -> bool:
        """Return whether the last failure was the first answer to its application.

        False once `SEVERAL` applications were answered: that is evidence enough.
        """
        return len(before.answered) < len(self.answered) < SEVERAL

    def reset(self) -> "Failures":
        """Return no failures, but remember since when there were some."""
        return Failures(since=self.since)


def _with_item(kept: frozenset[Item], item: Item) -> frozenset[Item]:
    """Return the set with one more item, unless it holds `SEVERAL` already."""
    return kept if len(kept) >= SEVERAL else kept | {item}


NO_FAILURES = Failures()
NO_ANSWERS = Sample()
"""The shared history of all levels without one: there may be as many as lanes."""


# --- All evidence of one level ------------------------------------------------------------------


class Evidence:
    """The evidence for and against one level of an origin: one application's group, or the whole.

    Several failing lanes are evidence against a group. Several failing applications are evidence
    against the whole, and so are attempts that cannot connect.
    """

    __slots__ = (
        *("_held", "_of_group", "failures", "history", "is_new_refusal", "passed_at", "refused"),
        "refused_alone",
    )

    def __init__(self, *, of_group: bool, now: float) -> None:
        self._of_group = of_group
        self.failures = NO_FAILURES
        self.history = NO_ANSWERS
        """The latest answers to closed lanes, since one first failed and passed again."""
        # As if the last attempt had passed `silence` seconds ago: gates that were open before that
        # are no evidence, and new failures count at once.
        self.passed_at = now - RULE.silence
        self.refused = self.refused_alone = _NO_LANES
        """The lanes that were refused since the last success, and those whose refusals concern them
        alone: they were refused before others passed."""
        self.is_new_refusal = False
        """Whether the last lane was refused for the first time: it may concern that lane alone."""
        self._held: dict[int | str, float] = EMPTY_DICT
        """Until when a 429 asked lanes of a group, or applications of a whole, to wait."""

    # --- Successes ------------------------------------------------------------------------------

    def passed(self, now: float, refused: Iterable[int]) -> None:
        """Drop the evidence: an attempt passed. So the refusals of these lanes were their own."""
        self.passed_at = now
        self.failures = NO_FAILURES
        if self.refused:
            self.refused, self.refused_alone = _NO_LANES, self.refused_alone.union(refused)
        self._held = EMPTY_DICT

    def assume_success(self, now: float) -> None:
        """Ignore lanes that are open now as evidence, as if an attempt had passed."""
        self.passed_at = now

    def has_passed_since(self, time: float) -> bool:
        """Return whether an attempt passed since then."""
        return self.passed_at >= time

    def add_success(self, failures: int) -> None:
        """Count a success of a closed lane, and its failures just before.

        So a lane that only fails says nothing about what fails by chance here.
        """
        if failures or self.history is not NO_ANSWERS:
            self.history = self.history.add(1, failures).faded(REMEMBERED)

    # --- Failures -------------------------------------------------------------------------------

    def add_failure(self, lane: Member, *, unreachable: bool, now: float) -> None:
        """Count a failure of a lane."""
        self.failures = self.failures.add(
            lane.number, lane.tenant, unreachable=unreachable, now=now
        )

    def reached(self) -> None:
        """Reset the count of attempts in a row that could not connect: one got an answer."""
        if self.failures.unreachable:
            self.failures = self.failures.reached()

    def reset_failures(self) -> None:
        """Count failures from zero, but remember since when there are some."""
        self.failures = self.failures.reset()

    @property
    def is_common(self) -> bool:
        """Whether the failures are evidence against all lanes of this level."""
        failures = self.failures
        if self._of_group:
            return failures.of_several_lanes
        return failures.of_several_applications or failures.nobody_there

    def is_down(self, now: float) -> bool:
        """Return whether the evidence is enough to open the gate of this level."""
        return self.failures.many and self.is_common and self._is_silent(now)

    def cannot_connect(self, now: float) -> bool:
        """Return whether no lane of any application can connect."""
        return self.failures.nobody_there and self._is_silent(now)

    def _is_silent(self, now: float) -> bool:
        """Return whether no request has succeeded for as long as the rule allows."""
        return now - self.passed_at >= RULE.silence

    def fails_since_before(self, time: float) -> bool:
        """Return whether all attempts failed, and since before that time."""
        return self.failures.since < time

    def fails_alone(self, passed_at: float, row: int) -> bool:
        """Return whether all attempts, `row` or more, failed since before others passed."""
        return self.failures.count >= row and self.fails_since_before(passed_at)

    # --- Refusals and holds ---------------------------------------------------------------------

    def add_refusal(self, lane: int) -> None:
        """Count a refusal of a lane, until an attempt passes."""
        self.is_new_refusal = lane not in self.refused
        self.refused |= {lane}

    @property
    def refuses_all(self) -> bool:
        """Whether enough lanes are refused to conclude that the origin refuses all."""
        return len(self.refused) >= SEVERAL

    def refuses(self, lane: int) -> bool:
        """Return whether a lane was refused along with enough others to blame the origin."""
        return self.refuses_all and lane in self.refused

    def forget_refusal(self, lane: int) -> None:
        """Count a lane as not refused any more: a delivery of it passed."""
        self.refused_alone -= {lane}

    def drop_refusals(self) -> None:
        """Let refusals no longer concern all lanes: there are other failures."""
        self.refused = _NO_LANES

    def gate_opened(self) -> None:
        """Count no lane as an exception any more: the gate opened."""
        self.refused_alone = _NO_LANES

    def hold(self, who: int | str, until: float, now: float) -> float | None:
        """Remember which lane or application has to wait.

        Return until when all have to wait: None unless several were asked to.
        """
        held = {**self._held, who: until}
        self._held = {name: until for name, until in held.items() if until > now} or EMPTY_DICT
        return min(self._held.values()) if len(self._held) >= SEVERAL else None
