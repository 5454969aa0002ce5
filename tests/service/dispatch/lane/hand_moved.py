"""Lanes at an origin whose requests a test sends and answers by hand, at the times that it says."""

from collections.abc import Callable
from itertools import count
from typing import Any

from tarry.core.pace import Pace
from tarry.core.policy import Policy
from tarry.service.dispatch.lane.attempt import PendingAttempt, WrittenPolicy, config
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.limits.gate import write_pace
from tarry.service.dispatch.limits.shared import TenantRate
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.dispatch.ownership.held_lease import HeldLease
from tarry.service.dispatch.ownership.lane_loader import DRIVER
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.endpoint import Endpoint, Secret
from tarry.service.model.ids import ENDPOINT
from tarry.service.model.lane import Due, Fetched, Known, LaneRow, Lease
from tarry.service.wire.egress import Egress
from tarry.service.wire.exchange import Answer, Request
from tarry.service.wire.seal import Place as SealPlace
from tarry.service.wire.seal import Seals, generate_key
from tarry.testing.samples import NOON, a_due, an_application, an_endpoint, new_id
from tarry.testing.virtual_service import SECRET
from tests.service.dispatch.origins.place import AT, WELL, Place

_SEALS = Seals.of(generate_key("test"))
_EGRESS = Egress.of()
_POLICY = WrittenPolicy.of(Policy())


class Outbox:
    """Keeps the requests that lanes send by themselves, and the functions that take the answers."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answer: list[Callable[[Answer], None]] = []

    def send(self, request: Request, done: Callable[[Answer], None]) -> None:
        self.requests.append(request)
        self.answer.append(done)

    async def close(self) -> None:
        """Do nothing."""


class LanePlace(Place):
    """One origin with real lanes."""

    def __init__(self) -> None:
        super().__init__()
        self.context.sender = self.outbox = Outbox()
        self._numbers = count(101)  # the other lanes of a place have smaller ones
        self._seqs = count(1)

    def lane(
        self,
        group: Origin,
        *,
        pace: Pace = WELL,
        waiting: int = 0,
        **values: Any,  # noqa: ANN401  the endpoint's
    ) -> Lane:
        """Let a new lane join a group, with this pace and so many deliveries in the store."""
        row = LaneRow(
            endpoint=self._endpoint(group.application, **values),
            application=an_application(id=group.application),
            known=Known(pace=write_pace(pace), origin=AT, accepted_at=NOON - 600),
            added=waiting,
        )
        lane = Lane(
            row,
            config(row, seals=_SEALS, egress=_EGRESS, fallback=_POLICY),
            context=self.context,
            work=self.work,
            held=HeldLease(Lease(0, 1, "here"), until=NOON + 1e6),
            group=group,
            tenant_rate=TenantRate(self.context.now, self.later),
            driver=DRIVER,
        )
        group.join(lane)
        return lane

    def _endpoint(self, application: str, **values: Any) -> Endpoint:  # noqa: ANN401  likewise
        endpoint = new_id(ENDPOINT)
        sealed = _SEALS.seal(SECRET, SealPlace(application, endpoint, "secret"))
        usual = {
            "id": endpoint,
            "lane": next(self._numbers),
            "url": f"{AT}/in",
            "secrets": (Secret(sealed),),
        }
        return an_endpoint(application, **{**usual, **values})

    def read(self, lane: Lane, *rows: Due) -> None:
        """Let a lane read all its streams: they have these rows, and end behind them."""
        buffer = lane.backlog.buffer
        buffer.remember_busy()
        for want in buffer.wants(64, self.now, lane.gates.phase):
            found = [row for row in rows if row.stream is want.stream]
            fetched = Fetched(found, {}, {lane.number: len(rows)}, {})
            buffer.take(want, found, cut=False, fetched=fetched)
        lane.backlog.fetched(0)

    def row(self, lane: Lane, **values: Any) -> Due:  # noqa: ANN401  likewise
        """Return a new delivery of a lane."""
        usual = {"lane": lane.number, "seq": next(self._seqs), "accepted_at": self.now}
        return a_due(**{**usual, **values})

    def send(self, lane: Lane, **values: Any) -> PendingAttempt:  # noqa: ANN401  the delivery's
        """Send a delivery of a lane through the gate that it uses now."""
        due = self.row(lane, **values)
        gate = lane.gates.current
        assert self.context.unwritten.take(lane)
        self.context.slots.take_anyway(lane)  # all sends of a test are in one turn
        if not due.resend:
            lane.backlog.buffer.mark_busy(due)
        epoch = gate.sent(self.now, 1)
        lane.allowance.sent(self.now)
        origin, url = lane.gates.group.gate_level, lane.endpoint.url
        return PendingAttempt(lane, due, gate, origin, epoch, self.now, lane.config, url)

    def fail(self, lane: Lane, answer: Answer, times: int = 1) -> None:
        """Send deliveries of a lane one after the other, each answered like this at once."""
        for _ in range(times):
            self.send(lane).done(answer)

    def outcomes(self) -> list[Settlement | Resent]:
        """Return the outcomes that were handed in since the last call."""
        return [made for _, _, made in self.work.take_finished(1000)]
