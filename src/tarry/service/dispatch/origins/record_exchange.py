"""Writes the records of origins to the store, and reads what other workers wrote there."""

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tarry.core.pace import Phase
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.limits.gate import write_pace
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.dispatch.origins.shared_record import AHEAD, Fleet, SharedRecord
from tarry.service.dispatch.work import Work
from tarry.service.store.contract import Store

if TYPE_CHECKING:
    from tarry.service.dispatch.clock import Timer

RECORD_INTERVAL = 1.0
"""Seconds between two looks at the records of wholes that are in trouble. After a probe of another
worker has passed, this worker sends within `RECORD_INTERVAL` and `LOT` together: under two
seconds."""
IDLE_RECORD_INTERVAL = 60.0
"""The same while nothing waits here, or while the records name no other worker. A new worker writes
its name into the record, so that the next reservation of a probe is refused and shows it."""


class RecordExchange:
    """Keeps the gates of wholes in step with their records: see `shared_record`."""

    def __init__(self, store: Store, context: Context, work: Work[Any], worker: str) -> None:
        self._store, self._context, self._work = store, context, work
        self._fleet = Fleet(worker)
        self._in_trouble: dict[str, Origin] = {}
        """The wholes that were shared lately."""
        self._looked_at = context.now()
        self._timer: Timer | None = None
        """Runs while a whole is in trouble: a healthy service reads no records."""
        self._busy = asyncio.Lock()

    def record(self) -> SharedRecord:
        """Return an empty record."""
        return SharedRecord(self._fleet, self._context, self._work)

    def watch(self, whole: Origin) -> None:
        """Have the record of a whole read now and then while it is shared."""
        self._in_trouble[whole.name] = whole

    async def write(self, origins: Iterable[Origin]) -> None:
        """Write the records that changed, and reserve the probes that are due."""
        async with self._busy:
            changed = [origin for origin in origins if origin.is_changed or origin.wants_probe]
            for origin in changed:
                origin.mark_saved()  # now, since more may be learned while this is written
            mine = [origin for origin in changed if _is_to_write(origin)]
            if mine:
                await self._write(mine)

    async def look(self) -> None:
        """Read the records of wholes in trouble, unless that was done a moment ago."""
        async with self._busy:
            now = self._context.now()
            wholes = [whole for whole in self._in_trouble.values() if whole.shared]
            self._in_trouble = {whole.name: whole for whole in wholes}
            every = (
                RECORD_INTERVAL if any(map(_depends_on_others, wholes)) else IDLE_RECORD_INTERVAL
            )
            is_due = now - self._looked_at >= every / 2
            if wholes and (is_due or self._timer is None):
                self._set_timer(every)
            if wholes and is_due:
                self._looked_at = now
                await self._read_records(wholes)

    def _set_timer(self, seconds: float) -> None:
        """Set the timer for the next comparison with the store; it replaces an earlier one."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._context.later(seconds, self._look_again)

    def _look_again(self) -> None:
        """Have the records compared with the store again."""
        self._timer = None
        self._work.write_origins()

    async def _write(self, changed: list[Origin]) -> None:
        """Write the records of changed origins; take over a record that another worker wrote."""
        texts: dict[str, bytes] = {}
        expected: dict[str, bytes] = {}
        for origin in changed:
            record = origin.record
            if record is None:
                texts[origin.name] = write_pace(origin.gate.pace)
                continue
            texts[origin.name] = record.next_text(origin.gate, waiting=_waiting(origin))
            expected[origin.name] = record.text
        try:
            kept = await self._store.learn(texts, expected=expected)
        except BaseException:
            for origin in changed:
                origin.mark_changed()
            raise
        for origin in changed:
            if origin.record is not None:
                text = texts[origin.name]
                self._after_write(origin, origin.record, text, kept.get(origin.name, text))

    def _after_write(self, whole: Origin, record: SharedRecord, text: bytes, stored: bytes) -> None:
        """Follow the record that is stored now: `text` if it was written, else another worker's.

        If `text` was written, lanes that waited for that are served.
        """
        self.watch(whole)
        if stored != text:
            self._take_in(whole, record, stored)
            both_healthy = not whole.shared and record.pace.phase is Phase.CLOSED
            if whole.gate.phase is Phase.PACED or both_healthy:
                whole.mark_changed()
        elif record.written(text):
            whole.serve()

    async def _read_records(self, wholes: list[Origin]) -> None:
        """Read the records of these origins; take over those that another worker changed."""
        records = await self._store.origins([whole.name for whole in wholes])
        now = self._context.now()
        for whole, text in zip(wholes, records, strict=True):
            record = whole.record
            if record is None or not whole.shared:
                continue
            if text != record.text:
                self._take_in(whole, record, text)
            is_open = whole.gate.phase is Phase.OPEN
            hangs = (
                bool(whole.gate.in_flight) and record.pace.probe_at < now + AHEAD - RECORD_INTERVAL
            )
            if is_open and (hangs or record.is_outdated(_waiting(whole))):
                whole.mark_changed()
        if any(map(_has_others, wholes)):
            self._fleet.count((await self._store.server()).workers)

    def _take_in(self, whole: Origin, record: SharedRecord, text: bytes) -> None:
        """Follow a record that another worker wrote, as far as it is news to this gate."""
        before, mine = record.pace, whole.gate.phase
        record.read(text)
        theirs = record.pace.phase
        if mine is Phase.PACED and theirs is Phase.CLOSED:
            whole.mark_changed()  # the other worker has nothing left to send, but this one has
        if mine is not Phase.OPEN:
            return
        if theirs is Phase.OPEN:
            if record.may_still_reserve(whole.gate, before):
                self._work.write_origins()
            else:
                record.drop_wish()
                whole.follow_probe(record.pace)
        elif before.phase is Phase.OPEN and text:
            record.drop_wish()
            whole.passed_elsewhere(record.pace, self._context.now())
        else:
            whole.mark_changed()  # the gate opened at this worker since


def _has_others(whole: Origin) -> bool:
    """Return whether other workers have lanes of a whole, as far as its record says."""
    return whole.record is not None and whole.record.has_others


def _depends_on_others(whole: Origin) -> bool:
    """Return whether deliveries wait here for what other workers find out about a whole."""
    return _has_others(whole) and whole.waiting_here() > 0


def _is_to_write(origin: Origin) -> bool:
    """Return whether this worker may write the record of an origin.

    If the origin is healthy here, the record is left to a worker that found it down. If this worker
    has no lanes there any more, it does not write that the origin is down: only the workers that
    have the lanes now know that.
    """
    record = origin.record
    if record is None:
        return True
    if not origin.shared:
        return not record.is_of_another_outage
    return origin.gate.phase is Phase.PACED or origin.has_lanes or record.names_this_worker


def _waiting(whole: Origin) -> int | None:
    """Return how many deliveries wait at this worker; None if it has no lanes there."""
    return whole.waiting_here() if whole.has_lanes else None
