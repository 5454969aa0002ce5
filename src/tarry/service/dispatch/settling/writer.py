"""Writes settlements and changes of lanes to the store.

`Part` holds what is written in one commit. A part that the store refuses can be halved and
simplified. `SettlementWriter` writes the parts, and lets the lanes go on.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tarry.errors import StoreError, StoreUnavailable
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.lane.answers import take_settlement
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.settling.sleep import Sleep
from tarry.service.dispatch.work import Work
from tarry.service.failpoints import hit
from tarry.service.model.attempt import Attempt, Resent, Settlement
from tarry.service.model.lane import Change, Due, Lease
from tarry.service.store.contract import Store

log = logging.getLogger("tarry.service")

# --- What is written in one commit --------------------------------------------------------------

Finished = tuple[Lane, Due, Settlement | Resent]
"""An attempt that ended: its lane, its delivery, and the outcome to write."""
NOT_KEPT = "the response is not kept: the database refused it"
"""The detail of an attempt whose own texts could not be written."""


class Part(Struct, frozen=True):
    """Holds what is written in one commit: attempts that ended, and changes of lanes."""

    finished: tuple[Finished, ...]
    changes: tuple[tuple[Lane, Change], ...] = ()

    @property
    def settlements(self) -> list[Settlement | Resent]:
        """The outcomes of the attempts."""
        return [settlement for _, _, settlement in self.finished]

    @property
    def changed(self) -> list[Change]:
        """The changes, without their lanes."""
        return [change for _, change in self.changes]

    @property
    def leases(self) -> list[Lease]:
        """The leases that it is written under, each once: the store checks all of them."""
        helds = dict.fromkeys(lane.held for lane, _, _ in self.finished)
        helds |= dict.fromkeys(lane.held for lane, _ in self.changes)
        return list(dict.fromkeys(held.lease for held in helds))

    def halves(self) -> "tuple[Part, ...]":
        """Return two smaller parts; none if the part is a single settlement or change."""
        many = len(self.finished)
        middle = (many + len(self.changes)) // 2
        if not middle:
            return ()
        cut = max(0, middle - many)
        return (
            Part(self.finished[:middle], self.changes[:cut]),
            Part(self.finished[middle:], self.changes[cut:]),
        )

    def simpler_forms(self) -> "Iterator[Part]":
        """Yield simpler forms of a refused settlement or change, the most complete first."""
        for lane, due, settlement in self.finished:
            for form in _reduced_forms(settlement):
                yield Part(((lane, due, form),))
        for lane, change in self.changes:
            if change.notices:
                yield Part((), ((lane, replace(change, notices=())),))

    def __str__(self) -> str:
        """Name the deliveries and lanes of the part."""
        settled = [
            f"delivery {due.seq} of lane {due.lane} ({due.message})" for _, due, _ in self.finished
        ]
        changed = [f"change of lane {change.lane}" for _, change in self.changes]
        return ", ".join(settled + changed)


def _reduced_forms(settlement: Settlement | Resent) -> Iterator[Settlement | Resent]:
    """Yield the same outcome with less and less of the attempt."""
    if settlement.attempt is None:
        return
    yield replace(settlement, attempt=_bare(settlement.attempt))
    if isinstance(settlement, Settlement):
        yield replace(settlement, attempt=None)


def _bare(attempt: Attempt) -> Attempt:
    """Return an attempt without its texts: the receiver's, and those of tarry."""
    return replace(attempt, detail=NOT_KEPT, body=b"", decision="")


# --- Writing it ---------------------------------------------------------------------------------


MOST_AT_ONCE = 500
"""Outcomes in one commit. The changes of lanes that wait are written with them, however many."""
REFUSED_AGAIN_AFTER = 60.0
"""Seconds after which to retry a settlement that the store refused in every form."""


class SettlementWriter:
    """Writes many settlements in one commit, each under the lease that its attempt was sent under.

    Settlements that could not be written stay on the list. If the store is available but refuses a
    commit, the settlement at fault is found by halving. It is written in a simpler form, or alone
    later. The others do not wait for it, and its delivery is not sent again meanwhile.
    """

    def __init__(
        self,
        store: Store,
        context: Context,
        work: Work[Lane],
        sleep: Sleep,
    ) -> None:
        self._store, self._context, self._work, self._sleep = store, context, work, sleep
        self._busy = asyncio.Lock()

    async def settle_all(self) -> None:
        """Write everything on the lists."""
        work = self._work
        async with self._busy:
            while work.finished or work.changes or work.resting:
                await self._settle_once()
                if work.resting:  # also while settlements keep coming: these lanes wait for it
                    await self._sleep.sleep_once()

    async def _settle_once(self) -> None:
        """Write some settlements and all changes, and let their lanes go on."""
        batch, changes = self._work.take_finished(MOST_AT_ONCE), self._work.take_changes()
        if not batch and not changes:
            return
        hit("settle.start")
        await self._write(Part(tuple(batch), tuple(changes)))

    async def _write(self, part: Part) -> None:
        """Write a part and let its lanes go on; if it is refused, write its halves side by side.

        So the good ones among many wait only for a few commits. What is not written because the
        store is unavailable is put back.
        """
        try:
            written, halves = await self._write_or_halve(part)
        except BaseException:
            self._put_back([part])
            raise
        if written is not None:
            self._continue_lanes(*written)
        for error in await asyncio.gather(*map(self._write, halves), return_exceptions=True):
            if error is not None:
                raise error

    async def _write_or_halve(
        self, part: Part
    ) -> tuple[tuple[Part, list[bool]] | None, tuple[Part, ...]]:
        """Return a part as it was written, or its halves if it is refused.

        A part that cannot be halved is written in a simpler form, or put back after a while.
        """
        try:
            return (part, await self._settle(part)), ()
        except StoreUnavailable:
            raise
        except StoreError as error:
            if halves := part.halves():
                return None, halves
            return await self._settle_simpler(part, error), ()

    async def _settle_simpler(
        self, part: Part, error: StoreError
    ) -> tuple[Part, list[bool]] | None:
        """Write a refused part without its details; return None if the store refuses that too."""
        self._context.counters.count_unwritable()
        for simpler in part.simpler_forms():
            try:
                made = await self._settle(simpler)
            except StoreUnavailable:
                raise
            except StoreError:
                continue
            log.error("defect: %s was written without its details: %s", part, error)
            return simpler, made
        log.error("defect: %s cannot be written now: %s", part, error)
        for lane, _, _ in part.finished:
            lane.set_aside()
        self._context.later(REFUSED_AGAIN_AFTER, lambda: self._try_again(part))
        return None

    def _try_again(self, part: Part) -> None:
        """Put a refused part on the list again."""
        for lane, _, _ in part.finished:
            lane.count_handed_in_again()
        self._put_back([part])

    async def _settle(self, part: Part) -> list[bool]:
        """Write a part of the outcomes; return which of them the store accepted."""
        return await self._store.settle(part.settlements, part.changed, part.leases)

    def _continue_lanes(self, part: Part, made: Sequence[bool]) -> None:
        """Let lanes go on whose settlements were written."""
        self._work.wrote(len(part.finished))
        now, unwritten = self._context.now(), self._context.unwritten
        for (lane, due, settlement), done in zip(part.finished, made, strict=True):
            take_settlement(lane, due, settlement, done=done, now=now)
        hit("settle.told")
        for _ in part.finished:
            unwritten.serve()
        for lane in dict.fromkeys(lane for lane, _, _ in part.finished):
            lane.pump()
        stood = [change.lane for change in part.changed if change.standing is not None]
        if stood:  # the standing that was read meanwhile may be out of date
            self._work.load(stood)

    def _put_back(self, parts: Iterable[Part]) -> None:
        """Put unwritten parts on the list again, in front of later ones."""
        unwritten = list(parts)
        self._work.put_back_finished(entry for part in unwritten for entry in part.finished)
        for part in unwritten:
            for lane, change in part.changes:
                self._work.put_back_change(lane, change)
