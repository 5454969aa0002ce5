"""Deliveries that the dispatcher can send, and their outcomes, in the memory store."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import assert_never

from msgspec.structs import replace

from tarry.service.model.attempt import Attempt, Resent, Settlement
from tarry.service.model.audit import changed
from tarry.service.model.delivery import ENDED, Delivery, Reason, State
from tarry.service.model.lane import Change, Due, Fetched, LaneRow, Lease, Stream, Want
from tarry.service.model.text import mend
from tarry.service.store.contract import NO_RECORDS, Seal
from tarry.service.store.memory.data import Data
from tarry.service.store.memory.lane import Lane


class MemoryQueue:
    """The part of `contract.Queue` that reads and changes deliveries."""

    _data: Data

    async def lanes(self, lanes: Sequence[int]) -> list[LaneRow]:
        """Return these lanes, without lanes that are gone."""
        stored = self._data.lanes
        return [self._data.row(stored[number]) for number in lanes if number in stored]

    async def fetch(self, wants: Sequence[Want], *, now: float, most_bytes: int) -> Fetched:
        """Return deliveries that these lanes can send next."""
        fetched = Fetched([], {}, {}, {})
        room = most_bytes
        for want in wants:
            lane = self._data.lanes.get(want.lane)
            if lane is None:
                continue
            fetched.added[want.lane] = lane.added
            fetched.versions[want.lane] = lane.version
            if want.stream is Stream.WAITING and (due_at := lane.next_due_at(now)) is not None:
                fetched.next_due_at[want.lane] = due_at
            for index, due in enumerate(islice(self._stream(lane, want, now), want.limit)):
                room -= len(due.payload or b"")
                if index and room <= 0:
                    break
                fetched.due.append(due)
        return fetched

    async def settle(
        self,
        settlements: Sequence[Settlement | Resent],
        changes: Sequence[Change],
        leases: Iterable[Lease],
    ) -> list[bool]:
        """Save the outcomes of deliveries, their attempts, and changes of lanes."""
        valid = [lease for lease in leases if self._data.holds(lease)]
        applied = [False] * len(settlements)
        indexes = range(len(settlements))
        for index in sorted(indexes, key=lambda index: isinstance(settlements[index], Resent)):
            applied[index] = self._settle(settlements[index], valid)
        for change in changes:
            lane = self._data.held(change.lane, valid, epoch=change.epoch)
            if lane is not None:
                self._change(lane, change)
        return applied

    async def expire(
        self, lane: int, *, accepted_before: float, now: float, limit: int, lease: Lease
    ) -> int:
        """End live deliveries that are too old; return their number."""
        stored = self._data.held(lane, [lease])
        if stored is None:
            return 0
        old_entries = takewhile(lambda entry: entry[0] < accepted_before, stored.aging)
        expired = [stored.deliveries[seq] for _, seq in islice(old_entries, limit)]
        for delivery in expired:
            stored.put(ended(delivery, State.FAILED, Reason.AGED, now))
        return len(expired)

    async def collect(self, *, now: float, limit: int, seal: Seal | None = None) -> int:  # noqa: ARG002  nothing to collect
        """Return 0: no other program can write into this store."""
        return 0

    async def origins(self, names: Sequence[str]) -> list[bytes]:
        """Return the record saved by `learn` for each of these origins."""
        return [self._data.origins.get(name, b"") for name in names]

    async def learn(
        self, origins: Mapping[str, bytes], *, expected: Mapping[str, bytes] = NO_RECORDS
    ) -> dict[str, bytes]:
        """Save what was learned about origins; return the records that were not replaced."""
        records = self._data.origins
        not_replaced = {
            name: records[name]
            for name in origins.keys() & records.keys()
            if expected.get(name, records[name]) != records[name]
        }
        records.update({**origins, **not_replaced})
        return not_replaced

    def _stream(self, lane: Lane, want: Want, now: float) -> Iterator[Due]:
        """Yield the deliveries of one stream of a lane, in the stream's order."""
        match want.stream:
            case Stream.READY:
                rows = lane.ready_between(want.after, want.before)
            case Stream.WAITING:
                rows = takewhile(
                    lambda delivery: (delivery.due_at or 0.0) <= now,
                    lane.waiting_behind(want.due_after, want.after),
                )
            case Stream.EARLY:
                rows = (
                    delivery
                    for delivery in lane.waiting_behind(want.due_after, want.after)
                    if delivery.reason is not Reason.SCHEDULED
                )
            case Stream.RESEND:
                return (self._resend(lane, resend) for resend in sorted(lane.resends))
            case _:
                assert_never(want.stream)
        return (self._due(delivery, want.stream) for delivery in rows)

    def _due(self, delivery: Delivery, stream: Stream) -> Due:
        """Return a delivery as the dispatcher gets it, with its message's payload."""
        message = self._data.messages[delivery.message]
        return Due(
            lane=delivery.lane,
            seq=delivery.seq,
            stream=stream,
            message=message.id,
            event_type=message.event_type,
            payload=message.payload,
            accepted_at=delivery.accepted_at,
            due_at=delivery.due_at,
            tries=delivery.tries,
            attempts=delivery.attempts,
            memory=delivery.memory,
            content_type=message.content_type,
            chain=message.chain,
            sealed_with=message.sealed_with,
        )

    def _resend(self, lane: Lane, resend: str) -> Due:
        """Return a requested resend as the dispatcher gets it, with its message's payload."""
        message = self._data.messages[lane.resends[resend]]
        return Due(
            lane=lane.number,
            seq=0,
            stream=Stream.RESEND,
            message=message.id,
            event_type=message.event_type,
            payload=message.payload,
            accepted_at=message.accepted_at,
            resend=resend,
            content_type=message.content_type,
            chain=message.chain,
            sealed_with=message.sealed_with,
        )

    def _settle(self, settlement: Settlement | Resent, leases: Sequence[Lease]) -> bool:
        """Save an outcome if its lease is held and it fits the delivery; return whether it does."""
        lane = self._data.held(settlement.lane, leases, epoch=settlement.epoch)
        if lane is None:
            return False
        if isinstance(settlement, Resent):
            if lane.resends.pop(settlement.resend, None) is None:
                return False
            self._apply_resend(lane, settlement)
        else:
            delivery = lane.deliveries.get(settlement.seq)
            if delivery is None or not settlement.concerns(delivery):
                return False
            if delivery.state in ENDED:
                if settlement.attempt is not None:  # it was in flight when the delivery ended
                    lane.put(replace(delivery, tries=delivery.tries + 1))
                    self._save_attempt(settlement.attempt)
                return False
            lane.put(_with_new_state(delivery, settlement))
        if settlement.attempt is not None:
            self._save_attempt(settlement.attempt)
        return True

    def _save_attempt(self, attempt: Attempt) -> None:
        if self._data.is_erased(attempt.sealed_with):
            attempt = attempt.bare()
        self._data.attempts[attempt.message].append(replace(attempt, detail=mend(attempt.detail)))

    def _apply_resend(self, lane: Lane, resent: Resent) -> None:
        """Update the delivery of a resent message, or add one if the lane has none."""
        for delivery_lane, delivery in self._data.deliveries(resent.attempt.message):
            if delivery_lane is lane:
                lane.put(resent.upon(delivery))
                return
        self._data.deliver(lane, resent.delivery(lane.added + 1))

    def _change(self, lane: Lane, change: Change) -> None:
        """Save what changed of a lane: its record, the endpoint's standing, and notices."""
        if change.known is not None:
            lane.known = change.known
        if change.standing is not None and not lane.deleted:
            lane.version += 1
            stored, lane.endpoint = lane.endpoint, lane.endpoint.stand(change.standing, change.at)
            self._data.write_entry(change.by, changed(lane.endpoint, stored))
        for notice in change.notices:
            self._data.notices[notice.id] = notice


def ended(delivery: Delivery, state: State, reason: Reason, now: float) -> Delivery:
    """Return a delivery that ended without another attempt."""
    return replace(delivery, state=state, reason=reason, due_at=None, ended_at=now)


def _with_new_state(delivery: Delivery, settlement: Settlement) -> Delivery:
    """Return the delivery with its new state."""
    return replace(
        delivery,
        state=settlement.state,
        reason=settlement.reason,
        attempts=settlement.attempts,
        tries=delivery.tries + (settlement.attempt is not None),
        due_at=settlement.due_at,
        memory=settlement.memory,
        ended_at=settlement.ended_at,
    )
