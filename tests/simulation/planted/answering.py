"""Bugs in the handling of an endpoint's answers, and in how often workers look."""

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from tarry.core import probe
from tarry.core.outcome import Kind
from tarry.service.explain import Explanation
from tarry.service.model.delivery import LIVE, Reason
from tarry.service.model.settings import Limits
from tarry.service.wire.exchange import Answer
from tests.simulation.planted.bug import Bug


class DeafToRetryAfter(Bug):
    """An endpoint that asks for a pause gets one."""

    story = "nobody reads Retry-After"

    def heard(self, answer: Answer) -> Answer | None:
        """Forget the headers."""
        return replace(answer, headers=())


class TimeoutIsSuccess(Bug):
    """No answer is no success."""

    story = "a request that timed out counts as taken"

    def heard(self, answer: Answer) -> Answer | None:
        """Make a success of a timeout."""
        return (
            replace(answer, failure=None, status=200) if answer.failure is Kind.TIMEOUT else answer
        )


class LostAnswer(Bug):
    """Every request ends."""

    story = "one answer in fifteen is never told to the worker"

    def __init__(self) -> None:
        super().__init__()
        self._answers = 0

    def heard(self, answer: Answer) -> Answer | None:
        """Lose one answer in fifteen."""
        self._answers += 1
        return answer if self._answers % 15 else None


class ProbeStorm(Bug):
    """An endpoint that is down is probed more and more rarely."""

    story = "an endpoint that is down is tried five times a second"

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Make the pauses between probes short."""
        before = probe.interval
        probe.interval = lambda *_args, **_kwargs: 0.2
        try:
            yield
        finally:
            probe.interval = before


class Restless(Bug):
    """An idle service calls the store only as often as its settings say."""

    story = "a worker looks ten times as often as it was told to"

    def limits(self, limits: Limits) -> Limits:
        """Look more often."""
        return replace(limits, look=limits.look / 10)


class LyingExplanation(Bug):
    """`explain` is true."""

    story = "whatever waits is said to wait for an endpoint that is down"

    def explained(self, told: Explanation) -> Explanation:
        """Blame the endpoint."""
        return replace(told, reason=Reason.LANE_OPEN) if told.state in LIVE else told
