"""Bring a contestant to the start: set up, tried out, and turned away with a reason if need be."""

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from contest.contestants import WAITING, Contestant
from contest.stopwatch import sleepless
from contest.work import ERRORS, NO_WAIT, USUAL, Function, Wrap, afail, asucceed, fail, succeed

Kind = Literal["sync", "async"]
Entry = Function | str
"""A wrapped function that does what it should, or why there is none."""

TRIPPING_CALLS = 10
ONLY = {"sync": "no asyncio", "async": "async only"}


class NotAsAskedError(Exception):
    """The contestant does something else than what is to be timed."""


@dataclass(frozen=True)
class Gate:
    """Where contestants are tried out, plain ones and, on an event loop, async ones."""

    loop: AbstractEventLoop

    def succeeding(self, contestant: Contestant, kind: Kind) -> Entry:
        """A call that succeeds at once."""
        return self._admit(contestant, kind, self._succeeding)

    def failing(self, contestant: Contestant, kind: Kind) -> Entry:
        """A call whose attempts all fail, without a wait in between."""
        return self._admit(contestant, kind, self._failing)

    def sleeping(self, contestant: Contestant, kind: Kind) -> Entry:
        """The same where sleeping is not replaced."""
        return "sleeps" if contestant is WAITING else self.failing(contestant, kind)

    def rejected(self, contestant: Contestant, kind: Kind) -> Entry:
        """A call that an open breaker does not let through."""
        return self._admit(contestant, kind, self._rejected)

    def run(self, function: Function, kind: Kind) -> object:
        """Make one call."""
        return function(1) if kind == "sync" else self.loop.run_until_complete(function(1))

    def _admit(
        self, contestant: Contestant, kind: Kind, trial: Callable[[Contestant, Kind], Function]
    ) -> Entry:
        if contestant.only not in {"", kind}:
            return ONLY[contestant.only]
        try:
            return trial(contestant, kind)
        except Exception as error:  # noqa: BLE001  whatever is wrong with it goes into the report
            return reason(error)

    def _succeeding(self, contestant: Contestant, kind: Kind) -> Function:
        function = contestant.make(USUAL)(succeed if kind == "sync" else asucceed)
        if self.run(function, kind) != 1:
            raise NotAsAskedError("the result is lost")
        return function

    def _failing(self, contestant: Contestant, kind: Kind) -> Function:
        attempts = self._attempts(contestant.make(NO_WAIT), kind)
        if attempts != NO_WAIT.attempts:
            raise NotAsAskedError(f"{attempts} attempts")
        return contestant.make(NO_WAIT)(fail if kind == "sync" else afail)

    def _rejected(self, contestant: Contestant, kind: Kind) -> Function:
        function = contestant.make(USUAL)(fail if kind == "sync" else afail)
        errors = [self._error(function, kind) for _ in range(TRIPPING_CALLS)]
        if errors[-1] is None or isinstance(errors[-1], ERRORS):
            raise NotAsAskedError("did not open")
        return function

    def _attempts(self, wrap: Wrap, kind: Kind) -> int:
        made: list[int] = []

        def counted(value: int) -> None:
            made.append(value)
            raise ConnectionError

        async def acounted(value: int) -> None:
            made.append(value)
            raise ConnectionError

        with sleepless():
            self._error(wrap(counted if kind == "sync" else acounted), kind)
        return len(made)

    def _error(self, function: Function, kind: Kind) -> Exception | None:
        try:
            self.run(function, kind)
        except Exception as error:  # noqa: BLE001  each library raises its own
            return error
        return None


def reason(error: Exception) -> str:
    """Why a contestant cannot take part, in a word or two."""
    if isinstance(error, ModuleNotFoundError):
        return "not installed"
    return str(error) if isinstance(error, NotAsAskedError) else f"fails: {type(error).__name__}"


def new_gate() -> Gate:
    """A gate with an event loop of its own."""
    return Gate(asyncio.new_event_loop())
