"""The lanes a dispatcher has taken up, and what they share: outfits, origins, tenants' rates."""

import asyncio
from collections.abc import Sequence
from itertools import islice

from tarry.core.policy import Policy
from tarry.service.dispatch.context import Context, OwnedShard
from tarry.service.dispatch.lane.config import LaneConfig, config
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.limits.tenant_rate import TenantRate
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.dispatch.origins.origins import Origins
from tarry.service.dispatch.ownership.shards import Shards
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import LaneRow
from tarry.service.store.contract import Store
from tarry.service.wire.egress import Egress
from tarry.service.wire.seal import Seals

TAKEN_UP_AT_ONCE = 100
"""So few that nobody waits long for it: it takes some 20 ms."""
VERSIONS_IN_MIND = 10_000
"""Policies known to be on record; when there are more, they are put there once again."""


class LaneLoader:
    """Takes up lanes that have something to do, and changes of those that are at work."""

    def __init__(  # noqa: PLR0913  what lanes are fitted out from
        self,
        store: Store,
        context: Context,
        shards: Shards,
        *,
        seals: Seals,
        egress: Egress,
        policy: Policy,
    ) -> None:
        self._store, self._context, self._shards = store, context, shards
        self._seals, self._egress, self._policy = seals, egress, policy
        self.origins = Origins(store, context)
        self.woken: dict[int, None] = {}
        """Lanes that are to be taken up still."""
        self._tenant_rates: dict[str, TenantRate] = {}
        self._versions: set[str] = set()
        self._busy = asyncio.Lock()

    async def take_up(self, numbers: Sequence[int]) -> None:
        """Take up lanes; those that could not be now are remembered: nobody tells of them again."""
        self.woken.update(dict.fromkeys(numbers))
        async with self._busy:
            while self.woken:
                some = list(islice(self.woken, TAKEN_UP_AT_ONCE))
                for number in some:  # before it is read: it may be told of once more meanwhile
                    del self.woken[number]
                try:
                    await self._take_up_some(await self._store.lanes(some))
                except BaseException:
                    self.woken.update(dict.fromkeys(some))
                    raise

    async def _take_up_some(self, rows: Sequence[LaneRow]) -> None:
        """Find all that is needed, then take them up at a stroke."""
        owned = [row for row in rows if row.application.shard in self._shards.held]
        environments = dict.fromkeys(row.application.environment for row in owned)
        policies = {name: await self._store.environment_policy(name) for name in environments}
        fitted = [
            (row, await self._config(row, policies[row.application.environment])) for row in owned
        ]
        places = ((found.origin, row.application.id) for row, found in fitted)
        await self.origins.read(dict.fromkeys(places))
        for row, found in fitted:
            self._take_up_one(row, found)

    def _take_up_one(self, row: LaneRow, fitted: LaneConfig) -> None:
        held = self._shards.held.get(row.application.shard)
        if held is None:
            return
        lane = held.lanes.get(row.lane)
        if lane is None and held.leaving:
            return
        group = self.origins.group(fitted.origin, row.application.id)
        if lane is None:
            rate = self._tenant_rate(row, held)
            lane = Lane(
                row, fitted, context=self._context, held=held, group=group, tenant_rate=rate
            )
            lane.rate.doubt(held.since)
            held.lanes[row.lane] = lane
            group.join(lane)
        else:
            self._change(lane, row, fitted, group)
            lane.tenant_rate = self._tenant_rate(row, held)
        lane.pump()

    def _change(self, lane: Lane, row: LaneRow, fitted: LaneConfig, group: Origin) -> None:
        """Take up what was changed in a lane that is at work."""
        enabled = lane.endpoint.standing is not Standing.ENABLED
        probed = row.endpoint.probed_at not in (None, lane.endpoint.probed_at)
        if lane.config.origin != fitted.origin:
            lane.change_group(group)
        lane.dress(row.endpoint, fitted)
        lane.added, lane.ended, lane.version = row.added, row.ended, row.version
        lane.dozing = False
        lane.buffer.changed()
        if enabled and row.endpoint.standing is Standing.ENABLED:
            lane.replay(self._context.now())
        if probed:
            lane.probe(self._context.now())

    async def _config(self, row: LaneRow, environment: str | None) -> LaneConfig:
        fitted = config(
            row,
            seals=self._seals,
            egress=self._egress,
            fallback=self._policy,
            environment=environment,
        )
        if fitted.version not in self._versions:
            if len(self._versions) >= VERSIONS_IN_MIND:
                self._versions.clear()
            await self._store.put_policy(fitted.version, fitted.document)
            self._versions.add(fitted.version)
        return fitted

    def _tenant_rate(self, row: LaneRow, held: OwnedShard) -> TenantRate:
        rate = self._tenant_rates.get(row.application.id)
        if rate is None:
            rate = self._tenant_rates[row.application.id] = TenantRate(
                self._context.now, self._context.later
            )
        rate.limit(row.application.rate)
        rate.doubt(held.since)
        return rate

    def forget_tenants(self) -> None:
        """Forget the rates of those that have no lane at work, unless they were just used."""
        now = self._context.now()
        held = self._shards.held.values()
        at_work = {lane.tenant for shard in held for lane in shard.lanes.values()}
        for tenant in self._tenant_rates.keys() - at_work:
            if self._tenant_rates[tenant].idle(now):
                del self._tenant_rates[tenant]
