"""One behaviour of a receiver, and how a sender may end the attempt."""

from collections.abc import Awaitable, Callable, Iterator

from msgspec import Struct

from tarry.core.outcome import Kind
from tarry.testing.zoo.certificates import Certificate
from tarry.testing.zoo.line import Line

Ending = int | Kind
"""How an attempt ended for its sender: with a status, or with a failure before there was one."""
Play = Callable[[Line], Awaitable[None]]


class Behaviour(Struct, frozen=True, kw_only=True):
    """What a receiver does with a request, and how a correct sender may end the attempt."""

    name: str
    does: str
    """A description in one line, with the receiver as its subject."""
    endings: frozenset[Ending]
    play: Play
    cut: bool = False
    """Whether the response body has no end, or breaks off early: a sender must report that."""
    unheard: bool = False
    """Whether it acts as soon as a connection exists, before any request is read."""
    unaccepted: bool = False
    """Whether it never accepts a connection, because its accept queue is full."""
    scheme: str = "http"
    certificate: Certificate | None = None
    """The certificate in the TLS handshake; without one there is no TLS."""


class Family:
    """Behaviours of one kind, in the order in which they were added."""

    def __init__(self) -> None:
        self._members: list[Behaviour] = []

    def __iter__(self) -> Iterator[Behaviour]:
        return iter(self._members)

    def add(
        self, name: str, does: str, *endings: Ending, cut: bool = False, unheard: bool = False
    ) -> Callable[[Play], Play]:
        """Register the decorated function as a behaviour."""

        def put(play: Play) -> Play:
            self.put(
                Behaviour(
                    name=name,
                    does=does,
                    endings=frozenset(endings),
                    play=play,
                    cut=cut,
                    unheard=unheard,
                )
            )
            return play

        return put

    def says(
        self, name: str, does: str, *endings: Ending, answer: bytes, cut: bool = False
    ) -> None:
        """Add a receiver that sends these bytes, all at once, and waits for the next request."""

        @self.add(name, does, *endings, cut=cut)
        async def say(line: Line) -> None:
            await line.send(answer)

    def put(self, behaviour: Behaviour) -> None:
        """Add a behaviour that was created elsewhere."""
        self._members.append(behaviour)
