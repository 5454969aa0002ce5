"""Ids: a prefix that names the kind, and 27 characters that sort by time.

Eight of them are milliseconds since 1970, the others are random. The caller passes the time and the
random bytes.
"""

import re
from functools import lru_cache

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TIME, CHANCE = 8, 19
LENGTH = TIME + CHANCE

_FORM = re.compile(rf"[{ALPHABET}]{{{LENGTH}}}")

# 248 byte values are four times the alphabet; the other eight make eight letters a little likelier.
_LETTERS = bytes(ord(ALPHABET[byte % len(ALPHABET)]) for byte in range(256))

APPLICATION, ENDPOINT, MESSAGE, ATTEMPT = "app_", "ep_", "msg_", "atmpt_"
ENVIRONMENT, TASK, NOTICE, KEY = "org_", "qtask_", "notice_", "key_"


def make(prefix: str, *, now: float, entropy: bytes) -> str:
    """Return an id made at `now` from 19 random bytes.

    >>> make("msg_", now=1_700_000_000.0, entropy=bytes(19))
    'msg_0Tvcokgi0000000000000000000'
    """
    return prefix + moment(now) + entropy[:CHANCE].translate(_LETTERS).decode("ascii")


def well_formed(known: str, prefix: str) -> bool:
    """Return whether an id is of this kind and has the form that `make` gives it.

    >>> well_formed("msg_0Tvcokgi0000000000000000000", "msg_"), well_formed("order.1", "msg_")
    (True, False)
    """
    return known.startswith(prefix) and _FORM.fullmatch(known, len(prefix)) is not None


def moment(now: float) -> str:
    """Return the time part of an id: ids of a later millisecond sort after it."""
    return _moment(max(0, int(now * 1000)))


@lru_cache(maxsize=64)
def _moment(left: int) -> str:
    letters = []
    for _ in range(TIME):
        left, letter = divmod(left, len(ALPHABET))
        letters.append(ALPHABET[letter])
    return "".join(reversed(letters))


def made_at(known: str) -> float:
    """Return when an id was made, to the millisecond."""
    total = 0
    for letter in known.rpartition("_")[2][:TIME]:
        total = total * len(ALPHABET) + ALPHABET.index(letter)
    return total / 1000
