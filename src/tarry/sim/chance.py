"""Seeded chance, one stream for each thing that happens by chance.

Streams are keyed, not shared: a policy that draws more often does not change who arrives when, so
two policies under the same seed meet the same world (common random numbers).
"""

from collections.abc import Callable, Iterator
from zlib import crc32

import numpy as np

from tarry.core.value import Value

BLOCK = 4096
"""How many numbers a stream of plain floats fetches at a time: one by one is far slower."""


class Chance(Value):
    """The chance of one run: `seed` is the user's, `run` counts the runs under it."""

    seed: int
    run: int = 0

    def stream(self, name: str, number: int = 0) -> np.random.Generator:
        """The generator for one thing; the same name and number always give the same one."""
        key = np.random.SeedSequence((self.seed, self.run, crc32(name.encode()), number))
        return np.random.Generator(np.random.Philox(key))

    def draws(self, name: str, number: int = 0) -> Callable[[], float]:
        """A draw in [0, 1), evenly spread, as plain floats for code that takes one at a time."""
        return _one_by_one(self.stream(name, number)).__next__


def _one_by_one(generator: np.random.Generator) -> Iterator[float]:
    while True:
        yield from generator.random(BLOCK).tolist()
