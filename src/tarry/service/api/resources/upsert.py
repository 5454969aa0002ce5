"""Create or change, create or find: safe while other requests create or delete the same object."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tarry.errors import Conflict, NotFound
from tarry.service.api.http.operation import CREATED, UPDATED, Reply

MOST_TRIES = 8
"""The most tries, if other requests keep creating and deleting the object in between."""

T = TypeVar("T")


async def change_or_create(
    change: Callable[[], Awaitable[T]], make: Callable[[], Awaitable[T]]
) -> Reply[T]:
    """Return the result of `change`, or of `make` if `change` raises NotFound.

    If `make` raises Conflict, another request may have created the object in between, so this tries
    again. If the object still does not exist after all tries, another object has its uid.
    """
    for _ in range(MOST_TRIES - 1):
        try:
            return Reply(await change(), UPDATED)
        except NotFound:
            pass
        try:
            return Reply(await make(), CREATED)
        except Conflict:
            pass
    return Reply(await make(), CREATED)


async def create_or_find(
    make: Callable[[], Awaitable[T]], find: Callable[[], Awaitable[T]]
) -> Reply[T]:
    """Return the result of `make`, or of `find` if `make` raises Conflict.

    If `find` raises NotFound, the object was deleted in between, or another object has its uid, so
    this tries again.
    """
    for _ in range(MOST_TRIES - 1):
        try:
            return Reply(await make(), CREATED)
        except Conflict:
            pass
        try:
            return Reply(await find(), UPDATED)
        except NotFound:
            pass
    return Reply(await make(), CREATED)
