"""Random bytes for ids, read from the operating system for many ids at a time.

Each read releases the interpreter lock. A thread that is busy with the database would take it each
time, and the thread that makes ids would have to wait for it.
"""

import os
from threading import Lock

AT_ONCE = 65_536
"""Bytes of a read: enough for some three thousand ids, so that few batches need two reads."""


class Entropy:
    """Returns every byte only once, in all threads and forked processes."""

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
                self._fetched, self._at = os.urandom(max(size, AT_ONCE)), 0
            self._at += size
            return self._fetched[self._at - size : self._at]


entropy = Entropy()
