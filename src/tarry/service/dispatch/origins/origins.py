"""Holds the origins that this process sends to, at both levels, and their records in the store."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from tarry.core.pace import Pace
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.limits.gate import read_pace
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.dispatch.origins.record_exchange import RecordExchange
from tarry.service.dispatch.origins.shared_record import SharedRecord
from tarry.service.dispatch.work import Work
from tarry.service.model.application import shard_of
from tarry.service.model.origin import group_name
from tarry.service.store.contract import Store


class Origins:
    """Groups by origin and application, and the whole of each origin that needs one."""

    def __init__(self, store: Store, context: Context, work: Work[Any], worker: str) -> None:
        self._store, self._context, self._work = store, context, work
        self._exchange = RecordExchange(store, context, work, worker)
        self._tops: dict[str, Origin] = {}
        """By origin: its whole, or its only group."""
        # One function for all groups, instead of one for each.
        self._maker = lambda group: self._make_whole(group.place, Pace())

    def __iter__(self) -> Iterator[Origin]:
        """Yield all origins, at both levels."""
        for top in self._tops.values():
            yield top
            yield from top.groups.values()

    async def read(self, wanted: Iterable[tuple[str, str]]) -> None:
        """Read the records of these origins and applications that are not in memory."""
        new = [pair for pair in wanted if self._find(*pair) is None]
        places = dict.fromkeys(place for place, _ in new if not self._has_whole(place))
        names = [*places, *(group_name(*pair) for pair in new)]
        if not names:
            return
        texts = dict(zip(names, await self._store.origins(names), strict=True))
        now = self._context.now()
        for place, application in new:
            if (text := texts.get(place)) and not self._has_whole(place):
                self._read_whole(place, text)
            pace = read_pace(texts[group_name(place, application)], now=now)
            self.group(place, application, pace)

    def group(self, place: str, application: str, pace: Pace = Pace()) -> Origin:  # noqa: B008  a frozen value
        """Return the group of an application at an origin. A new one has this pace."""
        known = self._find(place, application)
        if known is not None:
            return known
        group = Origin(
            place, application, self._context, self._work, pace=pace, make_whole=self._maker
        )
        top = self._tops.get(place)
        if top is None:
            self._tops[place] = group
        else:
            whole = self._make_whole(place, Pace()) if top.application else top
            whole.adopt(group)
        return group

    def _read_whole(self, place: str, text: bytes) -> None:
        """Make the whole of an origin that has a record."""
        record = self._exchange.record()
        record.read(text)
        whole = self._make_whole(place, record.pace, record)
        record.scale_gate_to_share(whole.gate, 0)
        self._exchange.watch(whole)

    def _make_whole(self, place: str, pace: Pace, record: SharedRecord | None = None) -> Origin:
        """Make the whole of an origin, around its only group if that is in memory."""
        record = record or self._exchange.record()
        whole = Origin(
            place,
            "",
            self._context,
            self._work,
            pace=pace,
            make_whole=self._maker,
            record=record,
        )
        group = self._tops.get(place)
        self._tops[place] = whole
        if group is not None:
            whole.adopt(group)
        return whole

    async def share(self) -> None:
        """Save changed records, and read what other workers know of origins in trouble."""
        await self.save()
        await self._exchange.look()

    async def save(self) -> None:
        """Save the records of origins that changed."""
        await self._exchange.write(self)

    def write_again(self) -> None:
        """Have all records of origins in trouble written again: the store may have lost them."""
        for origin in self:
            if origin.shared or origin.gate.pace.held_until:
                origin.mark_changed()

    def forget(self) -> None:
        """Forget origins that have no lanes here, are healthy, and are saved as such."""
        self._forget(lambda origin: not origin.shared and not origin.is_changed)

    def drop(self, shards: Collection[int]) -> None:
        """Forget the groups of shards that another worker may own now: their gates go on there."""
        if shards:
            self._forget(
                lambda origin: bool(origin.application) and shard_of(origin.application) in shards
            )

    def _forget(self, may_go: Callable[[Origin], bool]) -> None:
        """Forget the origins without lanes here that may go."""
        for place, top in list(self._tops.items()):
            for group in list(top.groups.values()):
                if not group.lanes and may_go(group):
                    self._work.stop_ticking(group)
                    top.disown(group)
            if not top.lanes and not top.groups and may_go(top):
                self._work.stop_ticking(top)
                del self._tops[place]

    def _find(self, place: str, application: str) -> Origin | None:
        """Return the origin of an application's lanes to a place; None if there is none."""
        top = self._tops.get(place)
        if top is None or top.application == application:
            return top
        return top.groups.get(application)

    def _has_whole(self, place: str) -> bool:
        """Return whether the lanes of all applications to a place share one origin."""
        top = self._tops.get(place)
        return top is not None and not top.application
