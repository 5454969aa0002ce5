"""Guess which word was meant."""

from collections.abc import Iterable


def nearest(typed: str, known: Iterable[str]) -> str | None:
    """Return the known word that is closest to `typed`, or None if none is close.

    >>> nearest("atempts", ["attempts", "within"])
    'attempts'
    """
    distances = {
        word: _distance(typed.lower(), word)
        for word in known
        if abs(len(typed) - len(word)) <= _most_distance(typed, word)  # counting takes long
    }
    close = min(distances, key=distances.__getitem__, default="")
    return close if close and distances[close] <= _most_distance(typed, close) else None


def _most_distance(typed: str, word: str) -> int:
    """Return how many letters may differ in a close word."""
    return max(len(typed), len(word)) // 3


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
