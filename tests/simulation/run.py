"""Run one history and say what the checker found."""

import gc
import hashlib
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from msgspec import Struct

from tarry.testing.postgres import Cluster
from tests.simulation.checker.check import violations
from tests.simulation.checker.facts import Violation
from tests.simulation.log import Ending, Entry
from tests.simulation.loop import Spinning
from tests.simulation.planted.bug import Bug
from tests.simulation.real_time import forget_sockets
from tests.simulation.steps import History
from tests.simulation.world import World

LONGEST = 30.0
"""Seconds of CPU time after which a history counts as endless."""


BETWEEN_COLLECTIONS = 100_000
"""How many new objects trigger a garbage collection: those of about ten histories."""


class Outcome(Struct, frozen=True):
    """The outcome of a history; there is no `ending` if it was interrupted."""

    history: History
    violations: list[Violation]
    simulated: float
    """How many seconds of virtual time it lasted."""
    log: list[Entry]
    ending: Ending | None = None

    @property
    def rules(self) -> set[str]:
        """The names of the rules that were broken."""
        return {violation.rule for violation in self.violations}

    @property
    def digest(self) -> str:
        """A digest of the log: two runs of one history have the same."""
        told = hashlib.blake2b(digest_size=8)
        for entry in self.log:
            told.update(repr(entry).encode())
        told.update(repr(self.ending).encode())
        return told.hexdigest()


def collect_seldom() -> None:
    """Collect garbage rarely: it takes a fifth of the time otherwise."""
    gc.freeze()  # the modules stay
    gc.set_threshold(BETWEEN_COLLECTIONS)


def run(history: History, bug: Bug | None = None, cluster: Cluster | None = None) -> Outcome:
    """Carry out a history from its beginning to its end, and check it; maybe with a bug planted.

    A history on PostgreSQL needs a server.
    """
    try:
        return _run(World(history, bug, cluster))
    finally:
        if cluster is not None:
            forget_sockets()


def _run(world: World) -> Outcome:
    history = world.history
    try:
        with _limited(LONGEST):
            ending = world.run()
    except Spinning as spinning:
        violation = Violation(world.loop.time(), "goes on for ever", str(spinning))
        return Outcome(history, [violation], world.loop.time(), world.log.entries)
    log = world.log.entries
    found = violations(log, ending)
    return Outcome(history, found, ending.at, log, ending)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Interrupt the block after `seconds` of CPU time."""

    def interrupt(_signal: int, frame: FrameType | None) -> None:
        where = "nowhere" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
        raise Spinning(f"after {seconds:g} s of computing it was at {where}")

    before = signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
