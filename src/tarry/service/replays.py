"""Tasks on request: deliver again, deliver missed messages, delete payloads."""

from collections.abc import Callable

from tarry.service.fields import check_seconds
from tarry.service.model import ids
from tarry.service.model.application import Application
from tarry.service.model.audit import Action
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.replay import ReplayFilter
from tarry.service.model.task import MOST_PENDING, Task, Work
from tarry.service.store.contract import Store
from tarry.service.store.kinds import Endpoints


class Replays:
    """The part of `Hooks` about tasks: each is on disk when it is returned, and done later.

    A recovery or replay may return an earlier task instead of a new one: one of the same kind
    that has not started and will do all of it. An endpoint has at most `MOST_PENDING` of them;
    a request for another one raises TooManyReplays.
    """

    store: Store
    environment: str
    new_id: Callable[[str], str]
    by: Callable[[str], Action]
    _now: Callable[[], float]

    async def recover(
        self, endpoint: Endpoint, *, since: float, until: float | None = None
    ) -> Task:
        """Send the failed deliveries of messages accepted in the period again, at a limited rate.

        Deliveries that failed and wait for their next attempt are sent earlier.
        """
        return await self._add_task(endpoint, Work.RECOVER, since, until)

    async def replay_missing(
        self, endpoint: Endpoint, *, since: float, until: float | None = None
    ) -> Task:
        """Deliver messages of the period that were never sent to an endpoint, at a limited rate.

        Messages that wait for their `deliver_at`, or that have no payload any more, are left out.
        """
        return await self._add_task(endpoint, Work.REPLAY_MISSING, since, until)

    async def bulk_replay(
        self,
        endpoint: Endpoint,
        wanted: ReplayFilter,
        *,
        since: float,
        until: float | None = None,
    ) -> Task:
        """Deliver messages of the period that match `wanted`, in any state, at a limited rate."""
        return await self._add_task(endpoint, Work.BULK_REPLAY, since, until, wanted)

    async def purge(self, application: Application) -> Task:
        """Delete the payloads of all messages that an application has received until now.

        Deliveries that still wait end as EXPUNGED when their turn comes.
        """
        now = self._now()
        task = Task(
            id=self.new_id(ids.TASK),
            work=Work.PURGE_CONTENT,
            environment=application.environment,
            application=application.id,
            until=now,
            created_at=now,
        )
        return await self.store.add_task(task, by=self.by("purge"))

    async def _add_task(
        self,
        endpoint: Endpoint,
        work: Work,
        since: float,
        until: float | None,
        wanted: ReplayFilter | None = None,
    ) -> Task:
        """Save a task that sends an endpoint's messages of a period again, and return it."""
        check_seconds("since", since)
        check_seconds("until", until)
        endpoint = await self.store.get(Endpoints(endpoint.application), endpoint.id)
        task = Task(
            id=self.new_id(ids.TASK),
            work=work,
            environment=self.environment,
            application=endpoint.application,
            endpoint=endpoint.id,
            lane=endpoint.lane,
            since=since,
            until=until,
            wanted=wanted,
            created_at=self._now(),
        )
        return await self.store.add_task(
            task, most_pending=MOST_PENDING, by=self.by(work.name.lower())
        )
