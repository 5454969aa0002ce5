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

Result = TypeVar("Result")


async def count_statistics(store: Store, task: Task, query_lock: asyncio.Lock) -> dict[str, Any]:
    """Return the result of a task that counts; `query_lock` is held during each query."""
    queries = _Queries(store, query_lock)
    match task.work:
        case Work.APP_STATS:
            return {
                "appStats": [
                    {
                        "appId": application.id,
                        "appUid": application.uid,
                        "messageDestinations": await _destinations(queries, application, task),
                    }
                    async for application in _applications(queries, task)
                ]
            }
        case Work.EVENT_TYPE_STATS:
            return {
                "event_types": [
                    await _subscribed(queries, application)
                    async for application in _applications(queries, task)
                ]
            }
        case (
            Work.RECOVER
            | Work.REPLAY_MISSING
            | Work.BULK_REPLAY
            | Work.DISCARD
            | Work.ERASE
            | Work.PURGE_CONTENT
        ):
            raise ValueError(f"{task.work} is done in pieces, there is nothing to count")
        case _:
            assert_never(task.work)


class _Queries:
    """Queries the store when it is this count's turn."""

    def __init__(self, store: Store, query_lock: asyncio.Lock) -> None:
        self.store, self._query_lock = store, query_lock

    async def answer(self, ask: Callable[[], Awaitable[Result]]) -> Result:
        """Return the store's answer to a query."""
        async with self._query_lock:
            return await ask()

    def endpoints(self, application: Application) -> AsyncIterator[Endpoint]:
        """Yield all endpoints of an application."""
        kind, page = Endpoints(application.id), self.store.page
        return all_pages(lambda cut: self.answer(lambda: page(kind, cut)))


async def _applications(queries: _Queries, task: Task) -> AsyncIterator[Application]:
    """Yield the applications that the task asks for and that still exist."""
    store, kind = queries.store, Applications(task.environment)
    if APPLICATIONS not in task.data:
        page = store.page
        async for application in all_pages(lambda cut: queries.answer(lambda: page(kind, cut))):
            yield application
        return
    for application_id in task.data[APPLICATIONS]:
        with suppress(NotFound):
            yield await queries.answer(partial(store.get, kind, application_id))


async def _destinations(queries: _Queries, application: Application, task: Task) -> int:
    """Return how many deliveries its messages of the task's period had, without skipped ones."""
    total = 0
    async for endpoint in queries.endpoints(application):
        counts = await queries.answer(
            partial(queries.store.count_deliveries, endpoint, since=task.since, until=task.end)
        )
        total += sum(count for (state, _), count in counts.items() if state is not State.SKIPPED)
    return total


async def _subscribed(queries: _Queries, application: Application) -> dict[str, Any]:
    named, all_of_them = set[str](), False
    async for endpoint in queries.endpoints(application):
        named.update(endpoint.event_types or ())
        all_of_them = all_of_them or endpoint.event_types is None
    return {
        "appId": application.id,
        "explicitlySubscribedEventTypes": sorted(named),
        "hasCatchAllEndpoint": all_of_them,
    }
