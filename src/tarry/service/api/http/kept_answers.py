"""Limit the bytes of answers that are kept for repeated requests, so that they stay small."""

from collections.abc import Callable

MOST_ANSWER = 128 * 1024
"""The most bytes of an answer that is kept. All answers about one object are shorter."""
MOST_OF_APPLICATION = 16 * 1024 * 1024
"""The most bytes of answers about one application that a process keeps in `KEPT_FOR` seconds."""
MOST_OF_ALL = 256 * 1024 * 1024
KEPT_FOR = 12 * 3600.0
MOST_OWNERS = 10_000
"""Applications that are remembered; with more, those that kept the least are forgotten."""


class KeptAnswers:
    """Counts the answers that are kept: of each application, and of all."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._kept: dict[str, tuple[float, float]] = {}
        """The bytes kept of each owner as they were counted last, and when that was."""

    def add(self, owner: str | None, size: int) -> bool:
        """Count an answer of this size; return whether it may be kept.

        `owner` names an application; None for answers that belong to none.
        """
        now = self._now()
        limits = (
            {"": MOST_OF_ALL} if owner is None else {"": MOST_OF_ALL, owner: MOST_OF_APPLICATION}
        )
        kept = {name: self._bytes_counted(name, now, most) + size for name, most in limits.items()}
        if size > MOST_ANSWER or any(kept[name] > most for name, most in limits.items()):
            return False
        for name, count in kept.items():
            self._kept[name] = (count, now)
        if len(self._kept) > MOST_OWNERS:
            largest = sorted(self._kept, key=lambda name: self._kept[name][0], reverse=True)
            self._kept = {name: self._kept[name] for name in largest[: MOST_OWNERS // 2]}
        return True

    def _bytes_counted(self, owner: str, now: float, most: int) -> float:
        """Return how many bytes still count: they fade evenly, all within `KEPT_FOR` seconds."""
        count, at = self._kept.get(owner, (0.0, now))
        return max(0.0, count - (now - at) * most / KEPT_FOR)
