"""Lists: page by page, forwards and backwards, in both orders, and with filters."""

from msgspec.structs import replace

from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.ids import APPLICATION, ENDPOINT, MESSAGE, TASK, made_at
from tarry.service.model.listing import Cut, DeliveryFilter, MessageFilter
from tarry.service.model.message import Message
from tarry.service.model.task import Task, Work
from tarry.service.store.contract import Retention
from tarry.service.store.kinds import Applications, DeliveriesTo, Endpoints, Messages, Tasks
from tarry.testing.samples import (
    ENVIRONMENT,
    NOON,
    a_task,
    an_application,
    an_endpoint,
    delivered,
    new_id,
    new_message,
)
from tarry.testing.store_contract.pages import ALL, MILLISECOND, check_gone, check_pages
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic

ODD = ('","', 'a"b', "it's", "é\\n", "[]", "")
"""Words that a careless query confuses with others."""


class ListingContract(Topic):
    """Applications, endpoints, messages and tasks."""

    async def test_applications_are_listed_without_deleted_and_foreign_ones(
        self, scene: Scene
    ) -> None:
        store = scene.store
        made = [scene.application, *[an_application() for _ in range(5)]]
        for application in reversed(made[1:]):
            await store.put(application)
        await store.put(an_application(environment="org_other"))
        await store.delete(Applications(made[2].environment), made[2].id, now=NOON)
        kept = [*made[:2], *made[3:]]

        async def ask(cut: Cut) -> list[Application]:
            return (await store.page(Applications(ENVIRONMENT), cut)).entries

        await check_pages(ask, kept, lambda one: one.id)
        await check_gone(ask, kept, 2, made[2].id)
        await check_gone(ask, kept, len(kept), new_id(APPLICATION))
        assert (await store.page(Applications("org_nobody"), ALL)).entries == []

    async def test_endpoints_are_listed_without_deleted_and_foreign_ones(
        self, scene: Scene
    ) -> None:
        store = scene.store
        made = [scene.endpoint, *[await scene.add_endpoint() for _ in range(5)]]
        other = an_application()
        await store.put(other)
        foreign = await store.put(an_endpoint(other))
        await scene.delete_endpoint(made[3])
        kept = [*made[:3], *made[4:]]

        async def ask(cut: Cut) -> list[Endpoint]:
            return (await store.page(Endpoints(scene.application.id), cut)).entries

        await check_pages(ask, kept, lambda one: one.id)
        await check_gone(ask, kept, 3, made[3].id)
        await check_gone(ask, kept, len(kept), new_id(ENDPOINT))
        assert (await store.page(Endpoints(other.id), ALL)).entries == [foreign]
        assert (await store.page(Endpoints("app_nobody"), ALL)).entries == []

    async def test_messages_are_listed_without_swept_and_foreign_ones(self, scene: Scene) -> None:
        store = scene.store
        made = [await scene.add() for _ in range(2)]
        gone = await scene.add(accepted_at=NOON - 100)
        made += [await scene.add() for _ in range(3)]
        await scene.settle(*map(delivered, await scene.due()))
        other = an_application()
        await store.put(other)
        await store.add([new_message(other)])
        assert await store.sweep(Retention(messages_before=NOON - 50), limit=10)

        async def ask(cut: Cut) -> list[Message]:
            return (await store.page(Messages(scene.application.id, MessageFilter()), cut)).entries

        await check_pages(ask, made, lambda one: one.id)
        await check_gone(ask, made, 2, gone.id)
        await check_gone(ask, made, len(made), new_id(MESSAGE))
        assert (await store.page(Messages("app_nobody", MessageFilter()), ALL)).entries == []

    async def test_messages_of_a_span_of_time_begin_with_its_first_millisecond(
        self, scene: Scene
    ) -> None:
        made = [await scene.add() for _ in range(5)]
        second, fourth = made_at(made[1].id), made_at(made[3].id)
        for wanted, found in [
            (MessageFilter(after=second), made[1:]),
            (MessageFilter(after=second + MILLISECOND / 2), made[1:]),
            (MessageFilter(after=second + MILLISECOND), made[2:]),
            (MessageFilter(before=fourth), made[:3]),
            (MessageFilter(before=fourth + MILLISECOND), made[:4]),
            (MessageFilter(after=second, before=fourth), made[1:3]),
            (MessageFilter(after=fourth, before=second), []),
        ]:
            await self._check_messages(scene, wanted, found)

    async def test_messages_are_chosen_by_channel_tag_and_type_of_event(self, scene: Scene) -> None:
        one = await scene.add(channels=("eu", "us"), tags=("big",), event_type="a")
        two = await scene.add(channels=("eu",), tags=("small", "red"), event_type="b")
        three = await scene.add(channels=("us",), tags=("big", "red"), event_type="a.b")
        four = await scene.add(event_type="b")
        for wanted, found in [
            (MessageFilter(channel="eu"), [one, two]),
            (MessageFilter(channel="e"), []),
            (MessageFilter(tag="red"), [two, three]),
            (MessageFilter(tag="eu"), []),
            (MessageFilter(event_types=("b",)), [two, four]),
            (MessageFilter(event_types=("a", "a.b")), [one, three]),
            (MessageFilter(event_types=()), []),
            (MessageFilter(channel="us", tag="big"), [one, three]),
            (MessageFilter(channel="us", tag="big", event_types=("a",)), [one]),
            (MessageFilter(channel="eu", after=made_at(two.id)), [two]),
            (MessageFilter(tag="red", before=made_at(three.id)), [two]),
        ]:
            await self._check_messages(scene, wanted, found)

    async def test_a_word_is_looked_for_as_it_is_and_whole(self, scene: Scene) -> None:
        await scene.add(channels=("x", "y"), tags=("x", "y"))
        made = [await scene.add(channels=(word, "z"), tags=("z", word)) for word in ODD]
        for word, message in zip(ODD, made, strict=True):
            await self._check_messages(scene, MessageFilter(channel=word), [message])
            await self._check_messages(scene, MessageFilter(tag=word), [message])

    async def test_what_fits_is_found_however_far_away_it_is(self, scene: Scene) -> None:
        near = await scene.add(tags=("rare",))
        await scene.store.add([new_message(scene.application) for _ in range(40)])
        far = await scene.add(tags=("rare",))
        await self._check_messages(scene, MessageFilter(tag="rare"), [near, far])
        await self._check_messages(scene, MessageFilter(tag="none"), [])
        wanted = DeliveryFilter(message=MessageFilter(tag="rare"))
        for limit in (1, 2, 3):
            cut = Cut(limit=limit, descending=True)
            found = (await scene.store.page(DeliveriesTo(scene.endpoint, wanted), cut)).entries
            assert [message for message, _ in found] == [far, near][:limit]

    async def test_tasks_are_listed_also_of_applications_that_were_deleted(
        self, scene: Scene
    ) -> None:
        store = scene.store
        foreign = an_application(environment="org_other")
        gone = an_application()
        for application in (foreign, gone):
            await store.put(application)
        theirs = await store.put(an_endpoint(foreign))
        await store.put(an_endpoint(gone))
        await store.add_task(a_task(theirs, Work.RECOVER, environment=foreign.environment))
        works = (Work.RECOVER, Work.REPLAY_MISSING, Work.RECOVER, Work.RECOVER)
        made = [a_task(scene.endpoint, work) for work in works]
        made.append(replace(made[0], id=new_id(TASK), application="", endpoint="", lane=0))
        for task in made:
            await store.add_task(task)
        made += await store.delete(Applications(gone.environment), gone.id, now=NOON)
        made[2] = await store.advance(made[2], now=NOON, limit=1, lease=scene.lease)
        assert made[2].finished_at is not None
        made.sort(key=lambda task: task.id)

        async def ask(cut: Cut) -> list[Task]:
            return (await store.page(Tasks(ENVIRONMENT), cut)).entries

        await check_pages(ask, made, lambda task: task.id)
        await check_gone(ask, made, len(made), new_id(TASK))
        for work in (None, *Work):
            for finished in (None, True, False):
                wanted = [
                    task
                    for task in made
                    if work in (None, task.work)
                    and finished in (None, task.finished_at is not None)
                ]
                for limit in (1, 100):
                    found = (
                        await store.page(
                            Tasks(ENVIRONMENT, work=work, finished=finished), Cut(limit=limit)
                        )
                    ).entries
                    assert found == wanted[:limit]
        assert (await store.page(Tasks("org_nobody"), ALL)).entries == []

    async def _check_messages(
        self, scene: Scene, wanted: MessageFilter, found: list[Message]
    ) -> None:
        async def ask(cut: Cut) -> list[Message]:
            return (await scene.store.page(Messages(scene.application.id, wanted), cut)).entries

        await check_pages(ask, found, lambda message: message.id)
