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
        applications = [scene.application, *[an_application() for _ in range(5)]]
        for application in reversed(applications[1:]):
            await store.put(application)
        await store.put(an_application(environment="org_other"))
        await store.delete(Applications(applications[2].environment), applications[2].id, now=NOON)
        listed = [*applications[:2], *applications[3:]]

        async def read_page(cut: Cut) -> list[Application]:
            return (await store.page(Applications(ENVIRONMENT), cut)).entries

        await check_pages(read_page, listed, lambda application: application.id)
        await check_gone(read_page, listed, 2, applications[2].id)
        await check_gone(read_page, listed, len(listed), new_id(APPLICATION))
        assert (await store.page(Applications("org_nobody"), ALL)).entries == []

    async def test_endpoints_are_listed_without_deleted_and_foreign_ones(
        self, scene: Scene
    ) -> None:
        store = scene.store
        endpoints = [scene.endpoint, *[await scene.add_endpoint() for _ in range(5)]]
        other = an_application()
        await store.put(other)
        foreign = await store.put(an_endpoint(other))
        await scene.delete_endpoint(endpoints[3])
        listed = [*endpoints[:3], *endpoints[4:]]

        async def read_page(cut: Cut) -> list[Endpoint]:
            return (await store.page(Endpoints(scene.application.id), cut)).entries

        await check_pages(read_page, listed, lambda endpoint: endpoint.id)
        await check_gone(read_page, listed, 3, endpoints[3].id)
        await check_gone(read_page, listed, len(listed), new_id(ENDPOINT))
        assert (await store.page(Endpoints(other.id), ALL)).entries == [foreign]
        assert (await store.page(Endpoints("app_nobody"), ALL)).entries == []

    async def test_messages_are_listed_without_swept_and_foreign_ones(self, scene: Scene) -> None:
        store = scene.store
        messages = [await scene.add() for _ in range(2)]
        removed = await scene.add(accepted_at=NOON - 100)
        messages += [await scene.add() for _ in range(3)]
        await scene.settle(*map(delivered, await scene.due()))
        other = an_application()
        await store.put(other)
        await store.add([new_message(other)])
        assert await store.sweep(Retention(messages_before=NOON - 50), limit=10)

        async def read_page(cut: Cut) -> list[Message]:
            return (await store.page(Messages(scene.application.id, MessageFilter()), cut)).entries

        await check_pages(read_page, messages, lambda message: message.id)
        await check_gone(read_page, messages, 2, removed.id)
        await check_gone(read_page, messages, len(messages), new_id(MESSAGE))
        assert (await store.page(Messages("app_nobody", MessageFilter()), ALL)).entries == []

    async def test_messages_of_a_span_of_time_begin_with_its_first_millisecond(
        self, scene: Scene
    ) -> None:
        messages = [await scene.add() for _ in range(5)]
        second, fourth = made_at(messages[1].id), made_at(messages[3].id)
        for message_filter, expected in [
            (MessageFilter(after=second), messages[1:]),
            (MessageFilter(after=second + MILLISECOND / 2), messages[1:]),
            (MessageFilter(after=second + MILLISECOND), messages[2:]),
            (MessageFilter(before=fourth), messages[:3]),
            (MessageFilter(before=fourth + MILLISECOND), messages[:4]),
            (MessageFilter(after=second, before=fourth), messages[1:3]),
            (MessageFilter(after=fourth, before=second), []),
        ]:
            await self._check_messages(scene, message_filter, expected)

    async def test_messages_are_chosen_by_channel_tag_and_type_of_event(self, scene: Scene) -> None:
        first = await scene.add(channels=("eu", "us"), tags=("big",), event_type="a")
        second = await scene.add(channels=("eu",), tags=("small", "red"), event_type="b")
        third = await scene.add(channels=("us",), tags=("big", "red"), event_type="a.b")
        fourth = await scene.add(event_type="b")
        for message_filter, expected in [
            (MessageFilter(channel="eu"), [first, second]),
            (MessageFilter(channel="e"), []),
            (MessageFilter(tag="red"), [second, third]),
            (MessageFilter(tag="eu"), []),
            (MessageFilter(event_types=("b",)), [second, fourth]),
            (MessageFilter(event_types=("a", "a.b")), [first, third]),
            (MessageFilter(event_types=()), []),
            (MessageFilter(channel="us", tag="big"), [first, third]),
            (MessageFilter(channel="us", tag="big", event_types=("a",)), [first]),
            (MessageFilter(channel="eu", after=made_at(second.id)), [second]),
            (MessageFilter(tag="red", before=made_at(third.id)), [second]),
        ]:
            await self._check_messages(scene, message_filter, expected)

    async def test_a_word_is_looked_for_as_it_is_and_whole(self, scene: Scene) -> None:
        await scene.add(channels=("x", "y"), tags=("x", "y"))
        messages = [await scene.add(channels=(word, "z"), tags=("z", word)) for word in ODD]
        for word, message in zip(ODD, messages, strict=True):
            await self._check_messages(scene, MessageFilter(channel=word), [message])
            await self._check_messages(scene, MessageFilter(tag=word), [message])

    async def test_matching_messages_are_found_behind_many_that_do_not_match(
        self, scene: Scene
    ) -> None:
        near = await scene.add(tags=("rare",))
        await scene.store.add([new_message(scene.application) for _ in range(40)])
        far_message = await scene.add(tags=("rare",))
        await self._check_messages(scene, MessageFilter(tag="rare"), [near, far_message])
        await self._check_messages(scene, MessageFilter(tag="none"), [])
        rare_filter = DeliveryFilter(message=MessageFilter(tag="rare"))
        for limit in (1, 2, 3):
            cut = Cut(limit=limit, descending=True)
            entries = (
                await scene.store.page(DeliveriesTo(scene.endpoint, rare_filter), cut)
            ).entries
            assert [message for message, _ in entries] == [far_message, near][:limit]

    async def test_tasks_are_listed_also_of_applications_that_were_deleted(
        self, scene: Scene
    ) -> None:
        store = scene.store
        foreign = an_application(environment="org_other")
        removed = an_application()
        for application in (foreign, removed):
            await store.put(application)
        foreign_endpoint = await store.put(an_endpoint(foreign))
        await store.put(an_endpoint(removed))
        await store.add_task(
            a_task(foreign_endpoint, Work.RECOVER, environment=foreign.environment)
        )
        works = (Work.RECOVER, Work.REPLAY_MISSING, Work.RECOVER, Work.RECOVER)
        tasks = [a_task(scene.endpoint, work) for work in works]
        tasks.append(replace(tasks[0], id=new_id(TASK), application="", endpoint="", lane=0))
        for task in tasks:
            await store.add_task(task)
        tasks += await store.delete(Applications(removed.environment), removed.id, now=NOON)
        tasks[2] = await store.advance(tasks[2], now=NOON, limit=1, lease=scene.lease)
        assert tasks[2].finished_at is not None
        tasks.sort(key=lambda task: task.id)

        async def read_page(cut: Cut) -> list[Task]:
            return (await store.page(Tasks(ENVIRONMENT), cut)).entries

        await check_pages(read_page, tasks, lambda task: task.id)
        await check_gone(read_page, tasks, len(tasks), new_id(TASK))
        for work in (None, *Work):
            for finished in (None, True, False):
                expected = [
                    task
                    for task in tasks
                    if work in (None, task.work)
                    and finished in (None, task.finished_at is not None)
                ]
                for limit in (1, 100):
                    entries = (
                        await store.page(
                            Tasks(ENVIRONMENT, work=work, finished=finished), Cut(limit=limit)
                        )
                    ).entries
                    assert entries == expected[:limit]
        assert (await store.page(Tasks("org_nobody"), ALL)).entries == []

    async def _check_messages(
        self, scene: Scene, message_filter: MessageFilter, messages: list[Message]
    ) -> None:
        """Check that pages with this filter list exactly these messages."""

        async def read_page(cut: Cut) -> list[Message]:
            return (
                await scene.store.page(Messages(scene.application.id, message_filter), cut)
            ).entries

        await check_pages(read_page, messages, lambda message: message.id)
