"""Combine several options into one decorator, in the order in which the help shows them."""

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeVar

C = TypeVar("C", bound=Callable[..., object])


def option_group(*options: Callable[[Any], Any]) -> Callable[[C], C]:
    """Declare all these options; the help shows the first one first."""

    def declare(command: C) -> C:
        declared: C = reduce(
            lambda decorated, option: option(decorated), reversed(options), command
        )
        return declared

    return declare
