"""Statistics that somebody asked for: counted while all else goes on, and kept with their task."""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, assert_never  # what comes out is JSON

from tarry.errors import NotFound
from tarry.service.model.application import Application
from tarry.service.model.delivery import State
from tarry.service.model.task import Task, Work
from tarry.service.store.contract import Store
from tarry.service.store.walk import walk

APPLICATIONS = "appIds"
"""Of a task's data, before it is counted: which applications, if not all."""


async def counted(store: Store, task: Task) -> dict[str, Any]:
    """What comes out of a task that asks for statistics."""
    match task.work:
        case Work.APP_STATS:
            return {
                "appStats": [
                    {
                        "appId": one.id,
                        "appUid": one.uid,
                        "messageDestinations": await _destinations(store, one, task),
                    }
                    async for one in _applications(store, task)
                ]
            }
        case Work.EVENT_TYPE_STATS:
            return {
                "event_types": [
                    await _subscribed(store, one) async for one in _applications(store, task)
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


async def _applications(store: Store, task: Task) -> AsyncIterator[Application]:
    """Those that are asked for, as far as they are still there."""
    if APPLICATIONS not in task.data:
        async for one in walk(lambda cut: store.list_applications(task.environment, cut)):
            yield one
        return
    for known in task.data[APPLICATIONS]:
        with suppress(NotFound):
            yield await store.application(task.environment, known)


async def _destinations(store: Store, application: Application, task: Task) -> int:
    """To how many endpoints its messages of that time went, all together."""
    total = 0
    async for endpoint in walk(lambda cut: store.list_endpoints(application.id, cut)):
        found = await store.count_deliveries(endpoint, since=task.since, until=task.end)
        total += sum(many for (state, _), many in found.items() if state is not State.SKIPPED)
    return total


async def _subscribed(store: Store, application: Application) -> dict[str, Any]:
    named, all_of_them = set[str](), False
    async for endpoint in walk(lambda cut: store.list_endpoints(application.id, cut)):
        named.update(endpoint.event_types or ())
        all_of_them = all_of_them or endpoint.event_types is None
    return {
        "appId": application.id,
        "explicitlySubscribedEventTypes": sorted(named),
        "hasCatchAllEndpoint": all_of_them,
    }
