"""Counts of deliveries and attempts in a time range."""

from tarry.service.model.delivery import State
from tarry.service.model.ids import made_at
from tarry.testing.samples import (
    NOON,
    delivered,
    failed,
    put_back,
)
from tarry.testing.store_contract.pages import MILLISECOND
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic


class CountingContract(Topic):
    """Counts of deliveries and attempts."""

    async def test_deliveries_are_counted_by_state_and_whether_they_were_tried(
        self, scene: Scene
    ) -> None:
        store = scene.store
        for seconds in range(6):
            await scene.add(accepted_at=NOON + seconds)
        due = await scene.due()
        await scene.settle(delivered(due[0]), delivered(due[1]), failed(due[2]), put_back(due[3]))

        async def counted(since: float, until: float) -> dict[tuple[State, bool], int]:
            counts = await store.count_deliveries(scene.endpoint, since=since, until=until)
            return {key: count for key, count in counts.items() if count}

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
        other_endpoint = await scene.add_endpoint()
        for _ in range(3):
            await scene.add()
        first, second, third = await scene.due()
        settlements = [delivered(first), failed(second), put_back(third)]
        await scene.settle(*settlements, delivered((await scene.due(lane=other_endpoint.lane))[0]))
        first_attempt, _, last_attempt = [
            settlement.attempt.id for settlement in settlements if settlement.attempt is not None
        ]
        since, until = made_at(first_attempt), made_at(last_attempt)
        whole = until + MILLISECOND
        assert await store.count_attempts(scene.endpoint, since=since, until=whole) == (1, 2)
        assert await store.count_attempts(scene.endpoint, since=since, until=until) == (1, 1)
        later = since + MILLISECOND
        assert await store.count_attempts(scene.endpoint, since=later, until=until) == (0, 1)
        assert await store.count_attempts(scene.endpoint, since=whole, until=whole + 60) == (0, 0)
        assert await store.count_attempts(other_endpoint, since=since, until=whole + 60) == (1, 0)
