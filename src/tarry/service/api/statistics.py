"""Statistics of an environment over HTTP: counted at once, and kept as a background task."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from tarry.errors import NotFound
from tarry.service.api import walk
from tarry.service.api.access import Need
from tarry.service.api.call import Call
from tarry.service.api.messages import Name
from tarry.service.api.operation import Group
from tarry.service.api.problem import Invalid
from tarry.service.api.tasks import TaskStarted, started
from tarry.service.api.times import Instant, seconds
from tarry.service.model import ids
from tarry.service.model.application import Application
from tarry.service.model.delivery import State
from tarry.service.model.task import Task, Work

ACCEPTED = 202

group = Group("Statistics", "v1.statistics")


class UsageIn(Struct, rename="camel"):
    """Which time is to be counted, and which applications, if not all."""

    since: Instant
    until: Instant
    app_ids: Annotated[list[Name], Meta(min_length=1, max_length=1000)] | None = None


class UsageOut(TaskStarted, rename="camel", kw_only=True):
    """A task that was put on record, and which applications were not found."""

    unresolved_app_ids: list[str]


@group.post("/stats/usage/app", needs=Need.LOOK, status=ACCEPTED)
async def aggregate_app_stats(call: Call, body: UsageIn) -> UsageOut:
    """Count how many messages went to how many endpoints, application by application.

    The task's `data` holds `appStats`: `appId`, `appUid` and `messageDestinations` of each.
    """
    since, until = seconds(body.since) or 0.0, seconds(body.until) or 0.0
    if until < since:
        raise Invalid(["body", "until"], "it must not be before `since`")
    found, unresolved = await _asked_for(call, body.app_ids)
    counted = await call.hooks.store.count_messages(call.who.environment, since=since, until=until)
    busy = {application for application, _ in counted}
    stats = [
        {
            "appId": one.id,
            "appUid": one.uid,
            "messageDestinations": await _destinations(call, one, since, until)
            if one.id in busy
            else 0,
        }
        for one in found
    ]
    task = await _kept(call, Work.APP_STATS, {"appStats": stats})
    told = started(task)
    return UsageOut(
        id=told.id,
        status=told.status,
        task=told.task,
        updated_at=told.updated_at,
        unresolved_app_ids=unresolved,
    )


@group.put("/stats/usage/event-types", needs=Need.LOOK, status=ACCEPTED)
async def aggregate_event_types(call: Call) -> TaskStarted:
    """Find out which types of events the endpoints of each application are sent.

    The task's `data` holds `event_types`: `appId`, `explicitlySubscribedEventTypes` and
    `hasCatchAllEndpoint` of each.
    """
    stats = []
    async for application in walk.applications(call):
        named, all_of_them = set[str](), False
        async for endpoint in walk.endpoints(call, application):
            named.update(endpoint.event_types or ())
            all_of_them = all_of_them or endpoint.event_types is None
        stats.append(
            {
                "appId": application.id,
                "explicitlySubscribedEventTypes": sorted(named),
                "hasCatchAllEndpoint": all_of_them,
            }
        )
    return started(await _kept(call, Work.EVENT_TYPE_STATS, {"event_types": stats}))


async def _asked_for(call: Call, names: list[str] | None) -> tuple[list[Application], list[str]]:
    """The applications that are named, or all; and the names of which there is none."""
    if names is None:
        return [one async for one in walk.applications(call)], []
    found, unresolved = dict[str, Application](), list[str]()
    for name in names:
        try:
            one = await call.hooks.store.application(call.who.environment, name)
        except NotFound:
            unresolved.append(name)
        else:
            found[one.id] = one
    if not found:
        raise Invalid(["body", "appIds"], "there is none of these applications")
    return list(found.values()), unresolved


async def _destinations(call: Call, application: Application, since: float, until: float) -> int:
    """To how many endpoints its messages of that time went, all together."""
    total = 0
    async for endpoint in walk.endpoints(call, application):
        counted = await call.hooks.store.count_deliveries(endpoint, since=since, until=until)
        total += sum(many for (state, _), many in counted.items() if state is not State.SKIPPED)
    return total


async def _kept(call: Call, work: Work, data: dict[str, Any]) -> Task:
    """A task that is done already, on record."""
    task = Task(
        id=call.new_id(ids.TASK),
        work=work,
        environment=call.who.environment,
        data=data,
        created_at=call.now,
        finished_at=call.now,
    )
    await call.hooks.store.add_task(task)
    return task
