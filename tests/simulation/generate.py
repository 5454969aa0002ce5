"""Draws a history from a seed: small, so that many can be run."""

import json
from random import Random

from msgspec import Struct

from tests.simulation.endpoints import Behaviour
from tests.simulation.faults import API
from tests.simulation.steps import (
    AddApplication,
    AddEndpoint,
    AnyStep,
    Behave,
    Cancel,
    Conditions,
    Delete,
    Failover,
    History,
    Kill,
    Limit,
    Move,
    Poison,
    Probe,
    Replay,
    Resend,
    Send,
    Stand,
    StartWorker,
    StepClock,
    StopWorker,
    StoreTrouble,
    Suspend,
)

POLICIES = tuple(
    json.dumps({"version": 1, **policy})
    for policy in (
        {"attempts": 20, "backoff": {"kind": "fixed", "delay": 1}, "attempt_timeout": 3},
        {
            "attempts": 6,
            "backoff": {"kind": "exponential", "base": 0.5, "cap": 8},
            "jitter": {"kind": "equal"},
            "attempt_timeout": 5,
        },
        {"attempts": 3, "backoff": {"kind": "fixed", "delay": 3}, "attempt_timeout": 2},
        {
            "attempts": 20,
            "within": 12,
            "backoff": {"kind": "fixed", "delay": 2},
            "attempt_timeout": 3,
        },
        {"attempts": 4, "backoff": {"kind": "fixed", "delay": 0.5}, "attempt_timeout": 2},
        {
            "attempts": 9,
            "backoff": {"kind": "schedule", "delays": [2, 5, 10, 20]},
            "jitter": {"kind": "percent", "percent": 0.2},
            "attempt_timeout": 4,
        },
    )
)
FEW_ATTEMPTS = POLICIES[4]
TYPES = ("a", "b")
REAL = "postgres"
"""The store whose histories run in real time: they are short, and all of them have faults."""
WATCHED = 5
"""In one history of this many, the watchdog looks every few seconds."""
READY_AT = 1.5
"""When applications and endpoints have been added."""


class Frame(Struct, frozen=True, kw_only=True):
    """The settings that the user of the simulation has fixed; None leaves one to the seed."""

    store: str = "memory"
    workers: int | None = None
    minutes: float | None = None


class Theme(Struct, frozen=True, kw_only=True):
    """The theme of a history. For each kind of step, one of the given numbers is drawn."""

    weight: int
    applications: tuple[int, ...] = (1, 1, 2, 3, 4)
    origins: tuple[int, ...] = (1, 1, 2, 3)
    sends: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    messages: tuple[int, ...] = (1, 2, 3, 5, 8, 12)
    behaviours: tuple[int, ...] = (0, 1, 1, 2, 3, 5)
    by_chance: bool = False
    """Whether endpoints only fail by chance, or by type of event."""
    people: tuple[int, ...] = (0,)
    faults: tuple[int, ...] = (0,)
    workers: tuple[int, ...] = (1, 1, 1, 2, 2, 3)
    latencies: tuple[float, ...] = (0.0005, 0.004, 0.015, 0.03)
    apart: tuple[float, ...] = (0.0, 0.02, 0.1, 0.5)
    at_once: bool = False
    """Whether all applications send at the same time."""
    failovers: bool = False
    """Whether every fault is a failover, and endpoints are slow."""
    ordered: bool = False
    """Whether all endpoints are ordered and slow, and workers come and go."""
    one_tenant_fails: bool = False
    """Whether all endpoints of the first application fail, and those of others do not."""
    one_type_fails: bool = False
    """Whether one type of event always fails, with a policy of few attempts."""


MIXED = Theme(weight=3, people=(0, 0, 1, 2, 4), faults=(0, 0, 1, 2, 3))
BUSY = Theme(
    weight=3,
    applications=(2, 3, 4),
    origins=(1,),
    sends=(3, 4, 5),
    messages=(8, 12, 16),
    behaviours=(1, 2),
    by_chance=True,
    workers=(1, 1, 2),
    latencies=(0.015, 0.03),
    apart=(0.02, 0.05, 0.1, 0.2),
    at_once=True,
)
PEOPLE = Theme(weight=2, people=(3, 5, 8))
FAULTS = Theme(weight=2, behaviours=(0, 1, 2), faults=(3, 4, 6), workers=(1, 2, 3))
FAILOVERS = Theme(
    weight=1,
    messages=(8, 12, 16),
    behaviours=(2,),
    faults=(1, 2),
    workers=(1, 2),
    apart=(0.1, 0.2, 0.4),
    failovers=True,
)
ORDERED = Theme(
    weight=1,
    behaviours=(2, 3),
    faults=(1, 2, 3),
    workers=(2, 3),
    ordered=True,
)
NEIGHBOURS = Theme(
    weight=2,
    applications=(2, 3),
    origins=(1,),
    sends=(3, 4, 5),
    messages=(1, 2, 3, 5),
    behaviours=(0,),
    one_tenant_fails=True,
)
BY_TYPE = Theme(
    weight=1,
    applications=(1, 2),
    sends=(3, 4, 5),
    messages=(4, 6, 8),
    behaviours=(2, 3),
    apart=(0.2, 0.5),
    faults=(0, 0, 1),
    one_type_fails=True,
)
THEMES = (MIXED, BUSY, PEOPLE, FAULTS, FAILOVERS, ORDERED, NEIGHBOURS, BY_TYPE)


_USUAL = Frame()


def generate(seed: int, frame: Frame = _USUAL) -> History:
    """Return the history of a seed."""
    return _Draft(seed, frame).history()


class _Draft:
    """A history in the making."""

    def __init__(self, seed: int, frame: Frame) -> None:
        self._chance = chance = Random(f"{seed} history")
        self._seed, self._frame = seed, frame
        (self._theme,) = chance.choices(THEMES, [theme.weight for theme in THEMES])
        longest = 12 if frame.store == REAL else 35
        length = chance.uniform(10, longest)
        self._length = length if frame.minutes is None else 60 * frame.minutes
        self._applications = chance.choice(self._theme.applications)
        self._origins = chance.choice(self._theme.origins)
        self._endpoints = max(self._applications, chance.randint(1, 5))
        if self._theme.one_tenant_fails:
            self._endpoints = 4 * self._applications
        self._messages = 0
        self._sent: list[Send] = []

    def history(self) -> History:
        choose, theme = self._chance.choice, self._theme
        conditions = self._conditions()
        steps: list[AnyStep] = [*self._things(), *self._sends()]
        steps += [self._behave() for _ in range(choose(theme.behaviours))]
        steps += self._failing_tenant() if theme.one_tenant_fails else []
        steps += [self._person() for _ in range(choose(theme.people))]
        faults = (1, 2, 3) if self._frame.store == REAL else theme.faults
        steps += [self._fault() for _ in range(choose(faults))]
        return History(conditions, tuple(sorted(steps, key=lambda step: step.at)))

    def _conditions(self) -> Conditions:
        chance = self._chance
        workers = self._frame.workers or chance.choice(self._theme.workers)
        if self._frame.store == "sqlite":
            workers = 1
        if self._frame.store == REAL:
            return Conditions(
                seed=self._seed,
                store=REAL,
                workers=workers,
                latency=0.0,
                look=2.0,
                lease=4.0,
                length=self._length,
                probed_at_end=True,
                watched_at_rest=False,
            )
        lost_nudges = chance.choice((0.0, 0.0, 0.0, 0.0, 0.3))
        drifting = chance.random() < 0.15
        return Conditions(
            seed=self._seed,
            store=self._frame.store,
            workers=workers,
            drifts=tuple(chance.uniform(-2e-4, 2e-4) for _ in range(4)) if drifting else (),
            api_skew=chance.uniform(-3, 3) if chance.random() < 0.15 else 0.0,
            latency=chance.choice(self._theme.latencies),
            lag=chance.choice((0.0, 0.0, 0.0, 0.001, 0.003)),
            any_order=chance.random() < 0.3,
            lost_nudges=lost_nudges,
            look=2.0 if lost_nudges else chance.choice((4.0, 10.0)),
            lease=chance.choice((6.0, 12.0)),
            keep_up=chance.choice((30.0, 60.0, 300.0)),
            watch=3600.0 if self._seed % WATCHED else 3.0,
            length=self._length,
            probed_at_end=chance.random() < 0.7,
            watched_at_rest=chance.random() < 0.35,
        )

    def _when(self) -> float:
        return self._chance.uniform(READY_AT, self._length - 1)

    def _soon_after_a_send(self) -> float:
        sent = self._chance.choice(self._sent)
        return min(sent.at + self._chance.uniform(0, 3), self._length - 1)

    # --- Applications and their messages --------------------------------------------------------

    def _things(self) -> list[AnyStep]:
        chance = self._chance
        rated = chance.random() < 0.1
        steps: list[AnyStep] = [
            AddApplication(at=0, application=number, rate=5.0 if rated else None)
            for number in range(self._applications)
        ]
        return steps + [self._endpoint(number) for number in range(self._endpoints)]

    def _endpoint(self, number: int) -> AddEndpoint:
        chance = self._chance
        late = number >= self._applications and chance.random() < 0.2
        return AddEndpoint(
            at=self._when() if late else 0.8,
            application=number % self._applications,
            endpoint=number,
            origin=chance.randrange(self._origins),
            fifo=self._theme.ordered or chance.random() < 0.2,
            rate=chance.choice((2.0, 5.0, 20.0)) if chance.random() < 0.15 else None,
            concurrency=chance.choice((1, 2, 4)) if chance.random() < 0.15 else None,
            policy=self._policy(),
            event_types=("a",) if chance.random() < 0.1 else None,
        )

    def _policy(self) -> str | None:
        if self._theme.one_type_fails:
            return FEW_ATTEMPTS
        if self._theme.ordered or self._chance.random() < 0.1:
            return None
        return self._chance.choice(POLICIES)

    def _sends(self) -> list[AnyStep]:
        self._sent = [self._send() for _ in range(self._chance.choice(self._theme.sends))]
        return list(self._sent)

    def _send(self) -> Send:
        chance = self._chance
        first, count = self._messages, chance.choice(self._theme.messages)
        self._messages += count
        together = self._theme.at_once
        return Send(
            at=READY_AT if together else chance.choice((READY_AT, self._when())),
            application=chance.randrange(self._applications),
            message=first,
            count=count,
            apart=chance.choice(self._theme.apart),
            event_type=chance.choice(TYPES),
            deliver_in=chance.uniform(0.5, 15) if chance.random() < 0.1 else None,
            keyed=chance.random() < 0.3,
        )

    # --- Endpoints ------------------------------------------------------------------------------

    def _behave(self) -> Behave:
        chance = self._chance
        at = READY_AT if self._theme.one_type_fails else chance.choice((READY_AT, self._when()))
        if chance.random() < 0.4:
            return Behave(
                at=at, origin=chance.randrange(self._origins), behaviour=self._behaviour()
            )
        return Behave(
            at=at, endpoint=chance.randrange(self._endpoints), behaviour=self._behaviour()
        )

    def _failing_tenant(self) -> list[AnyStep]:
        """Let all endpoints of the first application fail in the same way."""
        choose = self._chance.choice
        at, status = choose((READY_AT, self._when() / 2)), choose((404, 429, 429, 500, 503))
        behaviour = Behaviour(failing=1.0, status=status, retry_after=choose((None, 8.0)))
        return [
            Behave(at=at, endpoint=number, behaviour=behaviour)
            for number in range(0, self._endpoints, self._applications)
        ]

    def _behaviour(self) -> Behaviour:
        chance = self._chance
        latency = chance.choice((0.005, 0.02, 0.1, 0.5))
        retry_after = chance.choice((None, 1.0, 3.0, 8.0))
        kinds = (
            Behaviour(latency=latency),
            Behaviour(failing=chance.choice((0.1, 0.3, 0.5)), latency=latency),
            Behaviour(failing=chance.choice((0.1, 0.3, 0.5)), latency=latency, status=None),
            Behaviour(failing=1.0, latency=latency),
            Behaviour(failing=1.0, latency=latency, status=None),
            Behaviour(failing=1.0, latency=latency, status=404),
            Behaviour(failing=0.2, latency=latency, status=400),
            Behaviour(failing=0.1, latency=latency, status=410),
            Behaviour(failing=chance.choice((0.3, 1.0)), status=429, retry_after=retry_after),
            Behaviour(failing=chance.choice((0.3, 1.0)), status=503, retry_after=retry_after),
            Behaviour(failing_type=chance.choice(TYPES), latency=latency),
            Behaviour(latency=latency, hangs=True),
            Behaviour(latency=chance.uniform(0.5, 3)),
            Behaviour(latency=latency, capacity=chance.randint(1, 8)),
        )
        if self._theme.failovers:
            return Behaviour(latency=chance.uniform(0.3, 2))
        if self._theme.ordered:
            return Behaviour(latency=chance.uniform(1, 12))
        if self._theme.one_type_fails:
            return kinds[10]
        if self._theme.by_chance:
            return chance.choice((kinds[1], kinds[2], kinds[10], kinds[13]))
        return chance.choice(kinds)

    # --- People ---------------------------------------------------------------------------------

    def _person(self) -> AnyStep:
        chance = self._chance
        at = chance.choice((self._when(), self._soon_after_a_send()))
        endpoint, message = chance.randrange(self._endpoints), chance.randrange(self._messages)
        standing = chance.choice(("paused", "paused", "enabled", "disabled"))
        kinds: tuple[AnyStep, ...] = (
            Stand(at=at, endpoint=endpoint, standing=standing),
            Stand(at=at, endpoint=endpoint, standing="enabled"),
            Move(at=at, endpoint=endpoint, origin=chance.randrange(self._origins + 1)),
            Limit(
                at=at,
                endpoint=endpoint,
                rate=chance.choice((None, 3.0, 10.0)),
                concurrency=chance.choice((None, None, 1, 3)),
                policy=self._policy(),
            ),
            Delete(at=at, endpoint=endpoint),
            Probe(at=at, endpoint=endpoint),
            Probe(at=at, endpoint=endpoint),
            Resend(at=at, endpoint=endpoint, message=message),
            Resend(at=at, endpoint=endpoint, message=message),
            self._cancel(),
            Replay(at=at, endpoint=endpoint, what=chance.choice(("recover", "missing", "all"))),
        )
        return chance.choice(kinds)

    def _cancel(self) -> Cancel:
        """Cancel a message soon after it was sent: most are delivered within moments."""
        sent = self._chance.choice(self._sent)
        at = min(sent.at + self._chance.uniform(0, 3), self._length - 1)
        return Cancel(at=at, message=sent.message + self._chance.randrange(sent.count))

    # --- Faults ---------------------------------------------------------------------------------

    def _poison(self) -> Poison:
        """Poison a message right after it was sent."""
        sent = self._chance.choice(self._sent)
        at = min(sent.at + self._chance.uniform(0, 0.2), self._length - 1)
        seconds = self._chance.choice((1.0, 5.0, 15.0))
        return Poison(at=at, message=sent.message, seconds=seconds)

    def _real_fault(self, at: float, worker: int) -> AnyStep:
        """Return a fault that a real server can have, without a standby or another clock."""
        seconds = self._chance.choice((0.2, 1.0, 3.0))
        kinds: tuple[AnyStep, ...] = (
            Kill(at=at, worker=worker),
            StopWorker(at=at, worker=worker),
            StartWorker(at=at),
            Suspend(at=at, worker=worker, seconds=3 * seconds),
            StoreTrouble(at=at, kind="cut", seconds=0.2, worker=worker),
            StoreTrouble(at=at, kind="away", seconds=seconds, worker=worker),
            StoreTrouble(at=at, kind="stuck", seconds=seconds, worker=worker),
            StoreTrouble(at=at, kind="forgetful", seconds=seconds / 4, worker=worker),
            Failover(at=at, lost=0.0),
        )
        return self._chance.choice(kinds)

    def _fault(self) -> AnyStep:
        chance, at = self._chance, self._when()
        if self._frame.store == REAL:
            return self._real_fault(at, chance.randrange(3))
        if self._theme.failovers:
            lost = chance.choice((0.5, 1.0, 2.0))
            begun = chance.choice(self._sent).at + lost + chance.uniform(0, 1)
            return Failover(at=min(begun, self._length - 1), lost=lost)
        if self._theme.ordered:
            return chance.choice(
                (
                    Kill(at=at, worker=chance.randrange(3)),
                    Suspend(at=at, worker=chance.randrange(3), seconds=15.0),
                    StartWorker(at=at),
                )
            )
        worker = chance.randrange(3)
        whose = chance.choice((None, worker, worker, API))
        seconds = chance.choice((0.2, 1.0, 3.0, 8.0, 15.0))
        kinds: tuple[AnyStep, ...] = (
            Kill(at=at, worker=worker),
            StopWorker(at=at, worker=worker),
            StartWorker(at=at),
            Suspend(at=at, worker=worker, seconds=seconds),
            StoreTrouble(at=at, kind="away", seconds=seconds, worker=whose),
            StoreTrouble(at=at, kind="stuck", seconds=seconds, worker=whose),
            StoreTrouble(at=at, kind="forgetful", seconds=seconds / 4, worker=whose),
            StoreTrouble(at=at, kind="slow", seconds=seconds, worker=whose, slowness=1.0),
            StoreTrouble(at=at, kind="cut", seconds=0.2, worker=whose),
            StepClock(at=at, seconds=chance.choice((-5.0, -1.0, 1.0, 5.0, 20.0))),
            Failover(at=at, lost=chance.choice((0.0, 0.1, 1.0))),
            self._poison(),
        )
        return chance.choice(kinds)
