"""Guess which word was meant."""

from collections.abc import Iterable


def nearest(typed: str, known: Iterable[str]) -> str | None:
    """Return the known word that is closest to `typed`, or None if none is close.

    >>> nearest("atempts", ["attempts", "within"])
    'attempts'
    """
    distances = {word: _distance(typed.lower(), word) for word in known}
    close = min(distances, key=distances.__getitem__)
    return close if distances[close] <= max(len(typed), len(close)) // 3 else None


def _distance(typed: str, word: str) -> int:
    """Count the letters to add, drop or change to get from one word to the other."""
    row = list(range(len(word) + 1))
    for done, letter in enumerate(typed, start=1):
        diagonal, row[0] = row[0], done
        for column, other in enumerate(word, start=1):
            changed = diagonal + (letter != other)
            diagonal = row[column]
            row[column] = min(changed, diagonal + 1, row[column - 1] + 1)
    return row[-1]
