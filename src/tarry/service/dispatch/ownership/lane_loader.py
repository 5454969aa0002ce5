"""Loads lanes that have something to do, applies changes to lanes in memory, and reads their rows.

- `LaneLoader` has the steps of two loops: load lanes, and read rows for them.
- `read_rows_once` reads rows for lanes that run low, with one query to the store for many lanes.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence

from tarry.core.policy import Policy
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.lane import answers, phases, sending
from tarry.service.dispatch.lane.attempt import LaneConfig, WrittenPolicy, config
from tarry.service.dispatch.lane.lane import Driver, Lane
from tarry.service.dispatch.limits.shared import TenantRate
from tarry.service.dispatch.origins.origins import Origins
from tarry.service.dispatch.ownership.held_lease import HeldLease
from tarry.service.dispatch.ownership.shards import Shards
from tarry.service.dispatch.work import Work
from tarry.service.failpoints import hit
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Due, Fetched, LaneRow, Stream, Want
from tarry.service.store.contract import Queue, Store
from tarry.service.store.kinds import PolicyVersion
from tarry.service.wire.egress import Egress
from tarry.service.wire.seal import Seals

# --- Lanes --------------------------------------------------------------------------------------

LOADED_TOGETHER = 100
"""How many lanes are loaded in one step: few, so that the step blocks others only for 20 ms."""
KNOWN_VERSIONS = 10_000
"""How many policies are remembered as stored. When there are more, all are stored once again."""

DRIVER = Driver(
    pump=sending.pump,
    take_turn=sending.take_turn,
    answered=answers.take_answer,
    tick=phases.tick,
    share_gate=phases.share_gate,
    origin_changed=phases.origin_changed,
    open_alone=phases.open_alone,
    release=phases.release,
)
"""What lanes do. A lane does not import these files, since they import it."""


class LaneLoader:
    """Builds lanes from the store: with their config, origin and application's rate."""

    def __init__(  # noqa: PLR0913  everything that lanes are built from
        self,
        store: Store,
        context: Context,
        *,
        work: Work[Lane],
        shards: Shards,
        origins: Origins,
        seals: Seals,
        egress: Egress,
        policy: Policy,
    ) -> None:
        self._store, self._context, self._work, self._shards = store, context, work, shards
        self._seals, self._egress, self._policy = seals, egress, WrittenPolicy.of(policy)
        self.origins = origins
        self._tenant_rates: dict[str, TenantRate] = {}
        self._versions: set[str] = set()
        self._busy = asyncio.Lock()
        self._asking = False
        """Whether the store has been asked which lanes were woken, and has not answered. After an
        error it is asked again."""

    async def load_once(self) -> None:
        """Load lanes that were woken, and then some of those on the list.

        The list may be long, for instance after a takeover. Lanes that are woken go before it.
        """
        shards = self._shards.owned.values()
        leases = [held.lease for shard in shards if not (held := shard.held).is_leaving]
        if not leases:
            return
        # The store reports a woken lane only once. After an error, which may have lost that report,
        # all lanes are looked through: see `recovered` in `work.py`.
        self._asking = True
        woken = await self._store.woken(leases)
        self._asking = False
        await self.load(woken)
        await self.load(self._work.take_to_load(LOADED_TOGETHER))
        if self._work.to_load:
            self._work.load(())  # once more, soon

    async def read_rows_for_all(self) -> None:
        """Read rows for all lanes that run low."""
        while self._work.need_rows:
            await read_rows_once(self._store, self._context, self._work)
            await asyncio.sleep(0)

    @property
    def is_busy(self) -> bool:
        """Whether lanes are being loaded, or will be without any further event."""
        return self._asking or self._busy.locked() or bool(self._work.to_load)

    async def load(self, numbers: Sequence[int]) -> None:
        """Load these lanes now. Those that cannot be loaded are put on the list.

        Lanes of the list are taken off before they are read: a lane that changes meanwhile is put
        there once more.
        """
        async with self._busy:
            for start in range(0, len(numbers), LOADED_TOGETHER):
                some = numbers[start : start + LOADED_TOGETHER]
                try:
                    rows = await self._store.lanes(some)
                    self._drop_lost(some, rows)
                    await self._read_and_load(rows)
                except BaseException:
                    self._work.add_to_load(numbers[start:])
                    raise

    def _drop_lost(self, numbers: Iterable[int], rows: Iterable[LaneRow]) -> None:
        """Forget lanes whose endpoints a failover has lost.

        The store does not know their numbers, or has given them to other endpoints since.
        """
        endpoints = {row.lane: row.endpoint.id for row in rows}
        for number in numbers:
            lane = self._shards.lane(number)
            if lane is not None and lane.endpoint.id != endpoints.get(number):
                self._shards.forget(lane)

    async def _read_and_load(self, rows: Sequence[LaneRow]) -> None:
        """Read all that the lanes need, then load them without waiting in between."""
        owned = [row for row in rows if row.application.shard in self._shards.owned]
        configs = [await self._config(row) for row in owned]
        pairs = list(zip(owned, configs, strict=True))
        places = ((config.origin, row.application.id) for row, config in pairs)
        await self.origins.read(dict.fromkeys(places))
        for row, lane_config in pairs:
            self._load_one(row, lane_config)

    def _load_one(self, row: LaneRow, lane_config: LaneConfig) -> None:
        """Load a lane, or apply the changes to one that is in memory."""
        shard = self._shards.owned.get(row.application.shard)
        if shard is None:
            return
        lane = shard.lanes.get(row.lane)
        if lane is not None:
            self._apply_changes(lane, row, lane_config)
        elif shard.held.is_leaving:
            return
        else:
            lane = self._new_lane(row, lane_config, shard.held)
            self._shards.add(shard, lane)
        if lane.number == self._context.replayed_lane:
            phases.pace_replay(lane, self._context.now())
        lane.pump()

    def _new_lane(self, row: LaneRow, lane_config: LaneConfig, held: HeldLease) -> Lane:
        """Create a lane from its row, and add it to the lanes of its origin."""
        group = self.origins.group(lane_config.origin, row.application.id)
        lane = Lane(
            row,
            lane_config,
            context=self._context,
            work=self._work,
            held=held,
            group=group,
            tenant_rate=self._tenant_rate(row, held),
            driver=DRIVER,
        )
        lane.allowance.rate.assume_sent(held.since)
        group.join(lane)
        return lane

    def _apply_changes(self, lane: Lane, row: LaneRow, lane_config: LaneConfig) -> None:
        """Apply the changes of an endpoint to its lane, which is in memory."""
        now = self._context.now()
        was_enabled = lane.endpoint.standing is Standing.ENABLED
        probed = row.endpoint.probed_at not in {None, lane.endpoint.probed_at}
        if lane.config.origin != lane_config.origin:
            lane.move(self.origins.group(lane_config.origin, row.application.id))
        is_edited = lane.config != lane_config
        lane.change(row, lane_config, self._tenant_rate(row, lane.held))
        is_enabled = not was_enabled and lane.endpoint.standing is Standing.ENABLED
        if is_enabled:
            phases.pace_backlog(lane, now)
        if is_enabled or is_edited:  # its owner may have repaired it: find out now
            lane.gates.current.bring_probe_forward(now)
        if probed:
            phases.probe(lane, now)

    async def _config(self, row: LaneRow) -> LaneConfig:
        """Return a lane's configuration; store its policy's version if this worker has not yet."""
        lane_config = config(
            row,
            seals=self._seals,
            egress=self._egress,
            fallback=self._policy,
        )
        written = lane_config.written
        if written.version not in self._versions:
            if len(self._versions) >= KNOWN_VERSIONS:
                self._versions.clear()
            await self._store.put(PolicyVersion(written.version, written.document))
            self._versions.add(written.version)
        return lane_config

    def _tenant_rate(self, row: LaneRow, held: HeldLease) -> TenantRate:
        """Return the rate limit that an application's lanes share, with its current value."""
        rate = self._tenant_rates.get(row.application.id)
        if rate is None:
            rate = self._tenant_rates[row.application.id] = TenantRate(
                self._context.now, self._context.later
            )
        rate.limit(row.application.rate)
        rate.assume_sent(held.since)
        return rate

    def forget_tenants(self) -> None:
        """Forget the rates of applications without a lane in memory, unless used just now."""
        now = self._context.now()
        at_work = {lane.tenant for lane in self._shards.lanes()}
        for tenant in self._tenant_rates.keys() - at_work:
            if self._tenant_rates[tenant].idle(now):
                del self._tenant_rates[tenant]


# --- Rows ---------------------------------------------------------------------------------------

READ_TOGETHER = 64
"""For how many lanes rows are read together."""
MOST_BYTES = 2 * 1024 * 1024
LARGEST = 1024 * 1024 + 256
"""The size of the largest payload, sealed. If an answer had less room left than this, the store may
have more rows than it returned."""


async def read_rows_once(store: Queue, context: Context, work: Work[Lane]) -> None:
    """Read rows for the lanes that have waited longest, and let these lanes send."""
    lanes = work.take_lanes_that_need_rows(READ_TOGETHER)
    try:
        await _mark_those_back(store, lanes)
        wants = _wants(context, lanes)
        for lane in lanes:
            lane.backlog.buffer.remember_busy()
        rewinds = {lane: lane.backlog.buffer.rewinds for lane in lanes}
        left = max(0, context.limits.buffered_bytes - context.buffered.bytes)
        most = min(MOST_BYTES, left)
        now = context.now()
        fetched = await store.fetch(wants, now=now, most_bytes=most)
        hit("fetch.after")
    except BaseException:
        for lane in lanes:  # they were taken off the list, and would never get rows
            if not lane.has_left:
                work.request_rows(lane)
        raise
    for lane in lanes:
        lane.backlog.fetched(fetched.added.get(lane.number, 0))
    # A lane whose endpoint changed since it was loaded, or whose number a failover gave to another
    # one, gets no rows: it would send messages that were accepted after the change by the old
    # settings. It is loaded first, and then asks again.
    late = {lane.number for lane in lanes if lane.version < fetched.versions.get(lane.number, 0)}
    if late:
        work.load(late)
    current = [lane for lane in lanes if lane.number not in late]
    # A lane that was rewound meanwhile gets no rows, and asks again.
    steady = {
        lane.number: lane
        for lane in current
        if lane.backlog.buffer.rewinds == rewinds[lane] and not lane.has_left
    }
    _hand_out(steady, wants, fetched, cut=_payload_bytes(fetched) + LARGEST >= most)
    for lane in current:
        if lane.number == context.replayed_lane:
            phases.pace_replay(lane, context.now())
        lane.pump()


async def _mark_those_back(store: Queue, lanes: Sequence[Lane]) -> None:
    """Tell lanes that came back which of their deliveries are fresh."""
    back = [lane for lane in lanes if lane.backlog.marks_fresh]
    if back:
        added = {row.lane: row.added for row in await store.lanes([lane.number for lane in back])}
        for lane in back:
            lane.backlog.set_mark(added.get(lane.number))


def _wants(context: Context, lanes: Sequence[Lane]) -> list[Want]:
    """Return which rows the lanes need from the store; fewer if the memory for them is full."""
    now = context.now()
    full = context.is_full()
    wants: list[Want] = []
    for lane in lanes:
        buffer, gate = lane.backlog.buffer, lane.gates.current
        if not (full and buffer.at_hand(now)):
            wants += buffer.wants(1 if full else sending.room(lane, gate), now, gate.phase)
    return wants


def _hand_out(
    lanes: dict[int, Lane], wants: Sequence[Want], fetched: Fetched, *, cut: bool
) -> None:
    """Pass fetched rows to the buffers of the lanes that wanted them."""
    rows: dict[tuple[int, Stream], list[Due]] = defaultdict(list)
    for row in fetched.due:
        rows[row.lane, row.stream].append(row)
    for want in wants:
        if want.lane not in lanes:
            continue
        wanted = rows[want.lane, want.stream]
        if want.stream is Stream.READY:  # a lane may have asked for its backlog and its fresh rows
            first = want.after + 1
            wanted = [row for row in wanted if first <= row.seq < (want.before or row.seq + 1)]
        lanes[want.lane].backlog.buffer.take(want, wanted, cut=cut, fetched=fetched)


def _payload_bytes(fetched: Fetched) -> int:
    """Return the bytes of all fetched payloads, as they are stored."""
    return fetched.stored_bytes or sum(len(row.payload or b"") for row in fetched.due)
