"""What a receiver has: the secrets of its sender, the clock, and a memory of what came before."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from tarry.errors import MessageReplayed, SettingsError
from tarry.receive.seen import Memory, Seen
from tarry.receive.verify import WINDOW, Headers, Verified, Verifier


class Webhook:
    """Verifies what one sender sends.

    `secret` is `whsec_...`, or a public key `whpk_...`; while it is being changed give the other
    one too. A message that is more than `window` seconds old, or ahead of this clock, is refused.
    With `seen` (a `Memory`, or your own table) so is one that came before.
    """

    def __init__(
        self,
        secret: str,
        *more: str,
        window: float = WINDOW,
        seen: Seen | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not 0 < window < float("inf"):
            raise SettingsError("window", window, "a number of seconds above 0")
        self._verifier = Verifier.of(secret, *more, window=window)
        self._seen = seen
        self._clock = clock
        self._in_hand: dict[str, float] = {}
        """Ids that are being handled, and until when they have to be remembered then."""
        self._lock = Lock()

    @property
    def waits(self) -> bool:
        """Whether its memory may take a while: async code asks it in a thread then."""
        return not (self._seen is None or isinstance(self._seen, Memory))

    def verify(self, body: bytes, headers: Headers) -> Verified:
        """Give back a message that is proven; VerificationError says why one is not.

        `body` is what came over the wire, byte for byte; `headers` are pairs or a mapping. With a
        memory it counts as handled from now on; `handling` waits for what becomes of it.
        """
        verified = self._proven(body, headers)
        if self._seen is not None and not self._seen.add(verified.id, self._ends_at(verified)):
            raise MessageReplayed(verified.id)
        return verified

    @contextmanager
    def handling(self, body: bytes, headers: Headers) -> Iterator[Verified]:
        """Verify a message and handle it in the block; if that raises, it may come again."""
        verified = self.start(body, headers)
        handled = False
        try:
            yield verified
            handled = True
        finally:
            self.end(verified, handled=handled)

    def start(self, body: bytes, headers: Headers) -> Verified:
        """Verify a message that will be handled; whoever starts has to `end`."""
        verified = self._proven(body, headers)
        if self._seen is None:
            return verified
        if not self._take_up(verified):
            raise MessageReplayed(verified.id, handled=False)
        known = True
        try:
            known = self._seen.known(verified.id)
            if known:
                self._seen.add(verified.id, self._ends_at(verified))
        finally:
            if known:
                self._put_down(verified)
        if known:
            raise MessageReplayed(verified.id)
        return verified

    def end(self, verified: Verified, *, handled: bool) -> None:
        """Say what became of a message; one that is not handled is new when it comes again."""
        if self._seen is None:
            return
        until = self._ends_at(verified)
        try:
            # Only now: what a process had in hand when it died has to be new for the next one.
            if handled:
                self._seen.add(verified.id, until)
        finally:
            later = self._put_down(verified)
        if handled and later > until:
            self._seen.add(verified.id, later)

    def _proven(self, body: bytes, headers: Headers) -> Verified:
        return self._verifier.verify(body, headers, now=self._clock())

    def _ends_at(self, verified: Verified) -> float:
        """From when on its timestamp is too old."""
        return verified.sent_at + self._verifier.window

    def _take_up(self, verified: Verified) -> bool:
        """Whether nobody has it in hand; if somebody does, they will remember it for longer.

        For the same message may be sent anew, with a later timestamp.
        """
        until = self._ends_at(verified)
        with self._lock:
            free = verified.id not in self._in_hand
            self._in_hand[verified.id] = max(until, self._in_hand.get(verified.id, until))
            return free

    def _put_down(self, verified: Verified) -> float:
        with self._lock:
            return self._in_hand.pop(verified.id)
