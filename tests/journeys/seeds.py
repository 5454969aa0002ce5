"""The chance of the journeys: the same in every run, and another one with TARRY_TEST_SEED."""

import os
import random

FIRST = int(os.environ.get("TARRY_TEST_SEED", "0"))
"""Added to the seed of every journey."""
USUAL = FIRST + 7
"""The seed of a virtual service that is given none."""


def seeded(seed: int) -> random.Random:
    """Return a source of chance that is the same each time."""
    return random.Random(FIRST + seed)
