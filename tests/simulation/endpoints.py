"""The simulated endpoints: how each answers, and the sender through which workers reach them."""

from collections.abc import Callable, Mapping
from random import Random

from msgspec import Struct

from tarry.core.outcome import Kind
from tarry.service.wire.exchange import Answer, Request
from tests.simulation.log import Answered, Log, Requested
from tests.simulation.loop import Process, SimulatedLoop
from tests.simulation.planted.bug import Bug


class Behaviour(Struct, frozen=True, kw_only=True):
    """How an endpoint answers.

    `failing` is the share of requests that fail by chance, with `status` (None: the connection is
    refused). `failing_type` is a type of event that always fails. `latency` is how long an answer
    takes on average; with `hangs` there is none. Above `capacity` requests in a second, all fail.
    """

    failing: float = 0.0
    status: int | None = 500
    retry_after: float | None = None
    failing_type: str | None = None
    latency: float = 0.01
    hangs: bool = False
    capacity: int | None = None

    @property
    def is_down(self) -> bool:
        """Whether every request fails."""
        return self.hangs or (self.failing >= 1 and self.status in _DOWN)


_DOWN = frozenset({None, 404, 429, 500, 503})
HEALTHY = Behaviour()
HANGS = 2.0
"""Seconds after which a request hangs."""


class Endpoints:
    """All endpoints: a request finds its endpoint by host and path."""

    def __init__(self, loop: SimulatedLoop, log: Log, seed: int, bug: Bug) -> None:
        self._loop, self._log, self._seed, self._bug = loop, log, seed, bug
        self.behaviours: dict[str, Behaviour] = {}
        """By path, or by host for all paths of it that have none of their own."""
        self.names: dict[str, str] = {}
        """The id of the endpoint at each path."""
        self._messages: dict[str, tuple[int, str]] = {}
        self._in_flight: dict[int, tuple[str, str, Process, float]] = {}
        """The endpoint, host, process and beginning of each request."""
        self.last_at: dict[str, float] = {}
        """When a request to an endpoint, or to any endpoint at a host, last began or ended."""
        self._requests = 0
        self._tries: dict[tuple[str, str], int] = {}
        self._arrivals: dict[str, list[float]] = {}

    def know(self, message: str, number: int, event_type: str) -> None:
        """Remember a message's number in the history, and its type of event."""
        self._messages[message] = number, event_type

    def busy(self) -> set[str]:
        """Return the endpoints and hosts that have a request of a running worker in flight."""
        return {
            name
            for endpoint, host, process, _ in self._in_flight.values()
            if not process.is_dead and not process.is_suspended
            for name in (endpoint, host)
        }

    def hangs(self, host: str) -> bool:
        """Return whether all requests to a host that are in flight have been for long."""
        begun_at = (at for _, place, _, at in self._in_flight.values() if place == host)
        return max(begun_at, default=0.0) < self._loop.time() - HANGS

    def sender(self, process: Process) -> "SimulatedSender":
        """Return a worker's way to the endpoints."""
        return SimulatedSender(self, process)

    def begin(self, process: Process, request: Request, done: Callable[[Answer], None]) -> None:
        """Let a request arrive; its answer comes later."""
        path, host = request.target.path, request.target.host
        headers = dict(request.headers)
        message, endpoint, now = headers["webhook-id"], self.names[path], self._loop.time()
        behaviour = self.behaviours.get(path) or self.behaviours.get(host, HEALTHY)
        self._requests += 1
        number = self._requests
        self._log.add(
            Requested(
                at=now,
                request=number,
                worker=process.name,
                endpoint=endpoint,
                host=host,
                message=message,
                number=int(headers["webhook-attempt"]),
                is_down=behaviour.is_down,
            )
        )
        answer = self._answer(behaviour, path, message, now)
        self._in_flight[number] = endpoint, host, process, now
        self.last_at[endpoint] = self.last_at[host] = now
        if answer.took >= request.timeout:
            answer = Answer(request.timeout, failure=Kind.TIMEOUT, detail="no answer in time")
        call = self._loop.later_in
        call(self._loop.world, answer.took, self._end, number, process, answer, done)

    def _end(
        self,
        number: int,
        process: Process,
        answer: Answer,
        done: Callable[[Answer], None],
    ) -> None:
        endpoint, host, *_ = self._in_flight.pop(number)
        now = self._loop.time()
        self.last_at[endpoint] = self.last_at[host] = now
        retry_after = dict(answer.headers).get("retry-after")
        self._log.add(
            Answered(
                at=now,
                request=number,
                status=answer.status,
                retry_after=None if retry_after is None else float(retry_after),
                heard=not process.is_dead,
            )
        )
        heard = self._bug.heard(answer)
        if heard is not None:
            self._loop.soon_in(process, done, heard)

    def _answer(self, behaviour: Behaviour, path: str, message: str, now: float) -> Answer:
        tried = self._tries[path, message] = self._tries.get((path, message), 0) + 1
        number, _ = self._messages.get(message, (0, ""))
        # Drawn by message and try, so that an answer does not depend on other requests.
        draw = Random(f"{self._seed} {path} {number} {tried}").random
        took = behaviour.latency * (0.5 + draw())
        if behaviour.hangs:
            return Answer(1e9, status=200)
        if self._fails(behaviour, path, message, now, draw()):
            return _failure(behaviour, took)
        return Answer(took, status=200)

    def _fails(
        self, behaviour: Behaviour, path: str, message: str, now: float, draw: float
    ) -> bool:
        if behaviour.failing_type is not None:
            _, event_type = self._messages.get(message, (0, ""))
            return event_type == behaviour.failing_type
        if behaviour.capacity is not None:
            arrivals = [at for at in self._arrivals.get(path, []) if at > now - 1]
            self._arrivals[path] = [*arrivals, now]
            return len(arrivals) >= behaviour.capacity
        return draw < behaviour.failing


def _failure(behaviour: Behaviour, took: float) -> Answer:
    if behaviour.status is None:
        return Answer(took, failure=Kind.TRANSIENT, detail="connection refused", unreachable=True)
    asked: Mapping[str, str] = {}
    if behaviour.retry_after is not None:
        asked = {"retry-after": f"{behaviour.retry_after:g}"}
    return Answer(took, status=behaviour.status, headers=tuple(asked.items()))


class SimulatedSender:
    """Makes requests for one worker. See `Sender`."""

    def __init__(self, endpoints: Endpoints, process: Process) -> None:
        self._endpoints, self._process = endpoints, process

    def send(self, request: Request, done: Callable[[Answer], None]) -> None:
        """Start an attempt."""
        self._endpoints.begin(self._process, request, done)

    async def close(self) -> None:
        """Nothing is kept open."""
