"""Statistics that users asked for: counted beside all other work, and kept with their task."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, assert_never  # Any: the results are JSON

from tarry.errors import NotFound
from tarry.service.model.application import Application
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.task import Task, Work
from tarry.service.store.all_pages import all_pages
from tarry.service.store.contract import Store
from tarry.service.store.kinds import Applications, Endpoints

APPLICATIONS = "appIds"
"""The key in a task's data that lists the applications to count, if not all."""

Found = TypeVar("Found")


async def counted(store: Store, task: Task, question: asyncio.Lock) -> dict[str, Any]:
    """Return the result of a task that counts; `question` is held during each query."""
    asking = _Asking(store, question)
    match task.work:
        case Work.APP_STATS:
            return {
                "appStats": [
                    {
                        "appId": application.id,
                        "appUid": application.uid,
                        "messageDestinations": await _destinations(asking, application, task),
                    }
                    async for application in _applications(asking, task)
                ]
            }
        case Work.EVENT_TYPE_STATS:
            return {
                "event_types": [
                    await _subscribed(asking, application)
                    async for application in _applications(asking, task)
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
    """Queries the store when it is this count's turn."""

    def __init__(self, store: Store, question: asyncio.Lock) -> None:
        self.store, self._question = store, question

    async def answer(self, ask: Callable[[], Awaitable[Found]]) -> Found:
        """Return the store's answer to a query."""
        async with self._question:
            return await ask()

    def endpoints(self, application: Application) -> AsyncIterator[Endpoint]:
        """Yield all endpoints of an application."""
        kind, page = Endpoints(application.id), self.store.page
        return all_pages(lambda cut: self.answer(lambda: page(kind, cut)))


async def _applications(asking: _Asking, task: Task) -> AsyncIterator[Application]:
    """Yield the applications that the task asks for and that still exist."""
    store, kind = asking.store, Applications(task.environment)
    if APPLICATIONS not in task.data:
        page = store.page
        async for application in all_pages(lambda cut: asking.answer(lambda: page(kind, cut))):
            yield application
        return
    for application_id in task.data[APPLICATIONS]:
        with suppress(NotFound):
            yield await asking.answer(partial(store.get, kind, application_id))


async def _destinations(asking: _Asking, application: Application, task: Task) -> int:
    """Return how many deliveries its messages of the task's period had, without skipped ones."""
    total = 0
    async for endpoint in asking.endpoints(application):
        counts = await asking.answer(
            partial(asking.store.count_deliveries, endpoint, since=task.since, until=task.end)
        )
        total += sum(count for (state, _), count in counts.items() if state is not State.SKIPPED)
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
