"""Statistics of an environment over HTTP: they are counted in the background."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from tarry.errors import NotFound
from tarry.service.api.access import Need
from tarry.service.api.call import Call
from tarry.service.api.messages import Name
from tarry.service.api.operation import Group
from tarry.service.api.problem import Invalid
from tarry.service.api.tasks import TaskStarted, started
from tarry.service.api.times import Instant, seconds
from tarry.service.dispatch.upkeep.statistics import APPLICATIONS
from tarry.service.model import ids
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

    In the end the task's `data` holds `appStats`: `appId`, `appUid` and `messageDestinations` of
    each.
    """
    since, until = seconds(body.since) or 0.0, seconds(body.until) or 0.0
    if until < since:
        raise Invalid(["body", "until"], "it must not be before `since`")
    known, unresolved = await _asked_for(call, body.app_ids)
    task = await _asked(
        call,
        Work.APP_STATS,
        since=since,
        until=until,
        data={} if known is None else {APPLICATIONS: known},
    )
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

    In the end the task's `data` holds `event_types`: `appId`, `explicitlySubscribedEventTypes` and
    `hasCatchAllEndpoint` of each.
    """
    return started(await _asked(call, Work.EVENT_TYPE_STATS))


async def _asked_for(call: Call, names: list[str] | None) -> tuple[list[str] | None, list[str]]:
    """The ids of the applications that are named, if any are; the names of which there is none."""
    if names is None:
        return None, []
    found, unresolved = dict[str, None](), list[str]()
    for name in names:
        try:
            one = await call.hooks.store.application(call.who.environment, name)
        except NotFound:
            unresolved.append(name)
        else:
            found[one.id] = None
    if not found:
        raise Invalid(["body", "appIds"], "there is none of these applications")
    return list(found), unresolved


async def _asked(call: Call, work: Work, **values: Any) -> Task:  # noqa: ANN401  what a task has
    """A task on record, to be counted."""
    task = Task(
        id=call.new_id(ids.TASK),
        work=work,
        environment=call.who.environment,
        created_at=call.now,
        **values,
    )
    await call.hooks.store.add_task(task)
    return task
