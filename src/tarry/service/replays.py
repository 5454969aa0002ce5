"""Long work that people ask for: deliver again, deliver what was missed, forget payloads."""

from collections.abc import Callable

from tarry.service.fields import check_seconds
from tarry.service.model import ids
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.replay import ReplayFilter
from tarry.service.model.task import MOST_PENDING, Task, Work
from tarry.service.store.contract import Store


class Replays:
    """The part of `Hooks` about tasks: each is on disk when it is returned, and done later.

    A recovery or replay that was asked for before may be returned again: one of the same kind that
    has not begun and will do all that is asked for. An endpoint has `MOST_PENDING` of them at most:
    TooManyReplays if another is asked for.
    """

    store: Store
    environment: str
    new_id: Callable[[str], str]
    _now: Callable[[], float]

    async def recover(
        self, endpoint: Endpoint, *, since: float, until: float | None = None
    ) -> Task:
        """Deliver again what failed, of the messages accepted in that time; at a pace.

        What failed and waits for its next attempt is brought forward.
        """
        return await self._replay(endpoint, Work.RECOVER, since, until)

    async def replay_missing(
        self, endpoint: Endpoint, *, since: float, until: float | None = None
    ) -> Task:
        """Deliver what was never sent to an endpoint, of that time; at a pace.

        Messages that wait for a time of their own, or have no payload any more, are left alone.
        """
        return await self._replay(endpoint, Work.REPLAY_MISSING, since, until)

    async def bulk_replay(
        self,
        endpoint: Endpoint,
        wanted: ReplayFilter,
        *,
        since: float,
        until: float | None = None,
    ) -> Task:
        """Deliver what is wanted, whatever became of it, of that time; at a pace."""
        return await self._replay(endpoint, Work.BULK_REPLAY, since, until, wanted)

    async def purge(self, application: Application) -> Task:
        """Forget the payloads of all messages that an application has got until now.

        What still waits ends as EXPUNGED when its turn comes.
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
        return await self.store.add_task(task)

    async def _replay(
        self,
        endpoint: Endpoint,
        work: Work,
        since: float,
        until: float | None,
        wanted: ReplayFilter | None = None,
    ) -> Task:
        check_seconds("since", since)
        check_seconds("until", until)
        endpoint = await self.store.endpoint(endpoint.application, endpoint.id)
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
        return await self.store.add_task(task, most_pending=MOST_PENDING)
