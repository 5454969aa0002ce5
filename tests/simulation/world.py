"""Runs one history: puts the service together from its real parts, and carries out the steps."""

import time
from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import cast

from tarry.service.build import make_hooks
from tarry.service.dispatch.origins.record_exchange import RECORD_INTERVAL
from tarry.service.hooks import DEFAULT
from tarry.service.model.task import Task
from tarry.service.settings import Settings
from tarry.service.store.kinds import AllDeliveriesOf, AllTasksOf, Environment
from tarry.testing.postgres import Cluster
from tests.simulation.commits import Commits
from tests.simulation.endpoints import Endpoints
from tests.simulation.faults import Clock, Faults
from tests.simulation.log import Crashed, Ending, Log, Rested
from tests.simulation.look import Look
from tests.simulation.loop import Process, SimulatedLoop
from tests.simulation.memory import MemoryBase
from tests.simulation.people import People, host
from tests.simulation.planted.bug import Bug
from tests.simulation.postgres import PostgresBase, PostgresLink, by_time
from tests.simulation.real_time import RealTimeLoop
from tests.simulation.sqlite import SqliteBase
from tests.simulation.steps import (
    AddApplication,
    AddEndpoint,
    AnyStep,
    Behave,
    Cancel,
    Delete,
    History,
    Limit,
    Move,
    Probe,
    Replay,
    Resend,
    Send,
    Stand,
)
from tests.simulation.store_link import StoreLink, Travel, Trouble, at_once
from tests.simulation.workforce import Workforce

NOON = 1_800_000_000.0
"""What the store's clock shows when a history begins."""
SEALING_KEYS = "simulation:" + "A" * 43 + "="
LONGEST_DRAIN = 200.0
"""Within how many seconds after the last fault all deliverable messages must be delivered."""
LAST_ANSWERS = 3.0
"""Seconds after the last settlement, and after all faults, in which something could be sent again.
"""
REST = 12.0
"""For how many seconds a service with nothing to do is watched."""


BASES: Mapping[str, type[MemoryBase | SqliteBase]] = {
    "memory": MemoryBase,
    "sqlite": SqliteBase,
}


class World:
    """The service, the stores, the workers and everything else that a history needs."""

    def __init__(
        self, history: History, bug: Bug | None = None, cluster: Cluster | None = None
    ) -> None:
        self.history, self._conditions = history, history.conditions
        self._bug = bug or Bug()
        conditions = self._conditions
        self.log = log = Log()
        self.loop = loop = self._loop(cluster)
        ahead = NOON if cluster is None else time.time() - loop.time()
        self.clock = clock = Clock(loop.time, ahead)
        self._base = BASES[conditions.store](clock) if cluster is None else PostgresBase(cluster)
        self.store = self._base.store
        if isinstance(self._base, MemoryBase):
            self._bug.data = self._base.data
        self.endpoints = Endpoints(loop, log, conditions.seed, self._bug)
        self.commits = Commits(
            log,
            self.store,
            names=self.endpoints.names,
            now=loop.time,
            clock_ahead=lambda: clock.ahead,
        )
        self._everybody, self._api_trouble = Trouble(), Trouble()
        self._api = Process("api")
        self.links: list[StoreLink] = []
        settings = Settings(db="memory:", sealing_keys=SEALING_KEYS)
        self.hooks = make_hooks(
            settings,
            self._connect(self._api, self._api_trouble).store,
            now=lambda: clock() + conditions.api_skew,
            chance=self._chance("ids").randbytes,
        )
        self.observer = self.hooks.within(DEFAULT, now=clock)
        """The same, without delays and faults, and with the store's own clock."""
        self.observer.store = self.store
        self._people = People(
            self.hooks,
            clock=lambda: clock() + conditions.api_skew,
            loop=loop,
            log=log,
            endpoints=self.endpoints,
        )
        self._workforce = Workforce(
            conditions,
            loop=loop,
            log=log,
            endpoints=self.endpoints,
            hooks=self.hooks,
            connect=self._connect,
            bug=self._bug,
            base=self._base,
        )
        self._faults = Faults(
            conditions,
            loop=loop,
            log=log,
            workforce=self._workforce,
            clock=clock,
            everybody=self._everybody,
            api=self._api_trouble,
            links=self.links,
            commits=self.commits,
            people=self._people,
            snapshot=self._base.snapshot,
            restart=self._base.restart,
        )
        self._look = Look(
            self.observer,
            clock=clock,
            loop=loop,
            log=log,
            endpoints=self.endpoints,
            commits=self.commits,
            bug=self._bug,
            refused=self._everybody.poisoned,
            late_nudges=conditions.look if conditions.lost_nudges or cluster else 0.0,
        )

    def _loop(self, cluster: Cluster | None) -> SimulatedLoop:
        if cluster is not None:
            return cast("SimulatedLoop", RealTimeLoop(self._crashed))  # it has the same methods
        return SimulatedLoop(
            self._chance("order"),
            any_order=self._conditions.any_order,
            lag=self._conditions.lag,
            on_crash=self._crashed,
        )

    def _chance(self, purpose: str) -> Random:
        return Random(f"{self._conditions.seed} {purpose}")

    def _connect(self, process: Process, trouble: Trouble) -> StoreLink:
        chance = self._chance(f"connection of {process.name}")
        kind, store = StoreLink, self.store
        if isinstance(self._base, PostgresBase):
            kind, store = PostgresLink, self._base.connect(process)
        link = kind(
            store,
            process,
            self.loop,
            travel=Travel(self._conditions.latency, chance),
            troubles=(self._everybody, trouble),
            chance=chance,
            observe=self.commits.made,
            bug=self._bug,
            lost_nudges=self._conditions.lost_nudges,
        )
        if isinstance(link, PostgresLink) and isinstance(self._base, PostgresBase):
            link.base = self._base
        self.links.append(link)
        return link

    def _crashed(self, process: Process, error: BaseException) -> None:
        self.log.add(Crashed(self.loop.time(), process.name, repr(error)))

    # --- From start to end ----------------------------------------------------------------------

    def run(self) -> Ending:
        """Carry out the history, and return the content of the store at its end."""
        try:
            with self._bug.planted(), self._base.at_work():
                self._run()
                ending = self._ending()
                self._workforce.report_stalls()
                self._workforce.end()
        finally:
            if isinstance(self.loop, RealTimeLoop):
                self.loop.shut_down(*(link.close() for link in self._real_links))
            self._base.close()
        if isinstance(self._base, PostgresBase):
            if self._base.deadlocks:
                text = f"the server has counted {self._base.deadlocks} deadlocks"
                self.log.add(Crashed(ending.at, "server", text))
            longest = max(link.longest for link in self._real_links)
            self.log.entries = by_time(self.log.entries, ending.deliveries, longest=longest)
        return ending

    @property
    def _real_links(self) -> list[PostgresLink]:
        return [link for link in self.links if isinstance(link, PostgresLink)]

    def _run(self) -> None:
        at_once(self.store.put(Environment(DEFAULT)))
        for _ in range(self._conditions.workers):
            self._workforce.start()
        began = self.loop.time()  # in real time, it has taken a while to get here
        for step in self.history.steps:
            self._prepare(step)
        self._look.start()
        self._run_to_end_of_steps(began)
        self._recover()
        self.loop.run_for(1.0)  # until a person requests probes
        end = self.loop.time() + LONGEST_DRAIN
        while self.loop.time() < end and not self._is_over():
            self.loop.run_for(1.0)
        if self._look.is_drained and self._conditions.watched_at_rest:
            self._watch_rest()

    def _run_to_end_of_steps(self, began: float) -> None:
        """Run for as long as the history says, or until all is done and nothing is left to send."""
        last = max((step.at for step in self.history.steps), default=0.0)
        self.loop.run_to(began + last)
        end = began + self._conditions.length
        while self.loop.time() < end and not self._is_over():
            self.loop.run_to(min(self.loop.time() + 1.0, end))

    def _is_over(self) -> bool:
        """Whether nothing will be sent soon, all tasks are done, and all faults are over."""
        if not self._look.is_quiet or self._people.pending:
            return False
        conditions = self._conditions
        # Before it is at rest a shard may change hands, and the last notices are sent.
        longest = max(conditions.lease, conditions.look)
        rests_after = longest if conditions.watched_at_rest else LAST_ANSWERS
        if self.loop.time() < self.log.over_at + rests_after:
            return False
        return all(task.finished_at is not None for task in self._tasks())

    def _prepare(self, step: AnyStep) -> None:
        match step:
            case Behave():
                self.loop.later_in(self.loop.world, step.at, self._behave, step)
            case (
                AddApplication()
                | AddEndpoint()
                | Send()
                | Stand()
                | Move()
                | Limit()
                | Delete()
                | Probe()
                | Resend()
                | Cancel()
                | Replay()
            ):
                self.loop.later_in(self._api, step.at, self._ask, step)
            case _:
                self._faults.prepare(step)

    def _behave(self, step: Behave) -> None:
        place = f"/{step.endpoint}" if step.origin is None else host(step.origin)
        self.endpoints.behaviours[place] = step.behaviour

    def _ask(self, step: AnyStep) -> None:
        self.loop.start(self._api, self._people.do(step))

    def _recover(self) -> None:
        """End every fault and make every endpoint healthy."""
        self.endpoints.behaviours.clear()
        self._everybody.end()
        self._api_trouble.end()
        self._workforce.recover()
        if self._conditions.probed_at_end:
            for number in self._people.endpoints:
                self._ask(Probe(at=self.loop.time(), endpoint=number))

    def _watch_rest(self) -> None:
        """Count the calls that reach the store while there is nothing to do."""
        before = self._calls()
        self.loop.run_for(REST)
        calls = {name: count for name, count in (self._calls() - before).items() if count}
        workers = len(self._workforce.at_work)
        most = {name: workers * count for name, count in self._idle_calls().items()}
        self.log.add(Rested(at=self.loop.time(), seconds=REST, calls=calls, most=most))

    def _calls(self) -> Counter[str]:
        return sum((link.calls for link in self.links), Counter())

    def _idle_calls(self) -> dict[str, float]:
        """Return how often an idle worker may call each method of the store at most."""
        conditions = self._conditions
        looks = REST / conditions.look + 2
        renewals = 3 * REST / conditions.lease + 2
        rounds = REST / conditions.keep_up + 2
        return {
            **dict.fromkeys(("woken", "collect", "read Notices"), looks),
            "next_task": 2 * looks,
            **dict.fromkeys(("renew", "lease"), renewals),
            # Its clock, its start and the number of workers, each at a renewal. Also beside each
            # look at a host in trouble: deliveries of paused endpoints wait there.
            "server": 3 * renewals + REST / RECORD_INTERVAL + 1,
            "sweep": rounds,
            "awake": rounds + REST / conditions.watch + 1,
        }

    def _ending(self) -> Ending:
        known = self.commits.known
        deliveries = {
            (message, endpoint.id): delivery
            for message in known.accepted
            for endpoint, delivery in at_once(self.store.read(AllDeliveriesOf(message)))
        }
        return Ending(at=self.loop.time(), deliveries=deliveries, tasks=self._tasks())

    def _tasks(self) -> list[Task]:
        return [
            task
            for application in self.commits.known.applications
            for task in at_once(self.store.read(AllTasksOf(application)))
        ]
