"""Steps of dispatchers: two workers lease, fetch and settle, even with leases that they lost."""

from collections.abc import Sequence

from hypothesis import strategies as st
from msgspec.structs import replace

from tarry.service.model.application import SHARDS, shard_of
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.delivery import Reason
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Change, Due, Known, Lease, Notice, Stream, Want
from tarry.service.model.replay import ReplayFilter
from tarry.service.model.task import Task, Work
from tarry.service.store.kinds import Lanes
from tarry.testing.samples import an_attempt, delivered, failed, postponed, put_back
from tarry.testing.store_machine.people import PeopleSteps, offsets, picks, replays, works
from tarry.testing.store_machine.sides import Lane, Side
from tarry.testing.store_machine.state import HIGH_LIMIT, WORKERS
from tarry.testing.store_machine.step import step

LEASE_LENGTH = 10_000.0
"""Seconds that a lease lasts: many, since the real store's clock runs as well."""
PLENTY_OF_BYTES = 1_000_000_000

workers = st.sampled_from([WORKERS[0], *WORKERS])
few = st.lists(picks, min_size=1, max_size=5)
streams = st.sampled_from([Stream.READY, *Stream])
limits = st.integers(1, 5)
Ending = tuple[str, float]
endings = st.tuples(
    st.sampled_from(["delivered", "failed", "postponed", "put back", "unsent"]), offsets
)


class DeliverSteps(PeopleSteps):
    """What owners of shards do, and what they still try after they have lost them."""

    @step(worker=workers)
    def lease(self, worker: str) -> None:
        """Lease all free shards."""
        leases = self.ask(lambda side: _lease_all(side, worker))
        self.leases[worker].update({lease.shard: lease for lease in leases or ()})

    @step(worker=workers, length=st.sampled_from([LEASE_LENGTH, LEASE_LENGTH / 2]))
    def renew(self, worker: str, length: float) -> None:
        """Renew all leases that the worker believes it has."""
        leases = list(self.leases[worker].values())
        self.ask(lambda side: _renew(side, worker, leases, length))

    @step(worker=workers, all_shards=st.booleans())
    def release(self, worker: str, *, all_shards: bool) -> None:
        """Release the applications' shards, or only the first; the worker keeps using them."""
        shards = [application.shard for application in self.applications]
        held = self.leases[worker]
        leases = [held[shard] for shard in shards if shard in held]
        released = leases if all_shards else leases[:1]
        self.ask(lambda side: side.store.release(released))

    @step(
        seconds=st.sampled_from([LEASE_LENGTH * 0.4, LEASE_LENGTH * 0.7, LEASE_LENGTH * 1.2]),
        heir=workers,
    )
    def let_lease_time_pass(self, seconds: float, heir: str) -> None:
        """Let some or all leases expire; then one of the workers takes them."""
        self.lease_time += seconds
        self.opened.run(self.opened.later(seconds))
        self.lease(heir)

    @step(worker=workers)
    def read_woken_lanes(self, worker: str) -> None:
        """Read the woken lanes of a worker's shards."""
        leases = list(self.leases[worker].values())
        self.ask(lambda side: _awake_and_woken(side, leases))

    @step(which=few, stream=streams, limit=limits, at=offsets)
    def fetch(self, which: list[int], stream: Stream, limit: int, at: float) -> None:
        """Fetch deliveries of some lanes; they may be settled much later."""
        self._fetch(self._wants(which, stream, limit), at)

    @step(often=6, worker=workers, which=few, stream=streams, limit=limits, ending=endings)
    def send(
        self, worker: str, which: list[int], stream: Stream, limit: int, ending: Ending
    ) -> None:
        """Fetch and settle at once, as a dispatcher normally does."""
        self._send(worker, self._wants(which, stream, limit), ending)

    @step(which=picks, after=st.integers(0, 5), span=st.none() | st.integers(0, 5), since=offsets)
    def fetch_behind(self, which: int, after: int, span: int | None, since: float) -> None:
        """Fetch all streams of one lane, starting somewhere in the middle."""
        before = None if span is None else after + span
        wants = [
            Want(
                lane=endpoint.lane,
                stream=stream,
                limit=5,
                after=after,
                before=before,
                due_after=self.now - since,
            )
            for endpoint in [self.pick_one(self.endpoints, which)]
            for stream in Stream
        ]
        self._fetch(wants, 0.0)

    @step(
        often=3,
        worker=workers,
        which=few,
        ending=endings,
        tries=st.sampled_from([0, 0, 0, 1, -1]),
        epochs=st.sampled_from([0, 0, 0, 1]),
    )
    def settle_later(
        self, worker: str, which: list[int], ending: Ending, tries: int, epochs: int
    ) -> None:
        """Settle deliveries fetched at any time, sometimes with wrong tries or an old epoch."""
        due = {
            (delivery.lane, delivery.seq, delivery.resend): delivery
            for delivery in self.pick_some(self.due, which)
        }
        settlements = [self._settlement(delivery, ending, tries) for delivery in due.values()]
        self._settle(worker, settlements, epochs)

    @step(worker=workers, which=few, standing=st.none() | st.sampled_from(Standing), failures=picks)
    def change_lanes(
        self, worker: str, which: list[int], standing: Standing | None, failures: int
    ) -> None:
        """Save what lanes have learned, and perhaps a new standing of their endpoints."""
        if standing is Standing.DELETED:
            standing = Standing.PARKED
        learned = Known(pace=b"\x00", origin="https://a.example", failures=failures)
        changes = [
            Change(
                lane=endpoint.lane,
                epoch=self._epoch(worker, endpoint.lane),
                at=self.now,
                known=learned if failures else None,
                standing=standing,
                by=self.act() if standing else None,
                notices=(self._notice(endpoint),) if standing else (),
            )
            for endpoint in self.pick_some(self.endpoints, which)
        ]
        leases = list(self.leases[worker].values())
        self.ask(lambda side: side.store.settle([], side.to_store(changes), leases))

    @step(often=2, worker=workers, which=few, emptied=st.booleans(), short=st.booleans())
    def rest(self, worker: str, which: list[int], *, emptied: bool, short: bool) -> None:
        """Put lanes to rest if possible; with `short`, the owner has missed the last delivery."""
        for stream in Stream if emptied else ():
            self._send(worker, self._wants(which, stream, HIGH_LIMIT), ("delivered", 0.0))
        endpoints = self.pick_some(self.endpoints, which)
        leases = list(self.leases[worker].values())
        self.ask(lambda side: _put_to_rest(side, endpoints, leases, short=short))

    @step(worker=workers, which=few, short=st.booleans())
    def doze(self, worker: str, which: list[int], *, short: bool) -> None:
        """Ask for a wake-up at the next delivery of these lanes, though others may be live."""
        endpoints = self.pick_some(self.endpoints, which)
        leases = list(self.leases[worker].values())
        self.ask(lambda side: _doze(side, endpoints, leases, short=short))

    @step(worker=workers, which=picks, age=offsets, limit=st.integers(1, 3))
    def expire(self, worker: str, which: int, age: float, limit: int) -> None:
        """End deliveries that are too old."""
        endpoint = self.pick_one(self.endpoints, which)
        lease = self._lease(worker, endpoint.application)
        if lease is not None:
            self.ask(
                lambda side: side.store.expire(
                    side.to_store(Lane(endpoint.lane)),
                    accepted_before=self.now - age,
                    now=self.now,
                    limit=limit,
                    lease=lease,
                )
            )

    @step(
        often=2,
        worker=workers,
        which=picks,
        work=works,
        limit=st.integers(1, 4),
        replay_filter=replays,
    )
    def do_all_of_a_new_task(
        self,
        worker: str,
        which: int,
        work: Work,
        limit: int,
        replay_filter: ReplayFilter | None = None,
    ) -> None:
        """Add a task and run it to its end, if the worker may."""
        self.add_a_task(which, work, since=LEASE_LENGTH, until=None, replay_filter=replay_filter)
        self.do_a_task(worker, limit, forget=False)

    @step(worker=workers, limit=st.integers(1, 4), forget=st.booleans())
    def do_a_task(self, worker: str, limit: int, *, forget: bool) -> None:
        """Run the worker's oldest task to its end; with `forget`, always from its first state."""
        shards = list(self.leases[worker])
        task = self.ask(lambda side: side.store.next_task(shards))
        if task is not None:
            lease = self.leases[worker][shard_of(task.application)]
            self.ask(
                lambda side: self._finish_task(side, task, limit=limit, lease=lease, forget=forget)
            )

    def _wants(self, which: list[int], stream: Stream, limit: int) -> list[Want]:
        """Return requests for deliveries of these endpoints' lanes."""
        endpoints = self.pick_some(self.endpoints, which)
        return [Want(lane=endpoint.lane, stream=stream, limit=limit) for endpoint in endpoints]

    def _fetch(self, wants: Sequence[Want], at: float) -> list[Due]:
        """Read deliveries from both stores, as a dispatcher does, and remember them."""
        now = self.now + at
        fetched = self.ask(
            lambda side: side.store.fetch(side.to_store(wants), now=now, most_bytes=PLENTY_OF_BYTES)
        )
        due = fetched.due if fetched else []
        self.due += due
        return due

    def _send(self, worker: str, wants: Sequence[Want], ending: Ending) -> None:
        """Fetch deliveries, let their attempts end in this way, and settle them."""
        due = self._fetch(wants, 5.0)
        self._settle(worker, [self._settlement(delivery, ending, 0) for delivery in due])

    def _settle(
        self, worker: str, settlements: Sequence[Settlement | Resent], epochs: int = 0
    ) -> None:
        """Settle as a worker, with the lease's epoch minus `epochs`."""
        sent = [
            replace(settlement, epoch=self._epoch(worker, settlement.lane) - epochs)
            for settlement in settlements
        ]
        leases = list(self.leases[worker].values())
        self.ask(lambda side: side.store.settle(side.to_store(sent), [], leases))

    async def _finish_task(
        self, side: Side, task: Task, *, limit: int, lease: Lease, forget: bool
    ) -> Task:
        """Do a task in pieces until it is finished, or `advance` changes nothing more."""
        first = last = side.to_store(task)
        for _ in range(HIGH_LIMIT):
            handed = first if forget else last
            after = await side.store.advance(handed, now=self.now, limit=limit, lease=lease)
            assert after.done - last.done <= limit  # noqa: S101  it is a test
            if after.finished_at is not None or after == last:
                return after
            last = after
        raise AssertionError(f"the task does not finish: {last}")

    def _settlement(self, due: Due, ending: Ending, tries: int) -> Settlement | Resent:
        """Return how this attempt ends, as the dispatcher writes it."""
        outcome, wait = ending
        attempt = an_attempt(due, id=self.id("atmpt_"), at=self.now)
        if due.resend:
            taken = replace(attempt, status=204, kind=None)
            return Resent(due.lane, due.resend, taken if outcome == "delivered" else attempt, 0)
        number = due.tries + tries
        match outcome:
            case "delivered":
                return delivered(due, tries=number, attempt=attempt, ended_at=self.now)
            case "failed":
                return failed(due, tries=number, attempt=attempt, ended_at=self.now)
            case "postponed":
                return postponed(due, self.now + wait, tries=number, attempt=attempt)
            case "put back":
                return put_back(due, tries=number, attempt=attempt)
            case _:
                return failed(
                    due, tries=number, attempt=None, reason=Reason.REFUSED, ended_at=self.now
                )

    def _notice(self, endpoint: Endpoint) -> Notice:
        """Return a new notice about an endpoint."""
        return Notice(
            id=self.id("notice_"),
            application=endpoint.application,
            endpoint=endpoint.id,
            kind="endpoint.failing",
            facts={"failures": 3, "since": None},
            at=self.now,
        )

    def _epoch(self, worker: str, lane: int) -> int:
        """Return the epoch of the worker's lease for a lane; 0 if it never had one."""
        (application,) = {
            endpoint.application for endpoint in self.endpoints if endpoint.lane == lane
        }
        lease = self._lease(worker, application)
        return 0 if lease is None else lease.epoch

    def _lease(self, worker: str, application: str) -> Lease | None:
        """Return a worker's lease of the shard that an application is in; None if it has none."""
        return self.leases[worker].get(shard_of(application))


async def _lease_all(side: Side, worker: str) -> list[Lease]:
    """Lease all free shards for a worker."""
    leases = await side.store.lease(worker, most=SHARDS, length=LEASE_LENGTH)
    return sorted(leases, key=lambda lease: lease.shard)


async def _renew(
    side: Side, worker: str, leases: Sequence[Lease], length: float
) -> list[tuple[int, int]]:
    """Renew leases; return the shard and epoch of those that are still held."""
    renewed = await side.store.renew(worker, leases, length=length)
    return sorted((lease.shard, lease.epoch) for lease in renewed)


async def _awake_and_woken(side: Side, leases: Sequence[Lease]) -> list[list[Lane]]:
    """Return the lanes that are not at rest, and those that were woken."""
    shards = [lease.shard for lease in leases]
    answers = [await side.store.awake(shards), await side.store.woken(leases)]
    return [sorted(map(Lane, lanes)) for lanes in answers]


async def _put_to_rest(
    side: Side, endpoints: Sequence[Endpoint], leases: Sequence[Lease], *, short: bool
) -> list[Lane]:
    """Put the lanes of endpoints to rest; return those that are at rest then.

    With `short`, the owner does not know of the last delivery of each lane.
    """
    lanes = await _added(side, endpoints, short=short)
    return sorted(map(Lane, await side.store.rest(lanes, leases)))


async def _doze(
    side: Side, endpoints: Sequence[Endpoint], leases: Sequence[Lease], *, short: bool
) -> list[Lane]:
    """Let the lanes of endpoints doze; return those that doze then."""
    lanes = await _added(side, endpoints, short=short)
    return sorted(map(Lane, await side.store.rest(lanes, leases, doze=True)))


async def _added(side: Side, endpoints: Sequence[Endpoint], *, short: bool) -> dict[int, int]:
    """Return how many deliveries were added to each lane; with `short`, one less."""
    rows = [
        await side.store.get(Lanes(endpoint.application), endpoint.id) for endpoint in endpoints
    ]
    return {row.lane: row.added - short for row in rows}
