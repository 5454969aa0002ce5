"""Walk through whole lists, page by page, for operations that need all of something."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeVar

from tarry.service.api.call import Call
from tarry.service.api.paging import MOST
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.listing import Cut


class Listed(Protocol):
    """Whatever has an id that its list is by."""

    @property
    def id(self) -> str:
        """Its id."""


Thing = TypeVar("Thing", bound=Listed)


def applications(call: Call) -> AsyncIterator[Application]:
    """Every application of the environment."""
    return walk(lambda cut: call.hooks.store.list_applications(call.who.environment, cut))


def endpoints(call: Call, application: Application) -> AsyncIterator[Endpoint]:
    """Every endpoint of an application."""
    return walk(lambda cut: call.hooks.store.list_endpoints(application.id, cut))


async def walk(ask: Callable[[Cut], Awaitable[list[Thing]]]) -> AsyncIterator[Thing]:
    """Everything that a list holds, as far as it was there when its page was read."""
    found = await ask(Cut(MOST))
    while found:
        for one in found:
            yield one
        found = await ask(Cut(MOST, found[-1].id)) if len(found) == MOST else []
