"""The queue disciplines of a server: which attempt is next, and which ones are dropped.

- `fifo`: oldest first.
- `lifo`: newest first.
- `deadline`: oldest first; an attempt that has waited past its timeout is dropped.
- `feasible`: oldest first; an attempt that would not finish within its timeout is dropped. The
  server is assumed to know how long the work will take.
- `codel`: oldest first; once the queue has not been empty for `LONGEST_QUEUE_WAIT`, an attempt
  that has waited longer than `TARGET` is dropped.

An attempt is dropped when its turn comes. A client that still waits for it learns so at once, as an
ordinary failure.
"""

from collections.abc import Callable
from typing import Literal, assert_never, get_args

Discipline = Literal["fifo", "lifo", "deadline", "feasible", "codel"]

DISCIPLINES: tuple[Discipline, ...] = get_args(Discipline)

LONGEST_QUEUE_WAIT = 0.1
TARGET = 0.005

Drops = Callable[[float, float, float], bool]
"""Whether to drop an attempt, given how long it waited, how long it will take, and for how long the
queue has not been empty."""


def drops_of(discipline: Discipline, timeout: float) -> Drops | None:
    """Return the function that says which attempts a discipline drops; None if it drops none."""
    match discipline:
        case "fifo" | "lifo":
            return None
        case "deadline":
            return lambda waited, takes, stood: waited > timeout  # noqa: ARG005  all disciplines get the same arguments
        case "feasible":
            return lambda waited, takes, stood: waited + takes > timeout  # noqa: ARG005  all disciplines get the same arguments
        case "codel":
            return lambda waited, takes, stood: stood > LONGEST_QUEUE_WAIT and waited > TARGET  # noqa: ARG005  all disciplines get the same arguments
        case _:
            assert_never(discipline)
