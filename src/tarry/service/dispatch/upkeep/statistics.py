"""Statistics that somebody asked for: counted while all else goes on, and kept with their task."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, assert_never  # what comes out is JSON

from tarry.errors import NotFound
from tarry.service.model.application import Application
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.task import Task, Work
from tarry.service.store.contract import Store
from tarry.service.store.walk import walk

APPLICATIONS = "appIds"
"""Of a task's data, before it is counted: which applications, if not all."""

Found = TypeVar("Found")


async def counted(store: Store, task: Task, question: asyncio.Lock) -> dict[str, Any]:
    """What comes out of a task that asks for statistics; `question` is held to ask the store."""
    asking = _Asking(store, question)
    match task.work:
        case Work.APP_STATS:
            return {
                "appStats": [
                    {
                        "appId": one.id,
                        "appUid": one.uid,
                        "messageDestinations": await _destinations(asking, one, task),
                    }
                    async for one in _applications(asking, task)
                ]
            }
        case Work.EVENT_TYPE_STATS:
            return {
                "event_types": [
                    await _subscribed(asking, one) async for one in _applications(asking, task)
                ]
            }
        case (
            Work.RECOVER
            | Work.REPLAY_MISSING
            | Work.BULK_REPLAY
            | Work.DISCARD
            | Work.PURGE_CONTENT
        ):
            raise ValueError(f"{task.work} is done in pieces, there is nothing to count")
        case _:
            assert_never(task.work)


class _Asking:
    """Asks the store when it is the turn of this count."""

    def __init__(self, store: Store, question: asyncio.Lock) -> None:
        self.store, self._question = store, question

    async def answer(self, ask: Callable[[], Awaitable[Found]]) -> Found:
        """Return what the store answers."""
        async with self._question:
            return await ask()

    def endpoints(self, application: Application) -> AsyncIterator[Endpoint]:
        """All endpoints of an application."""
        listed = self.store.list_endpoints
        return walk(lambda cut: self.answer(lambda: listed(application.id, cut)))


async def _applications(asking: _Asking, task: Task) -> AsyncIterator[Application]:
    """Those that are asked for, as far as they are still there."""
    store, environment = asking.store, task.environment
    if APPLICATIONS not in task.data:
        listed = store.list_applications
        async for one in walk(lambda cut: asking.answer(lambda: listed(environment, cut))):
            yield one
        return
    for known in task.data[APPLICATIONS]:
        with suppress(NotFound):
            yield await asking.answer(partial(store.application, environment, known))


async def _destinations(asking: _Asking, application: Application, task: Task) -> int:
    """To how many endpoints its messages of that time went, all together."""
    total = 0
    async for endpoint in asking.endpoints(application):
        found = await asking.answer(
            partial(asking.store.count_deliveries, endpoint, since=task.since, until=task.end)
        )
        total += sum(many for (state, _), many in found.items() if state is not State.SKIPPED)
    return total


async def _subscribed(asking: _Asking, application: Application) -> dict[str, Any]:
    named, all_of_them = set[str](), False
    async for endpoint in asking.endpoints(application):
        named.update(endpoint.event_types or ())
        all_of_them = all_of_them or endpoint.event_types is None
    return {
        "appId": application.id,
        "explicitlySubscribedEventTypes": sorted(named),
        "hasCatchAllEndpoint": all_of_them,
    }
