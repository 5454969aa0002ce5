"""Predictable random draws: from a script, or from a seed."""

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from random import Random
from typing import TypeVar

from tarry.call.world import world
from tarry.core.checks import number
from tarry.core.decide import Draw
from tarry.errors import TarryError

Seed = int | str | bytes
AnyDraw = TypeVar("AnyDraw", bound=Draw)


class Script:
    """Draws that you write beforehand, in [0, 1); each is used once, in order.

    >>> draw = Script([0.5, 0.1])
    >>> draw(), draw.left
    (0.5, (0.1,))
    """

    def __init__(self, draws: Iterable[float]) -> None:
        allowed = "a number from 0 up to, but not including, 1"
        self._draws = deque(
            number(f"draws[{index}]", draw, allowed, lambda draw: 0 <= draw < 1)
            for index, draw in enumerate(draws)
        )
        self._script_length = len(self._draws)

    def __call__(self) -> float:
        """Return the next draw; raise TarryError if none is left."""
        try:
            return self._draws.popleft()
        except IndexError:
            message = f"the script of draws has {self._script_length}, and one more was wanted"
            raise TarryError(message) from None

    @property
    def left(self) -> tuple[float, ...]:
        """The draws that are not used yet."""
        return tuple(self._draws)


def scripted_draws(draws: Iterable[float]) -> AbstractContextManager[Script]:
    """Run a block with these draws instead of random ones.

    A wait uses one draw, and so does a breaker that opens.
    """
    return _replace_draws(Script(draws))


def seeded_draws(seed: Seed) -> AbstractContextManager[Draw]:
    """Run a block with the draws of this seed, the same as in `policy.waits(seed=...)`."""
    return _replace_draws(Random(seed).random)  # noqa: S311  jitter, not secrets


@contextmanager
def _replace_draws(draw: AnyDraw) -> Iterator[AnyDraw]:
    """Let the library draw its random numbers from `draw` for a while."""
    before = world.draw
    world.draw = draw
    try:
        yield draw
    finally:
        world.draw = before
