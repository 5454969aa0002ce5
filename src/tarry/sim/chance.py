"""Seeded random numbers, with one stream for each random thing.

Streams have keys and are not shared. A policy that draws more often does not change when requests
arrive, so two policies with the same seed meet the same world (common random numbers).
"""

from collections.abc import Callable, Iterator
from zlib import crc32

import numpy as np

from tarry.core.value import Value

BLOCK = 4096
"""How many floats a stream generates at a time: one by one is far slower."""


class Chance(Value):
    """The random numbers of one run: `seed` is the user's, `run` is the number of the run."""

    seed: int
    run: int = 0

    def stream(self, name: str, number: int = 0) -> np.random.Generator:
        """Return the generator for one thing; the same name and number give the same generator."""
        key = np.random.SeedSequence((self.seed, self.run, crc32(name.encode()), number))
        return np.random.Generator(np.random.Philox(key))

    def draws(self, name: str, number: int = 0) -> Callable[[], float]:
        """Return a function that draws plain floats, uniform in [0, 1), one at a time."""
        return _one_by_one(self.stream(name, number)).__next__


def _one_by_one(generator: np.random.Generator) -> Iterator[float]:
    while True:
        yield from generator.random(BLOCK).tolist()
