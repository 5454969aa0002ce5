"""The faults of a history: of workers, connections, clocks, and the store itself."""

from collections.abc import Callable, Sequence

from tests.simulation.commits import Commits
from tests.simulation.log import Fault, Log, Lost
from tests.simulation.loop import SimulatedLoop
from tests.simulation.people import People
from tests.simulation.steps import (
    AnyStep,
    Conditions,
    Failover,
    Kill,
    Poison,
    StartWorker,
    StepClock,
    StopWorker,
    StoreTrouble,
    Suspend,
)
from tests.simulation.store_link import StoreLink, Trouble
from tests.simulation.workforce import Workforce

API = -1
"""The number of the API's connection, where others are those of workers."""
RECONNECTED_AFTER = 0.5
"""How long a store cannot be reached while its standby takes over."""

Snapshot = Callable[[], Callable[[], None] | None]
"""Takes a snapshot of a store; returns a function that restores it, None if nothing is lost."""


class Clock:
    """The store's clock: it is `ahead` seconds ahead of true time."""

    def __init__(self, now: Callable[[], float], ahead: float) -> None:
        self._now = now
        self.ahead = ahead

    def __call__(self) -> float:
        """Return what it shows."""
        return self._now() + self.ahead


class Faults:
    """Carries out the steps that are faults."""

    def __init__(  # noqa: PLR0913  all that can fail
        self,
        conditions: Conditions,
        *,
        loop: SimulatedLoop,
        log: Log,
        workforce: Workforce,
        clock: Clock,
        everybody: Trouble,
        api: Trouble,
        links: Sequence[StoreLink],
        commits: Commits,
        people: People,
        snapshot: Snapshot,
        restart: Callable[[], None],
    ) -> None:
        self._conditions, self._loop, self._log = conditions, loop, log
        self._workforce, self._clock, self._commits = workforce, clock, commits
        self._everybody, self._api, self._people = everybody, api, people
        self._links = links
        self._snapshot, self._restart = snapshot, restart
        self._taken_over_at = 0.0
        """When the last standby took over."""

    def prepare(self, step: AnyStep) -> None:
        """Have a step carried out at its time."""
        at = step.at - step.lost if isinstance(step, Failover) else step.at
        self._loop.later_in(self._loop.world, max(0.0, at), self._do, step)

    def _do(self, step: AnyStep) -> None:
        match step:
            case Kill():
                self._workforce.kill(step.worker)
            case Suspend():
                self._workforce.suspend(step.worker, step.seconds)
            case StopWorker():
                self._workforce.stop(step.worker)
            case StartWorker():
                self._workforce.start()
            case StoreTrouble():
                self._trouble(step)
            case StepClock():
                self._step_clock(step.seconds)
            case Failover():
                self._fail_over(step.lost)
            case Poison():
                self._poison(step)
            case _:
                raise AssertionError(f"{step} is no fault")

    def _trouble(self, step: StoreTrouble) -> None:
        now = self._loop.time()
        until, process = now + step.seconds, None
        trouble = self._everybody
        if step.worker == API:
            trouble, process = self._api, "api"
        elif step.worker is not None:
            worker = self._workforce.find(step.worker)
            if worker is None:
                return
            trouble, process = worker.trouble, worker.process.name
        match step.kind:
            case "away":
                trouble.refuse(until)
            case "stuck":
                trouble.hold_up(until)
            case "forgetful":
                trouble.lose_answers(until)
            case "cut":
                for link in self._links:
                    if process in {None, link.process}:
                        link.cut()
            case _:
                trouble.slow_down(until, step.slowness)
        over = until + step.slowness
        self._log.add(Fault(at=now, until=over, kind=step.kind, process=process))

    def _poison(self, step: Poison) -> None:
        message, now = self._people.message(step.message), self._loop.time()
        if message is not None:
            self._everybody.poison(message, now + step.seconds)
            self._log.add(Fault(at=now, until=now + step.seconds, kind="poison", message=message))

    def _step_clock(self, seconds: float) -> None:
        """Step the clock: leases end early, or late; workers notice it when they renew theirs."""
        now = self._loop.time()
        self._clock.ahead += seconds
        over = now + self._workforce.reclaimed_after + abs(seconds)
        self._log.add(Fault(at=now, until=over, kind="clock step", seconds=seconds))

    def _fail_over(self, lost: float) -> None:
        """Take a snapshot for the standby, and let it take over after `lost` seconds."""
        since, known = self._loop.time(), self._commits.known.snapshot()
        bring_back = self._snapshot() if lost else None

        def take_over() -> None:
            now = self._loop.time()
            self._everybody.refuse(now + RECONNECTED_AFTER)
            self._everybody.start_server(now)
            over = now + self._workforce.reclaimed_after
            self._log.add(Fault(at=now, until=over, kind="failover"))
            self._restart()
            is_older = self._taken_over_at > since  # a standby does not have what another one lost
            self._taken_over_at = now
            if bring_back is not None and not is_older:
                bring_back()
                self._commits.fall_back(known)
                self._log.add(Lost(now, since))

        self._loop.later_in(self._loop.world, lost, take_over)
