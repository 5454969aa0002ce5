"""Operations that start background tasks which count an environment's statistics."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from tarry.errors import NotFound
from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Group
from tarry.service.api.http.problem import Invalid
from tarry.service.api.http.times import Instant, seconds
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.environment.tasks import TaskStarted, task_started
from tarry.service.api.resources.messages.bodies import Name
from tarry.service.dispatch.upkeep.statistics import APPLICATIONS
from tarry.service.model import ids
from tarry.service.model.task import Task, Work
from tarry.service.store.kinds import Applications

ACCEPTED = 202

group = Group("Statistics", "v1.statistics")


class UsageIn(Struct, rename="camel"):
    """The period to count, and which applications; all if none are given."""

    since: Instant
    until: Instant
    app_ids: Annotated[list[Name], Meta(min_length=1, max_length=1000)] | None = None


class UsageOut(TaskStarted, rename="camel", kw_only=True):
    """The task, and which applications do not exist."""

    unresolved_app_ids: list[str]


@group.post("/stats/usage/app", needs=Need.LOOK, status=ACCEPTED)
async def aggregate_app_stats(call: Call, body: UsageIn) -> UsageOut:
    """Count the deliveries of each application in a period.

    When the task has finished, its `data` has `appStats`: the `appId`, `appUid` and
    `messageDestinations` of each application.
    """
    since, until = seconds(body.since) or 0.0, seconds(body.until) or 0.0
    if until < since:
        raise Invalid(["body", "until"], "it must not be before `since`")
    application_ids, unresolved = await _resolve_ids(call, body.app_ids)
    task = await _start_task(
        call,
        Work.APP_STATS,
        since=since,
        until=until,
        data={} if application_ids is None else {APPLICATIONS: application_ids},
    )
    response = task_started(task)
    return UsageOut(
        id=response.id,
        status=response.status,
        task=response.task,
        updated_at=response.updated_at,
        unresolved_app_ids=unresolved,
    )


@group.put("/stats/usage/event-types", needs=Need.LOOK, status=ACCEPTED)
async def aggregate_event_types(call: Call) -> TaskStarted:
    """Collect the event types that the endpoints of each application subscribe to.

    When the task has finished, its `data` has `event_types`: the `appId`,
    `explicitlySubscribedEventTypes` and `hasCatchAllEndpoint` of each application.
    """
    return task_started(await _start_task(call, Work.EVENT_TYPE_STATS))


async def _resolve_ids(call: Call, names: list[str] | None) -> tuple[list[str] | None, list[str]]:
    """Return the ids of the named applications (None for all), and the names that do not exist."""
    if names is None:
        return None, []
    application_ids, unresolved = dict[str, None](), list[str]()
    for name in names:
        try:
            application = await call.hooks.store.get(Applications(call.caller.environment), name)
        except NotFound:
            unresolved.append(name)
        else:
            application_ids[application.id] = None
    if not application_ids:
        raise Invalid(["body", "appIds"], "none of these applications exists")
    return list(application_ids), unresolved


async def _start_task(call: Call, work: Work, **values: Any) -> Task:  # noqa: ANN401  the fields of a task
    """Store a task and return it."""
    task = Task(
        id=call.new_id(ids.TASK),
        work=work,
        environment=call.caller.environment,
        created_at=call.now,
        **values,
    )
    await call.hooks.store.add_task(task)
    return task
