"""Ids: a prefix that names the kind, and 27 characters that sort by time.

Eight of them are milliseconds since 1970, two are the fraction of the millisecond, and the others
are random. The caller passes the time and the random bytes, which `entropy` returns.
"""

import os
import re
from functools import lru_cache
from threading import Lock

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TIME, FRACTION, CHANCE = 8, 2, 17
LENGTH = TIME + FRACTION + CHANCE
BYTES_PER_READ = 65_536
"""Enough random bytes for some three thousand ids, so that few batches need two reads."""

_FRACTIONS = tuple(first + second for first in ALPHABET for second in ALPHABET)
"""A quarter of a microsecond each: messages that one program sends one after the other keep their
order in lists."""
_FORM = re.compile(rf"[{ALPHABET}]{{{LENGTH}}}")

# 248 byte values are four times the alphabet; the other eight make eight letters a little likelier.
_LETTERS = bytes(ord(ALPHABET[byte % len(ALPHABET)]) for byte in range(256))

APPLICATION, ENDPOINT, MESSAGE, ATTEMPT = "app_", "ep_", "msg_", "atmpt_"
ENVIRONMENT, TASK, NOTICE, KEY = "org_", "qtask_", "notice_", "key_"
AUDIT, DATA_KEY = "audit_", "dkey_"


def make(prefix: str, *, now: float, entropy: bytes) -> str:
    """Return an id made at `now` from 17 random bytes.

    >>> make("msg_", now=1_700_000_000.0, entropy=bytes(17))
    'msg_0Tvcokgi0000000000000000000'
    """
    milliseconds = now * 1000 if now > 0 else 0.0
    whole = int(milliseconds)
    fraction = _FRACTIONS[int((milliseconds - whole) * len(_FRACTIONS))]
    letters = entropy[:CHANCE].translate(_LETTERS).decode("ascii")
    return prefix + _moment(whole) + fraction + letters


def well_formed(text: str, prefix: str) -> bool:
    """Return whether an id is of this kind and has the form that `make` gives it.

    >>> well_formed("msg_0Tvcokgi0000000000000000000", "msg_"), well_formed("order.1", "msg_")
    (True, False)
    """
    return text.startswith(prefix) and _FORM.fullmatch(text, len(prefix)) is not None


def moment(now: float) -> str:
    """Return the time part of an id: ids of a later millisecond sort after it."""
    return _moment(max(0, int(now * 1000)))


@lru_cache(maxsize=64)
def _moment(milliseconds: int) -> str:
    """Return the time part of an id."""
    letters = []
    for _ in range(TIME):
        milliseconds, letter = divmod(milliseconds, len(ALPHABET))
        letters.append(ALPHABET[letter])
    return "".join(reversed(letters))


def made_at(id_text: str) -> float:
    """Return when an id was made, to the millisecond."""
    total = 0
    for letter in id_text.rpartition("_")[2][:TIME]:
        total = total * len(ALPHABET) + ALPHABET.index(letter)
    return total / 1000


class Entropy:
    """Returns random bytes, each only once, in all threads and forked processes.

    It reads them from the operating system for many ids at a time. Each read releases the
    interpreter lock. A thread that is busy with the database would take it each time, and the
    thread that makes ids would have to wait for it.
    """

    def __init__(self) -> None:
        self.forget()
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Drop the bytes: after a fork, another process may have the same ones."""
        self._lock = Lock()
        self._fetched, self._at = b"", 0

    def __call__(self, size: int) -> bytes:
        """Return `size` random bytes."""
        with self._lock:
            if self._at + size > len(self._fetched):
                self._fetched, self._at = os.urandom(max(size, BYTES_PER_READ)), 0
            self._at += size
            return self._fetched[self._at - size : self._at]


entropy = Entropy()
