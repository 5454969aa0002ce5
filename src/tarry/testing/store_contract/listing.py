# ruff: noqa: D102, S101  these are tests: a name is a sentence, and assert is how one speaks
"""Lists: page by page, forwards and backwards, in both orders, and only what is asked for."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.model.application import Application
from tarry.service.model.attempt import EXPUNGED, Attempt
from tarry.service.model.delivery import LIVE, Delivery, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.ids import APPLICATION, ATTEMPT, ENDPOINT, MESSAGE, TASK, made_at
from tarry.service.model.listing import AttemptFilter, Cut, DeliveryFilter, MessageFilter
from tarry.service.model.message import Message
from tarry.service.model.task import Task, Work
from tarry.service.store.contract import Retention
from tarry.testing.samples import (
    ENVIRONMENT,
    NOON,
    a_task,
    an_application,
    an_attempt,
    an_endpoint,
    delivered,
    failed,
    new_id,
    new_message,
    postponed,
    put_back,
)
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic

ALL = Cut(limit=100)
ODD = ('","', 'a"b', "it's", "é\\n", "[]", "")
"""Words that are easily taken for others."""
MILLISECOND = 0.001

Thing = TypeVar("Thing")


class ListingContract(Topic):
    """See `listing.Listing`."""

    async def test_applications_are_listed_without_deleted_and_foreign_ones(
        self, scene: Scene
    ) -> None:
        store = scene.store
        made = [scene.application, *[an_application() for _ in range(5)]]
        for application in reversed(made[1:]):
            await store.put_application(application)
        await store.put_application(an_application(environment="org_other"))
        await store.delete_application(made[2].id, now=NOON)
        kept = [*made[:2], *made[3:]]

        async def ask(cut: Cut) -> list[Application]:
            return await store.list_applications(ENVIRONMENT, cut)

        await _check_pages(ask, kept, lambda one: one.id)
        await _check_gone(ask, kept, 2, made[2].id)
        await _check_gone(ask, kept, len(kept), new_id(APPLICATION))
        assert await store.list_applications("org_nobody", ALL) == []

    async def test_endpoints_are_listed_without_deleted_and_foreign_ones(
        self, scene: Scene
    ) -> None:
        store = scene.store
        made = [scene.endpoint, *[await scene.add_endpoint() for _ in range(5)]]
        other = an_application()
        await store.put_application(other)
        foreign = await store.put_endpoint(an_endpoint(other))
        await scene.delete_endpoint(made[3])
        kept = [*made[:3], *made[4:]]

        async def ask(cut: Cut) -> list[Endpoint]:
            return await store.list_endpoints(scene.application.id, cut)

        await _check_pages(ask, kept, lambda one: one.id)
        await _check_gone(ask, kept, 3, made[3].id)
        await _check_gone(ask, kept, len(kept), new_id(ENDPOINT))
        assert await store.list_endpoints(other.id, ALL) == [foreign]
        assert await store.list_endpoints("app_nobody", ALL) == []

    async def test_messages_are_listed_without_swept_and_foreign_ones(self, scene: Scene) -> None:
        store = scene.store
        made = [await scene.add() for _ in range(2)]
        gone = await scene.add(accepted_at=NOON - 100)
        made += [await scene.add() for _ in range(3)]
        await scene.settle(*map(delivered, await scene.due()))
        other = an_application()
        await store.put_application(other)
        await store.add([new_message(other)])
        assert await store.sweep(Retention(messages_before=NOON - 50), limit=10)

        async def ask(cut: Cut) -> list[Message]:
            return await store.list_messages(scene.application.id, cut, MessageFilter())

        await _check_pages(ask, made, lambda one: one.id)
        await _check_gone(ask, made, 2, gone.id)
        await _check_gone(ask, made, len(made), new_id(MESSAGE))
        assert await store.list_messages("app_nobody", ALL, MessageFilter()) == []

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
            found = await scene.store.list_deliveries_to(scene.endpoint, cut, wanted)
            assert [message for message, _ in found] == [far, near][:limit]

    async def test_deliveries_are_listed_with_their_messages(self, scene: Scene) -> None:
        store = scene.store
        elsewhere = await scene.add_endpoint(channels=("eu",))
        here = [await scene.add() for _ in range(3)]
        foreign = await scene.add(channels=("eu",))
        here += [foreign, *[await scene.add() for _ in range(2)]]
        wanted = [(one, await scene.delivery(one)) for one in here]

        async def ask(cut: Cut) -> list[tuple[Message, Delivery]]:
            return await store.list_deliveries_to(scene.endpoint, cut, DeliveryFilter())

        async def ask_elsewhere(cut: Cut) -> list[tuple[Message, Delivery]]:
            return await store.list_deliveries_to(elsewhere, cut, DeliveryFilter())

        await _check_pages(ask, wanted, lambda pair: pair[0].id)
        only = [(foreign, await scene.delivery(foreign, elsewhere))]
        await _check_pages(ask_elsewhere, only, lambda pair: pair[0].id)
        await _check_gone(ask_elsewhere, only, 0, here[2].id)
        await _check_gone(ask_elsewhere, only, 1, here[4].id)

    async def test_a_mark_whose_delivery_was_swept_is_taken_by_its_time(self, scene: Scene) -> None:
        store = scene.store
        first = await scene.add(accepted_at=NOON - 100)
        kept = [await scene.add() for _ in range(3)]
        gone = await scene.add(accepted_at=NOON - 100)
        kept += [await scene.add() for _ in range(3)]
        await scene.settle(*map(delivered, await scene.due()))
        assert await store.sweep(Retention(messages_before=NOON - 50), limit=100)
        wanted = [(one, await scene.delivery(one)) for one in kept]

        async def ask(cut: Cut) -> list[tuple[Message, Delivery]]:
            return await store.list_deliveries_to(scene.endpoint, cut, DeliveryFilter())

        await _check_pages(ask, wanted, lambda pair: pair[0].id)
        await _check_gone(ask, wanted, 0, first.id)
        await _check_gone(ask, wanted, 3, gone.id)
        await _check_gone(ask, wanted, len(wanted), new_id(MESSAGE))

    async def test_deliveries_come_in_the_order_of_their_lane(self, scene: Scene) -> None:
        store = scene.store
        late = await scene.add_endpoint(channels=("eu",))
        before = await scene.add()
        after = await scene.add(channels=("eu",))
        await store.change_endpoint(
            late.application, late.id, lambda one: replace(one, channels=None)
        )
        task = a_task(late, Work.REPLAY_MISSING)
        await store.add_task(task)
        await store.advance(task, now=NOON, limit=10, lease=scene.lease)

        async def ask(cut: Cut) -> list[tuple[Message, Delivery]]:
            return await store.list_deliveries_to(late, cut, DeliveryFilter())

        found = await ask(ALL)
        assert [message for message, _ in found] == [after, before]
        await _check_pages(ask, found, lambda pair: pair[0].id)
        wanted = DeliveryFilter(message=MessageFilter(after=made_at(after.id)))
        assert await store.list_deliveries_to(late, ALL, wanted) == found[:1]
        wanted = DeliveryFilter(message=MessageFilter(before=made_at(after.id)))
        assert await store.list_deliveries_to(late, ALL, wanted) == found[1:]

    async def test_deliveries_are_chosen_by_state_and_whether_they_were_tried(
        self, scene: Scene
    ) -> None:
        made = [await scene.add(tags=(str(place % 2),)) for place in range(6)]
        due = await scene.due()
        await scene.settle(
            delivered(due[0]),
            failed(due[1]),
            postponed(due[2], NOON + 60),
            put_back(due[3]),
        )
        await scene.store.cancel(scene.application.id, made[4].id, now=NOON)
        for states, tried, places in [
            ({State.DELIVERED}, None, [0]),
            ({State.FAILED}, None, [1]),
            ({State.WAITING}, None, [2]),
            ({State.READY}, None, [3, 5]),
            ({State.CANCELLED}, None, [4]),
            (LIVE, None, [2, 3, 5]),
            (LIVE, True, [2, 3]),
            (LIVE, False, [5]),
            ({State.READY, State.FAILED}, None, [1, 3, 5]),
            ({State.FAILED, State.CANCELLED}, None, [1, 4]),
            ({State.DELIVERED, State.READY}, True, [0, 3]),
            (set(), None, []),
            (None, True, [0, 1, 2, 3]),
            (None, False, [4, 5]),
        ]:
            chosen = None if states is None else frozenset(states)
            wanted = DeliveryFilter(states=chosen, tried=tried)
            await self._check_deliveries(scene, wanted, [made[place] for place in places])
            tagged = replace(wanted, message=MessageFilter(tag="1"))
            odd = [made[place] for place in places if place % 2]
            await self._check_deliveries(scene, tagged, odd)

    async def test_deliveries_are_chosen_by_their_messages(self, scene: Scene) -> None:
        one = await scene.add(channels=("eu",), tags=("big",), event_type="a")
        two = await scene.add(channels=("us",), tags=("big",), event_type="b")
        three = await scene.add(channels=("eu",), tags=("small",), event_type="b")
        for wanted, found in [
            (MessageFilter(channel="eu"), [one, three]),
            (MessageFilter(tag="big"), [one, two]),
            (MessageFilter(event_types=("b", "c")), [two, three]),
            (MessageFilter(after=made_at(two.id)), [two, three]),
            (MessageFilter(before=made_at(three.id)), [one, two]),
            (MessageFilter(channel="eu", event_types=("b",), after=made_at(two.id)), [three]),
            (MessageFilter(channel="eu", tag="big", before=made_at(one.id)), []),
        ]:
            await self._check_deliveries(scene, DeliveryFilter(message=wanted), found)

    async def test_attempts_are_listed_by_endpoint_and_by_message(self, scene: Scene) -> None:
        store = scene.store
        second = await scene.add_endpoint()
        one, two = [await scene.add() for _ in range(2)]
        made: list[tuple[Attempt, Message, Endpoint]] = []
        for _ in range(3):
            for message, place in ((one, 0), (two, 1)):
                for endpoint in (scene.endpoint, second):
                    due = (await scene.due(lane=endpoint.lane))[place]
                    attempt = an_attempt(due, body=b"no")
                    await scene.settle(put_back(due, attempt=attempt))
                    made.append((attempt, message, endpoint))
        await scene.delete_endpoint(second)
        gone = await scene.row(second)

        async def ask_to(cut: Cut) -> list[tuple[Attempt, Message]]:
            return await store.list_attempts_to(scene.endpoint, cut, AttemptFilter())

        async def ask_of(cut: Cut) -> list[tuple[Attempt, Endpoint]]:
            return await store.list_attempts_of(one.id, cut, AttemptFilter())

        to = [(attempt, message) for attempt, message, at in made if at is scene.endpoint]
        await _check_pages(ask_to, to, lambda pair: pair[0].id)
        elsewhere = next(attempt for attempt, _, at in made if at is second)
        await _check_gone(ask_to, to, 1, elsewhere.id)
        await _check_gone(ask_to, to, len(to), new_id(ATTEMPT))
        of = [
            (attempt, gone.endpoint if at is second else at)
            for attempt, message, at in made
            if message is one
        ]
        await _check_pages(ask_of, of, lambda pair: pair[0].id)
        for lane in (scene.lane, second.lane):
            wanted = AttemptFilter(lane=lane)
            found = await store.list_attempts_of(one.id, ALL, wanted)
            assert found == [pair for pair in of if pair[0].lane == lane]
        assert await store.list_attempts_to(scene.endpoint, ALL, AttemptFilter(lane=-1)) == []
        assert await store.list_attempts_of("msg_nobody", ALL, AttemptFilter()) == []

    async def test_attempts_are_chosen_by_what_came_of_them_and_their_messages(
        self, scene: Scene
    ) -> None:
        store = scene.store
        message = await scene.add(channels=("eu",), tags=("big",), event_type="a")
        made: list[Attempt] = []
        for status, kind in [
            (500, "server error"),
            (None, "timeout"),
            (429, "throttled"),
            (503, "server error"),
            (200, None),
        ]:
            (due,) = await scene.due()
            made.append(an_attempt(due, status=status, kind=kind))
            await scene.settle(put_back(due, attempt=made[-1]))
        third = made_at(made[2].id)
        for wanted, places in [
            (AttemptFilter(succeeded=True), [4]),
            (AttemptFilter(succeeded=False), [0, 1, 2, 3]),
            (AttemptFilter(status_class=0), [1]),
            (AttemptFilter(status_class=100), []),
            (AttemptFilter(status_class=200), [4]),
            (AttemptFilter(status_class=400), [2]),
            (AttemptFilter(status_class=500), [0, 3]),
            (AttemptFilter(message=MessageFilter(after=third)), [2, 3, 4]),
            (AttemptFilter(message=MessageFilter(before=third)), [0, 1]),
            (AttemptFilter(message=MessageFilter(after=third), status_class=500), [3]),
            (AttemptFilter(message=MessageFilter(after=third), succeeded=False), [2, 3]),
            (AttemptFilter(message=MessageFilter(channel="eu", tag="big")), [0, 1, 2, 3, 4]),
            (AttemptFilter(message=MessageFilter(event_types=("a",)), succeeded=True), [4]),
            (AttemptFilter(message=MessageFilter(channel="us")), []),
            (AttemptFilter(message=MessageFilter(tag="small")), []),
            (AttemptFilter(message=MessageFilter(event_types=("b",))), []),
        ]:
            to = [(made[place], message) for place in places]
            of = [(made[place], scene.endpoint) for place in places]
            for limit in (1, 2, 100):
                cut = Cut(limit=limit)
                assert await store.list_attempts_to(scene.endpoint, cut, wanted) == to[:limit]
                assert await store.list_attempts_of(message.id, cut, wanted) == of[:limit]

    async def test_one_attempt_is_found_by_its_message(self, scene: Scene) -> None:
        store = scene.store
        message, other = await scene.add(), await scene.add()
        due = (await scene.due())[0]
        attempt = an_attempt(due, body=b"secret")
        await scene.settle(delivered(due, attempt=attempt))
        assert await store.attempt(message.id, attempt.id) == (attempt, scene.endpoint)
        for asked, known in [(other.id, attempt.id), (message.id, "atmpt_no"), ("msg_no", "x")]:
            with pytest.raises(NotFound, match=known):
                await store.attempt(asked, known)

    async def test_what_an_endpoint_answered_can_be_forgotten(self, scene: Scene) -> None:
        store = scene.store
        message, other = await scene.add(), await scene.add()
        one, two = [an_attempt(due, body=b"secret") for due in await scene.due()]
        due = await scene.due()
        await scene.settle(delivered(due[0], attempt=one), delivered(due[1], attempt=two))
        await store.expunge_attempt(message.id, one.id)
        await store.expunge_attempt(message.id, one.id)
        forgotten = replace(one, body=EXPUNGED)
        assert await store.attempt(message.id, one.id) == (forgotten, scene.endpoint)
        assert await store.attempts(message.id) == [forgotten]
        assert await store.attempts(other.id) == [two]
        for asked, known in [(other.id, one.id), (message.id, "atmpt_no"), ("msg_no", "x")]:
            with pytest.raises(NotFound, match=known):
                await store.expunge_attempt(asked, known)

    async def test_tasks_are_listed_also_of_applications_that_were_deleted(
        self, scene: Scene
    ) -> None:
        store = scene.store
        foreign = an_application(environment="org_other")
        gone = an_application()
        for application in (foreign, gone):
            await store.put_application(application)
        theirs = await store.put_endpoint(an_endpoint(foreign))
        await store.put_endpoint(an_endpoint(gone))
        await store.add_task(a_task(theirs, Work.RECOVER, environment=foreign.environment))
        works = (Work.RECOVER, Work.REPLAY_MISSING, Work.RECOVER, Work.RECOVER)
        made = [a_task(scene.endpoint, work) for work in works]
        made.append(replace(made[0], id=new_id(TASK), application="", endpoint="", lane=0))
        for task in made:
            await store.add_task(task)
        made += await store.delete_application(gone.id, now=NOON)
        made[2] = await store.advance(made[2], now=NOON, limit=1, lease=scene.lease)
        assert made[2].finished_at is not None
        made.sort(key=lambda task: task.id)

        async def ask(cut: Cut) -> list[Task]:
            return await store.list_tasks(ENVIRONMENT, cut)

        await _check_pages(ask, made, lambda task: task.id)
        await _check_gone(ask, made, len(made), new_id(TASK))
        for work in (None, *Work):
            for finished in (None, True, False):
                wanted = [
                    task
                    for task in made
                    if work in (None, task.work)
                    and finished in (None, task.finished_at is not None)
                ]
                for limit in (1, 100):
                    found = await store.list_tasks(
                        ENVIRONMENT, Cut(limit=limit), work=work, finished=finished
                    )
                    assert found == wanted[:limit]
        assert await store.list_tasks("org_nobody", ALL) == []

    async def test_deliveries_are_counted_by_state_and_whether_they_were_tried(
        self, scene: Scene
    ) -> None:
        store = scene.store
        for place in range(6):
            await scene.add(accepted_at=NOON + place)
        due = await scene.due()
        await scene.settle(delivered(due[0]), delivered(due[1]), failed(due[2]), put_back(due[3]))

        async def counted(since: float, until: float) -> dict[tuple[State, bool], int]:
            found = await store.count_deliveries(scene.endpoint, since=since, until=until)
            return {key: many for key, many in found.items() if many}

        everything = {
            (State.DELIVERED, True): 2,
            (State.FAILED, True): 1,
            (State.READY, True): 1,
            (State.READY, False): 2,
        }
        assert await counted(NOON, NOON + 6) == everything
        assert await counted(NOON + 1, NOON + 3) == {
            (State.DELIVERED, True): 1,
            (State.FAILED, True): 1,
        }
        assert await counted(NOON + 6, NOON + 60) == {}

    async def test_attempts_are_counted_by_whether_they_succeeded(self, scene: Scene) -> None:
        store = scene.store
        second = await scene.add_endpoint()
        for _ in range(3):
            await scene.add()
        one, two, three = await scene.due()
        settlements = [delivered(one), failed(two), put_back(three)]
        await scene.settle(*settlements, delivered((await scene.due(lane=second.lane))[0]))
        first, _, last = [one.attempt.id for one in settlements if one.attempt is not None]
        since, until = made_at(first), made_at(last)
        whole = until + MILLISECOND
        assert await store.count_attempts(scene.endpoint, since=since, until=whole) == (1, 2)
        assert await store.count_attempts(scene.endpoint, since=since, until=until) == (1, 1)
        later = since + MILLISECOND
        assert await store.count_attempts(scene.endpoint, since=later, until=until) == (0, 1)
        assert await store.count_attempts(scene.endpoint, since=whole, until=whole + 60) == (0, 0)
        assert await store.count_attempts(second, since=since, until=whole + 60) == (1, 0)

    async def test_messages_are_counted_by_application_and_type_of_event(
        self, scene: Scene
    ) -> None:
        store = scene.store
        gone, foreign = an_application(), an_application(environment="org_other")
        for application in (gone, foreign):
            await store.put_application(application)
        made = [await scene.add(event_type=kind) for kind in ("a", "b", "a")]
        await store.add([new_message(gone, event_type="a"), new_message(foreign)])
        await store.delete_application(gone.id, now=NOON)
        end = made_at(new_id(MESSAGE))

        async def counted(since: float, until: float) -> dict[tuple[str, str], int]:
            found = await store.count_messages(ENVIRONMENT, since=since, until=until)
            return {key: many for key, many in found.items() if many}

        here = scene.application.id
        first, last = made_at(made[0].id), made_at(made[2].id)
        assert await counted(first, end) == {(here, "a"): 2, (here, "b"): 1, (gone.id, "a"): 1}
        assert await counted(first, last) == {(here, "a"): 1, (here, "b"): 1}
        assert await counted(end, end + 60) == {}
        assert await store.count_messages("org_nobody", since=first, until=end) == {}

    async def _check_messages(
        self, scene: Scene, wanted: MessageFilter, found: list[Message]
    ) -> None:
        async def ask(cut: Cut) -> list[Message]:
            return await scene.store.list_messages(scene.application.id, cut, wanted)

        await _check_pages(ask, found, lambda message: message.id)

    async def _check_deliveries(
        self, scene: Scene, wanted: DeliveryFilter, found: list[Message]
    ) -> None:
        async def ask(cut: Cut) -> list[tuple[Message, Delivery]]:
            return await scene.store.list_deliveries_to(scene.endpoint, cut, wanted)

        pairs = [(message, await scene.delivery(message)) for message in found]
        await _check_pages(ask, pairs, lambda pair: pair[0].id)


async def _check_pages(
    ask: Callable[[Cut], Awaitable[list[Thing]]], wanted: list[Thing], mark: Callable[[Thing], str]
) -> None:
    """Every page of a list is the right part of it."""
    for descending in (False, True):
        whole = wanted[::-1] if descending else wanted
        for limit in (1, 2, 100):
            cut = Cut(limit=limit, descending=descending)
            assert await ask(cut) == whole[:limit]
            assert await ask(replace(cut, back=True)) == whole[-limit:]
        for place, thing in enumerate(whole):
            cut = Cut(limit=2, mark=mark(thing), descending=descending)
            assert await ask(cut) == whole[place + 1 : place + 3]
            assert await ask(replace(cut, back=True)) == whole[max(0, place - 2) : place]


async def _check_gone(
    ask: Callable[[Cut], Awaitable[list[Thing]]], wanted: list[Thing], place: int, mark: str
) -> None:
    """A mark that is not there any more still has its place, before that of the list."""
    before, after = wanted[:place], wanted[place:]
    assert await ask(Cut(limit=2, mark=mark)) == after[:2]
    assert await ask(Cut(limit=2, mark=mark, back=True)) == before[-2:]
    assert await ask(Cut(limit=2, mark=mark, descending=True)) == before[::-1][:2]
    assert await ask(Cut(limit=2, mark=mark, descending=True, back=True)) == after[:2][::-1]
