"""The services that a request passes through: each retries by the same policy, with own guards.

A request is a call of the first layer. Each attempt of a layer is a call of the next one. The
attempts of the last layer go to the server.
"""

import math
from typing import Final

from tarry.core.breaker import FAILED, PASSED
from tarry.core.decide import decide
from tarry.core.outcome import Again, Failure
from tarry.core.policy import Policy
from tarry.sim.chance import Chance
from tarry.sim.run import Contestant
from tarry.sim.server.guards import Budget, Circuit, budget_of

NO_TICKET = 0
NOBODY = 0
"""The value of `waiting` when no attempt is awaited: attempts are numbered from 1."""


class Call:
    """One call at one layer with all its attempts; also the `progress` that `decide` reads."""

    __slots__ = (
        "attempts",
        "began_at",
        "caller",
        "layer",
        "memory",
        "number",
        "paid",
        "sent",
        "started_at",
        "taken_up",
        "ticket",
        "waiting",
    )

    deadline_at: Final = math.inf  # processes pass on no deadline

    def __init__(self, number: int, now: float, caller: "Call | None" = None) -> None:
        self.number = number  # of its request
        self.caller = caller
        self.layer: int = 0 if caller is None else caller.layer + 1
        self.started_at = now
        self.began_at = now  # the current attempt
        self.attempts = 0
        self.waiting = NOBODY  # the awaited attempt at the server
        self.taken_up: float | None = None  # when a worker started on it
        self.sent = 0  # attempts at the server, including those of the layers below
        self.memory: float | None = None
        self.ticket = NO_TICKET
        self.paid = False


class Layer:
    """One service on the way: what it does before and after each attempt of a call."""

    __slots__ = ("_breaker", "_budget", "_draw", "_policy", "_retries")

    def __init__(
        self, contestant: Contestant, policy: Policy, chance: Chance, place: int, *, retries: bool
    ) -> None:
        self._policy = policy
        self._retries = retries
        self._draw = chance.draws("policy", place)
        rule, circuit = contestant.budget, contestant.breaker
        self._budget: Budget | None = None if rule is None else budget_of(rule)
        self._breaker: Circuit | None = None
        if circuit is not None:
            self._breaker = Circuit(circuit, chance.draws("breaker", place))

    def begin(self, call: Call, now: float) -> bool:
        """Start an attempt; return False if the breaker refuses it."""
        if self._breaker is not None:
            ticket = self._breaker.enter(now)
            if ticket is None:
                return False
            call.ticket = ticket
        call.began_at = now
        call.attempts += 1
        if self._budget is not None and call.attempts == 1:
            self._budget.call(now)
        return True

    def after_failure(self, call: Call, failure: Failure, now: float) -> float | None:
        """Return the wait before the next attempt; None if the call has failed."""
        breaker, budget = self._breaker, self._budget
        if breaker is not None:
            breaker.leave(call.ticket, FAILED, took=now - call.began_at, now=now)
        if not self._retries:
            return None
        decision = decide(self._policy, call, failure, now=now, draw=self._draw)
        if not isinstance(decision, Again):
            return None
        if breaker is not None and breaker.refuses(until=now + decision.delay):
            return None
        if budget is not None:
            if not budget.take(now):
                return None
            call.paid = True
        call.memory = decision.memory
        return decision.delay

    def after_success(self, call: Call, now: float) -> None:
        """Record that the call succeeded."""
        if self._breaker is not None:
            self._breaker.leave(call.ticket, PASSED, took=now - call.began_at, now=now)
        if self._budget is not None:
            self._budget.succeed(retried=call.paid)
