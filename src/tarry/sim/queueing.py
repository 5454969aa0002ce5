"""In which order a server takes up what waits, and what it refuses to take up.

- `fifo`: oldest first.
- `lifo`: newest first.
- `deadline`: oldest first; what has waited past its timeout is dropped.
- `feasible`: oldest first; what would not be done within its timeout is dropped. The server is
  taken to know how long the work will take.
- `codel`: oldest first; while the line has not been empty for `PATIENCE`, what has waited longer
  than `TARGET` is dropped.

Work is dropped when its turn comes. Who still waits for it is told at once: a failure as any other.
"""

from collections.abc import Callable
from typing import Literal, assert_never, get_args

Discipline = Literal["fifo", "lifo", "deadline", "feasible", "codel"]

DISCIPLINES: tuple[Discipline, ...] = get_args(Discipline)

PATIENCE = 0.1
TARGET = 0.005

Drops = Callable[[float, float, float], bool]
"""Is it dropped? Asked with how long it waited, how long it will take, how long the line stood."""


def drops_of(discipline: Discipline, timeout: float) -> Drops | None:
    """What a discipline drops; None is nothing."""
    match discipline:
        case "fifo" | "lifo":
            return None
        case "deadline":
            return lambda waited, takes, stood: waited > timeout  # noqa: ARG005  asked alike
        case "feasible":
            return lambda waited, takes, stood: waited + takes > timeout  # noqa: ARG005  asked alike
        case "codel":
            return lambda waited, takes, stood: stood > PATIENCE and waited > TARGET  # noqa: ARG005  asked alike
        case _:
            assert_never(discipline)
