# ruff: noqa: D102, S101  these are tests: a name is a sentence, and assert is how one speaks
"""How much there was in a span of time."""

from tarry.service.model.delivery import State
from tarry.service.model.ids import MESSAGE, made_at
from tarry.testing.samples import (
    ENVIRONMENT,
    NOON,
    an_application,
    delivered,
    failed,
    new_id,
    new_message,
    put_back,
)
from tarry.testing.store_contract.pages import MILLISECOND
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic


class CountingContract(Topic):
    """Counts, by what is counted."""

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
