"""Chance for ids, fetched from the operating system for many of them at a time.

Each fetch lets other threads have the interpreter. One that is busy with the database would take
it each time, and whoever makes ids would have to wait for it.
"""

import os
from threading import Lock

AT_ONCE = 65_536
"""Bytes: some three thousand ids, so that a batch is seldom interrupted for more."""


class Entropy:
    """Gives every byte away once, in every thread and in every process."""

    def __init__(self) -> None:
        self.forget()
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Fetch anew: what is here may be somebody else's too."""
        self._lock = Lock()
        self._fetched, self._at = b"", 0

    def __call__(self, size: int) -> bytes:
        """So many bytes of chance."""
        with self._lock:
            if self._at + size > len(self._fetched):
                self._fetched, self._at = os.urandom(max(size, AT_ONCE)), 0
            self._at += size
            return self._fetched[self._at - size : self._at]


entropy = Entropy()
