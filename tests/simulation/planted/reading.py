"""Bugs in reading: rows, settings, and knowledge about endpoints."""

from typing import Any

from msgspec.structs import replace

from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Due, Fetched, LaneRow, Stream
from tests.simulation.planted.bug import Bug, Commit


class FifoGap(Bug):
    """The first of an ordered lane goes first."""

    story = "a worker does not see the first delivery of an ordered lane"

    def fetch(self, commit: Commit, *args: Any, **kwargs: Any) -> Fetched:  # noqa: ANN401  passed on
        """Leave out the first row of each ordered lane that has more."""
        fetched: Fetched = commit(*args, **kwargs)
        first: dict[int, Due] = {}
        last: dict[int, Due] = {}
        for row in fetched.due:
            if row.stream is Stream.READY and self.data.lanes[row.lane].endpoint.fifo:
                first.setdefault(row.lane, row)
                last[row.lane] = row
        gaps = [row for lane, row in first.items() if last[lane] is not row]
        return replace(fetched, due=[row for row in fetched.due if row not in gaps])


class EarlyBird(Bug):
    """A delivery is not sent before its due time."""

    story = "deliveries are handed out ten seconds before they are due"

    def fetch(self, commit: Commit, *args: Any, now: float, **kwargs: Any) -> object:  # noqa: ANN401  passed on
        """Ask for a later time."""
        return commit(*args, now=now + 10, **kwargs)


class _OtherSettings(Bug):
    """Gives a worker endpoints with other settings than their owners set."""

    def lanes(self, commit: Commit, *args: Any) -> list[LaneRow]:  # noqa: ANN401  passed on
        """Change the endpoints of the rows."""
        return [replace(row, endpoint=self._instead(row.endpoint)) for row in commit(*args)]

    def _instead(self, endpoint: Endpoint) -> Endpoint:
        raise NotImplementedError


class PauseIgnored(_OtherSettings):
    """Nothing goes to an endpoint that was stopped."""

    story = "a worker does not see that an endpoint is paused"

    def _instead(self, endpoint: Endpoint) -> Endpoint:
        paused = endpoint.standing is Standing.PAUSED
        return replace(endpoint, standing=Standing.ENABLED) if paused else endpoint


class OldAddress(_OtherSettings):
    """A new address also applies to waiting deliveries."""

    story = "a worker goes by the address that an endpoint had first"

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[str, str] = {}

    def _instead(self, endpoint: Endpoint) -> Endpoint:
        return replace(endpoint, url=self._first.setdefault(endpoint.id, endpoint.url))


class RateForgotten(_OtherSettings):
    """An endpoint gets no more requests in a second than its owner allows."""

    story = "a worker does not see the rate of an endpoint"

    def _instead(self, endpoint: Endpoint) -> Endpoint:
        return replace(endpoint, rate=None)


class TenantRateForgotten(Bug):
    """All endpoints of an application together get no more than the application's rate."""

    story = "a worker does not see the rate that the endpoints of an application share"

    def lanes(self, commit: Commit, *args: Any) -> list[LaneRow]:  # noqa: ANN401  passed on
        """Change the applications of the rows."""
        return [
            replace(row, application=replace(row.application, rate=None)) for row in commit(*args)
        ]


class ConcurrencyForgotten(_OtherSettings):
    """An endpoint gets no more requests at a time than its owner allows."""

    story = "a worker does not see how many requests an endpoint takes at a time"

    def _instead(self, endpoint: Endpoint) -> Endpoint:
        return replace(endpoint, concurrency=None)


class OrderForgotten(_OtherSettings):
    """An ordered endpoint gets one request at a time."""

    story = "a worker does not see that an endpoint is ordered"

    def _instead(self, endpoint: Endpoint) -> Endpoint:
        return replace(endpoint, fifo=False)
