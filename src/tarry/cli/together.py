"""Several options as one decorator, in the order in which a help shows them."""

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeVar

C = TypeVar("C", bound=Callable[..., Any])


def together(*options: Callable[[Any], Any]) -> Callable[[C], C]:
    """Declare all of these; the first one is shown first."""

    def declare(command: C) -> C:
        declared: C = reduce(lambda made, option: option(made), reversed(options), command)
        return declared

    return declare
