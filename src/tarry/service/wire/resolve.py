"""Resolves names to addresses that may be called.

All addresses of a name are checked, and the name is refused if one of them must not be called. A
request goes to the very address that was checked: an attacker gains nothing if the name leads
elsewhere a moment later. Answers are cached for a while; `Lookups` gives each application its share
of the threads.
"""

import time
from collections.abc import Callable, Iterable
from functools import partial

from msgspec import Struct

from tarry.core.outcome import Kind
from tarry.service.wire.egress import Egress, read_address
from tarry.service.wire.lookup import Found, Unresolved, look_up
from tarry.service.wire.lookups import Lookups

GOOD_FOR, BAD_FOR = 30.0, 5.0
"""Seconds for which an answer is cached: addresses, and a failure."""
TIMEOUT = 5.0
MOST_ADDRESSES = 8
"""How many addresses of one name are returned. All are checked."""
MOST_KNOWN = 10_000
MOST_PORTS = 16
"""For how many ports of a host the checked answer is cached: mostly there is one port."""


class Addresses(Struct, frozen=True):
    """The addresses of a host, in the order to try them; every one may be called."""

    addresses: tuple[str, ...]


Resolved = Addresses | Unresolved
Done = Callable[[Resolved], None]

_BLOCKED = Unresolved(Kind.BLOCKED, "the host leads to an address that must not be called")


class _Known:
    """The cached answer for a host, and its result for each port."""

    __slots__ = ("answers", "found", "until")

    def __init__(self, found: Found, until: float) -> None:
        self.found = found
        self.until = until
        self.answers: tuple[tuple[int, Resolved], ...] = ()


class Resolver:
    """Resolves hosts for one event loop, the one that runs when it is created."""

    def __init__(
        self,
        egress: Egress,
        *,
        lookup: Callable[[str], Iterable[str]] = look_up,
        timeout: float = TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._egress = egress
        self._clock = clock
        self._known: dict[str, _Known] = {}
        self._lookups = Lookups(lookup, timeout, self._remember)

    def resolve(self, host: str, port: int, owner: str, done: Done) -> None:
        """Find the addresses of a host, as `Target` has it, for a port, and call `done` once.

        For an address or a cached name, `done` is called before this returns; otherwise later, on
        the event loop. A look-up counts against the share of `owner`.
        """
        known = self._known.get(host)
        if known is None or known.until <= self._clock():
            address = read_address(host)
            if address is None:
                self._lookups.ask(host, owner, partial(self._looked_up, host, port, done))
                return
            known = self._remember(host, (str(address),))
        done(self._judged(known, port))

    def close(self) -> None:
        """Answer all waiting callers, and let the threads end."""
        self._lookups.close()

    def _looked_up(self, host: str, port: int, done: Done, found: Found) -> None:
        known = self._known.get(host)
        if known is None or known.found is not found:  # it was not remembered
            known = _Known(found, 0.0)
        done(self._judged(known, port))

    def _remember(self, host: str, found: Found) -> _Known:
        life = BAD_FOR if isinstance(found, Unresolved) else GOOD_FOR
        known = _Known(found, self._clock() + life)
        self._known.pop(host, None)
        self._known[host] = known
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return known

    def _judged(self, known: _Known, port: int) -> Resolved:
        for judged, answer in known.answers:
            if judged == port:
                return answer
        answer = self._judge(known.found, port)
        known.answers = (*known.answers[1 - MOST_PORTS :], (port, answer))
        return answer

    def _judge(self, found: Found, port: int) -> Resolved:
        if isinstance(found, Unresolved):
            return found
        if not all(self._egress.permits(address, port) for address in found):
            return _BLOCKED
        given = tuple(dict.fromkeys(str(read_address(address)) for address in found))[
            :MOST_ADDRESSES
        ]
        # There is one for each host, and mostly it equals `found`: then both share the tuple.
        return Addresses(found if given == found else given)
