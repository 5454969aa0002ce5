"""The server at work: arrivals, services, timeouts and retries, in order of time.

Each kind of event has a queue of its own. Arrivals and timeouts are in order already, since every
attempt has the same timeout. So only the ends of services and the retries need a heap.
"""

import math
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import count

import numpy as np

from tarry.core.outcome import Failure, Kind
from tarry.core.value import Value
from tarry.sim.chance import BLOCK, Chance
from tarry.sim.server.layers import NOBODY, Call, Layer
from tarry.sim.server.queueing import Discipline, drops_of

Attempt = tuple[float, Call, int]
"""When the attempt reached the server, its call, and its number within the call."""

NEVER = Call(-1, math.inf)
"""The last entry of every heap, at the end of time, so that no heap is ever empty."""

PLAIN_FAILURE = Failure()
TIMED_OUT = Failure(Kind.TIMEOUT)


class ServerSettings(Value):
    """How a server works: `rate` is requests per second; `timeout` and `room` may be infinite."""

    rate: float
    workers: int
    service_time: float
    timeout: float
    room: float
    discipline: Discipline
    cancels: bool
    error_rate: float


class RunningServer:
    """A server, the layers before it, and everything in progress.

    Its counts are public: `events`, attempts `sent` and requests `answered` so far, the seconds
    that workers were `busy` and, of these, the `wasted` ones, and when each request `began`. `over`
    lists the numbers of the finished requests. For each of them there is when it `ended`, after how
    many `tries`, and whether it `succeeded`.
    """

    def __init__(self, settings: ServerSettings, layers: Sequence[Layer], chance: Chance) -> None:
        self.events = 0
        self.sent = 0
        self.answered = 0
        self.busy = 0.0
        self.wasted = 0.0
        self.began = array("d")
        self.over = array("q")
        self.ended = array("d")
        self.tries = array("q")
        self.succeeded = array("b")
        self.line: deque[Attempt] = deque()
        self.refusing = False
        self._settings = settings
        self._layers = layers
        self._last = len(layers) - 1
        self._speed = 1.0
        self._idle = settings.workers
        self._stood_from = 0.0  # since when the queue has not been empty
        self._drops = drops_of(settings.discipline, settings.timeout)
        self._take = self.line.pop if settings.discipline == "lifo" else self.line.popleft
        self._serial = count().__next__  # keeps the order of events at the same time
        never = math.inf
        self._ends: list[tuple[float, int, float, Attempt]] = [
            (never, 0, never, (never, NEVER, NOBODY))
        ]
        self._dues: list[tuple[float, int, Call]] = [(never, 0, NEVER)]
        self._timeouts: deque[Attempt] = deque()
        self._arrivals = _arrivals(chance.stream("arrivals"), settings.rate).__next__
        self._arrives_at = self._arrivals()
        self._work = _service_times(chance.stream("service"), settings.service_time).__next__
        self._luck = chance.draws("errors")

    def advance(self, until: float) -> None:
        """Process all events before this time."""
        ends, dues, timeouts, timeout = (
            self._ends,
            self._dues,
            self._timeouts,
            self._settings.timeout,
        )
        began, attempt, arrivals = self.began, self._attempt, self._arrivals
        arrives_at, events = self._arrives_at, 0
        while True:
            ends_at, due_at = ends[0][0], dues[0][0]
            out_at = timeouts[0][0] + timeout if timeouts else math.inf
            if arrives_at <= ends_at and arrives_at <= due_at and arrives_at <= out_at:
                if arrives_at >= until:
                    break
                call = Call(len(began), arrives_at)
                began.append(arrives_at)
                attempt(call, arrives_at)
                arrives_at = arrivals()
            elif ends_at <= due_at and ends_at <= out_at:
                if ends_at >= until:
                    break
                self._end(ends_at)
            elif due_at <= out_at:
                if due_at >= until:
                    break
                attempt(heappop(dues)[2], due_at)
            else:
                if out_at >= until:
                    break
                if not self._time_out(out_at):
                    continue
            events += 1
        self._arrives_at = arrives_at
        self.events += events

    def work_at(self, speed: float, now: float) -> None:
        """Set the workers' speed (1 is normal) from now on, also for work in progress."""
        stretch = self._speed / speed
        self._ends[:] = [
            (now + (ends_at - now) * stretch, serial, taken_up, made)
            for ends_at, serial, taken_up, made in self._ends
        ]
        heapify(self._ends)
        self._speed = speed

    def _attempt(self, call: Call, now: float) -> None:
        """Start the next attempt of a call: pass it down the layers; the last one sends it."""
        layers, last = self._layers, self._last
        while layers[call.layer].begin(call, now):
            if call.layer == last:
                self._send(call, now)
                return
            call = Call(call.number, now, call)
        self._give_up(call, now)

    def _send(self, call: Call, now: float) -> None:
        """Receive an attempt at the server."""
        self.sent += 1
        call.sent += 1
        if self.refusing or not (self._idle or len(self.line) < self._settings.room):
            self._fail(call, PLAIN_FAILURE, now)
            return
        call.waiting = call.attempts
        call.taken_up = None
        made = (now, call, call.attempts)
        if self._settings.timeout < math.inf:
            self._timeouts.append(made)
        if self._idle:
            self._start(made, now, self._work() / self._speed)
            return
        if not self.line:
            self._stood_from = now
        self.line.append(made)

    def _start(self, made: Attempt, now: float, takes: float) -> None:
        """Let a worker start on an attempt."""
        self._idle -= 1
        made[1].taken_up = now
        heappush(self._ends, (now + takes, self._serial(), now, made))

    def _end(self, now: float) -> None:
        """Finish the work on an attempt."""
        _, _, taken_up, (_, call, number) = heappop(self._ends)
        if call.waiting == number:
            self.busy += now - taken_up
            call.waiting = NOBODY
            rate = self._settings.error_rate
            if rate and self._luck() < rate:
                self._fail(call, PLAIN_FAILURE, now)
            else:
                self._succeed(call, now)
        elif self._settings.cancels:
            return  # the worker became free when the client left
        else:
            self.busy += now - taken_up
            self.wasted += now - taken_up
        self._idle += 1
        if self.line:
            self._take_up(now)

    def _take_up(self, now: float) -> None:
        """Let a worker start on the next attempt in the queue."""
        line, take, drops, cancels = self.line, self._take, self._drops, self._settings.cancels
        while line:
            made = take()
            came, call, number = made
            if cancels and call.waiting != number:
                continue
            takes = self._work() / self._speed
            if drops is None or not drops(now - came, takes, now - self._stood_from):
                self._start(made, now, takes)
                return
            if call.waiting == number:
                call.waiting = NOBODY
                self._fail(call, PLAIN_FAILURE, now)

    def _time_out(self, now: float) -> bool:
        """Let the oldest attempt time out; return False if it was answered before."""
        timeouts = self._timeouts
        _, call, number = timeouts.popleft()
        while timeouts and timeouts[0][1].waiting != timeouts[0][2]:
            timeouts.popleft()
        if call.waiting != number:
            return False
        call.waiting = NOBODY
        if self._settings.cancels and call.taken_up is not None:
            self.busy += now - call.taken_up
            self.wasted += now - call.taken_up
            self._idle += 1
            self._take_up(now)
        self._fail(call, TIMED_OUT, now)
        return True

    def _fail(self, call: Call, failure: Failure, now: float) -> None:
        """Let an attempt fail: schedule a retry, or let the call fail."""
        delay = self._layers[call.layer].after_failure(call, failure, now)
        if delay is None:
            self._give_up(call, now)
        else:
            heappush(self._dues, (now + delay, self._serial(), call))

    def _give_up(self, call: Call, now: float) -> None:
        """Let a call fail, and so the attempt of its caller."""
        caller = call.caller
        if caller is None:
            self._close(call, now, succeeded=False)
            return
        caller.sent += call.sent
        self._fail(caller, PLAIN_FAILURE, now)

    def _succeed(self, call: Call, now: float) -> None:
        """Let a call succeed, and with it all its callers."""
        self._layers[call.layer].after_success(call, now)
        while call.caller is not None:
            call.caller.sent += call.sent
            call = call.caller
            self._layers[call.layer].after_success(call, now)
        self.answered += 1
        self._close(call, now, succeeded=True)

    def _close(self, call: Call, now: float, *, succeeded: bool) -> None:
        self.over.append(call.number)
        self.ended.append(now)
        self.tries.append(call.sent)
        self.succeeded.append(succeeded)


def _arrivals(generator: np.random.Generator, rate: float) -> Iterator[float]:
    """Yield the times of a Poisson process."""
    now = 0.0
    while True:
        times = now + np.cumsum(generator.exponential(1 / rate, BLOCK))
        yield from times.tolist()
        now = float(times[-1])


def _service_times(generator: np.random.Generator, mean: float) -> Iterator[float]:
    """Yield how long each attempt will take to serve."""
    while True:
        yield from generator.exponential(mean, BLOCK).tolist()
