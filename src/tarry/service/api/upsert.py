"""Make or change, find or make: also while others make it or delete it."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tarry.errors import Conflict, NotFound
from tarry.service.api.operation import CREATED, UPDATED, Reply

TURNS = 8
"""How often somebody else may be faster."""

T = TypeVar("T")


async def changed_or_made(
    change: Callable[[], Awaitable[T]], make: Callable[[], Awaitable[T]]
) -> Reply[T]:
    """What `change` answers; if it finds nothing (NotFound), what `make` does.

    If that meets a Conflict, it may have come to be there in between. If it still is not, something
    else has its uid.
    """
    for _ in range(TURNS - 1):
        try:
            return Reply(await change(), UPDATED)
        except NotFound:
            pass
        try:
            return Reply(await make(), CREATED)
        except Conflict:
            pass
    return Reply(await make(), CREATED)


async def made_or_found(
    make: Callable[[], Awaitable[T]], find: Callable[[], Awaitable[T]]
) -> Reply[T]:
    """What `make` answers; if it is there already (Conflict), what `find` does.

    If that finds nothing, it was deleted in between, or something else is in the way.
    """
    for _ in range(TURNS - 1):
        try:
            return Reply(await make(), CREATED)
        except Conflict:
            pass
        try:
            return Reply(await find(), UPDATED)
        except NotFound:
            pass
    return Reply(await make(), CREATED)
