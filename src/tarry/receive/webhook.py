"""The receiver's main class: it combines the secrets, a clock and a memory of earlier messages."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from tarry.errors import MessageReplayed, SettingsError
from tarry.receive.seen import Memory, Seen
from tarry.receive.verify import WINDOW, Headers, Verified, Verifier


class Webhook:
    """Verifies the messages of one sender.

    `secret` is `whsec_...`, or a public key `whpk_...`. While the sender rotates it, give both the
    old and the new one. A message that is more than `window` seconds old, or ahead of this clock,
    is refused. With `seen` (a `Memory`, or your own table), a message that came before is refused
    too.
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
        """The ids of messages being handled, and until when to remember each once it is handled."""
        self._lock = Lock()

    @property
    def waits(self) -> bool:
        """Whether calls to the memory may block, so that async code must make them in a thread."""
        return not (self._seen is None or isinstance(self._seen, Memory))

    def verify(self, body: bytes, headers: Headers) -> Verified:
        """Return the verified message; VerificationError says why it cannot be verified.

        `body` must be the bytes of the request's body, unchanged; `headers` are pairs or a mapping.
        With a memory the message counts as handled at once. Use `handling` instead to let it count
        as handled only when your code has succeeded.
        """
        verified = self._verified(body, headers)
        if self._seen is not None and not self._seen.add(verified.id, self._ends_at(verified)):
            raise MessageReplayed(verified.id)
        return verified

    @contextmanager
    def handling(self, body: bytes, headers: Headers) -> Iterator[Verified]:
        """Verify a message and handle it in the block; if the block raises, it may come again."""
        verified = self.start(body, headers)
        handled = False
        try:
            yield verified
            handled = True
        finally:
            self.end(verified, handled=handled)

    def start(self, body: bytes, headers: Headers) -> Verified:
        """Verify a message before it is handled; each call needs a call of `end` afterwards."""
        verified = self._verified(body, headers)
        if self._seen is None:
            return verified
        if not self._take_up(verified):
            raise MessageReplayed(verified.id, handled=False)
        is_known = True
        try:
            is_known = self._seen.known(verified.id)
            if is_known:
                self._seen.add(verified.id, self._ends_at(verified))
        finally:
            if is_known:
                self._put_down(verified)
        if is_known:
            raise MessageReplayed(verified.id)
        return verified

    def end(self, verified: Verified, *, handled: bool) -> None:
        """Record whether a message was handled; if not, it is accepted when it comes again."""
        if self._seen is None:
            return
        until = self._ends_at(verified)
        try:
            # Only now: if the process dies while it handles a message, the message must be accepted
            # again by the next process.
            if handled:
                self._seen.add(verified.id, until)
        finally:
            later = self._put_down(verified)
        if handled and later > until:
            self._seen.add(verified.id, later)

    def _verified(self, body: bytes, headers: Headers) -> Verified:
        return self._verifier.verify(body, headers, now=self._clock())

    def _ends_at(self, verified: Verified) -> float:
        """Return the time after which the message's timestamp is too old."""
        return verified.sent_at + self._verifier.window

    def _take_up(self, verified: Verified) -> bool:
        """Mark a message as being handled; return whether it was not yet.

        If it was, extend the time for which the other caller will remember it: the message may have
        been sent again, with a later timestamp.
        """
        until = self._ends_at(verified)
        with self._lock:
            free = verified.id not in self._in_hand
            self._in_hand[verified.id] = max(until, self._in_hand.get(verified.id, until))
            return free

    def _put_down(self, verified: Verified) -> float:
        with self._lock:
            return self._in_hand.pop(verified.id)
