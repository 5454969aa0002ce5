"""Concurrent calls: their effect must be that of some sequential order."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import TypeVar

from msgspec.structs import replace

from tarry.errors import Conflict, NotFound
from tarry.service.model.application import SHARDS, Application
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Change, Due
from tarry.service.model.message import Accepted
from tarry.service.store.contract import Store
from tarry.service.store.kinds import AllAttemptsOf, AllTasksOf, Applications, Endpoints
from tarry.testing.samples import (
    ALL_SHARDS,
    NOON,
    an_application,
    an_endpoint,
    delivered,
    new_message,
    put_back,
)
from tarry.testing.store_contract.scene import LEASE_LENGTH, Scene
from tarry.testing.store_contract.topic import Topic

Answer = TypeVar("Answer")


class ConcurrentContract(Topic):
    """Calls that overlap, also through two stores on the same database."""

    async def test_numbers_have_no_gaps_and_no_order_is_seen_that_changes_later(
        self, scene: Scene, other: Store
    ) -> None:
        second = await scene.add_endpoint(event_types=("even",))
        done = asyncio.Event()

        async def watch() -> list[int]:
            """Read on from the last row seen, as a lane's owner does."""
            seqs_read: list[int] = []
            while True:
                over = done.is_set()
                due = await scene.due(after=seqs_read[-1] if seqs_read else 0, limit=1000)
                seqs_read += [delivery.seq for delivery in due]
                if over:
                    return seqs_read
                await asyncio.sleep(0)

        async def add(store: Store, number: int) -> None:
            new = [
                new_message(scene.application, event_type="odd" if (number + index) % 2 else "even")
                for index in range(3)
            ]
            await store.add(new)

        watching = asyncio.create_task(watch())
        await asyncio.gather(
            *(add((scene.store, other)[number % 2], number) for number in range(40))
        )
        done.set()
        assert await watching == list(range(1, 121))
        seqs = [due.seq for due in await scene.due(lane=second.lane)]
        assert seqs == list(range(1, 61))

    async def test_the_messages_of_a_call_stay_together_in_their_order(
        self, scene: Scene, other: Store
    ) -> None:
        calls = [[new_message(scene.application) for _ in range(5)] for _ in range(10)]
        stores = (scene.store, other)
        await asyncio.gather(*(stores[number % 2].add(call) for number, call in enumerate(calls)))
        order = {due.message: due.seq for due in await scene.due()}
        for call in calls:
            seqs = [order[new.message.id] for new in call]
            assert seqs == list(range(seqs[0], seqs[0] + 5))

    async def test_of_many_with_the_same_key_one_is_accepted(
        self, scene: Scene, other: Store
    ) -> None:
        new = [new_message(scene.application, key="k", fingerprint=b"one") for _ in range(20)]
        answers = await _all_at_once(
            store.add([message]) for store, message in _taking_turns(scene, other, new)
        )
        accepted = [answer for (answer,) in answers if isinstance(answer, Accepted)]
        assert len(accepted) == 20
        assert sum(not answer.repeated for answer in accepted) == 1
        (first,) = {answer.message.id for answer in accepted}
        assert [due.message for due in await scene.due()] == [first]

    async def test_of_many_requests_with_the_same_key_one_is_accepted(
        self, scene: Scene, other: Store
    ) -> None:
        new = [
            new_message(scene.application, key="k", fingerprint=bytes([number]))
            for number in range(20)
        ]
        answers = await _all_at_once(
            store.add([message]) for store, message in _taking_turns(scene, other, new)
        )
        assert sum(isinstance(answer, Conflict) for (answer,) in answers) == 19
        assert len(await scene.due()) == 1

    async def test_of_many_with_the_same_event_id_one_is_accepted(
        self, scene: Scene, other: Store
    ) -> None:
        new = [new_message(scene.application, event_id="evt-1") for _ in range(20)]
        answers = await _all_at_once(
            store.add([message]) for store, message in _taking_turns(scene, other, new)
        )
        assert sum(isinstance(answer, Accepted) for (answer,) in answers) == 1
        assert sum(isinstance(answer, Conflict) for (answer,) in answers) == 19
        assert len(await scene.due()) == 1

    async def test_a_delivery_is_settled_by_one_of_many(self, scene: Scene) -> None:
        message = await scene.add()
        (due,) = await scene.due()
        answers = await _all_at_once(scene.settle(delivered(due)) for _ in range(10))
        assert sorted(answers) == [[False]] * 9 + [[True]]
        assert len(await scene.store.read(AllAttemptsOf(message.id))) == 1
        assert (await scene.delivery(message)).tries == 1

    async def test_settlements_of_many_deliveries_do_not_disturb_each_other(
        self, scene: Scene
    ) -> None:
        second = await scene.add_endpoint()
        await scene.store.add([new_message(scene.application) for _ in range(30)])
        own_due, others = await scene.due(), await scene.due(lane=second.lane)

        async def settle(due: Iterable[Due]) -> list[bool]:
            return await scene.settle(*map(delivered, due))

        pairs = zip(own_due, reversed(others), strict=True)
        answers = await _all_at_once(settle(pair) for pair in pairs)
        assert answers == [[True, True]] * 30
        for endpoint in (scene.endpoint, second):
            row = await scene.row(endpoint)
            assert (row.added, row.ended) == (30, 30)

    async def test_whether_cancelled_or_settled_it_ended_once(
        self, scene: Scene, other: Store
    ) -> None:
        messages = [await scene.add() for _ in range(20)]
        due = await scene.due()
        settled, cancelled = await asyncio.gather(
            _all_at_once(scene.settle(delivered(delivery)) for delivery in due),
            _all_at_once(
                other.cancel(scene.application.id, message.id, now=NOON) for message in messages
            ),
        )
        for message, (was_settled,), ended in zip(messages, settled, cancelled, strict=True):
            assert was_settled != bool(ended)
            state = (await scene.delivery(message)).state
            assert state is (State.DELIVERED if was_settled else State.CANCELLED)
        assert (await scene.row()).ended == 20

    async def test_no_lane_goes_to_rest_with_a_delivery(self, scene: Scene, other: Store) -> None:
        for number in range(20):
            row = await scene.row()
            rest = scene.store.rest({scene.lane: row.added}, scene.leases)
            add = other.add([new_message(scene.application)])
            first, second = (rest, add) if number % 2 else (add, rest)
            answers = await asyncio.gather(first, second)
            resting = answers[0 if number % 2 else 1]
            assert await scene.store.awake(ALL_SHARDS) == [scene.lane], f"round {number}"
            woken = await scene.store.woken(scene.leases)
            assert woken == ([scene.lane] if resting else []), f"round {number}"
            await scene.settle(*map(delivered, await scene.due()))

    async def test_of_concurrent_readers_one_gets_a_wake_up(self, scene: Scene) -> None:
        for _ in range(10):
            await scene.store.put(scene.endpoint)
            answers = await _all_at_once(scene.store.woken(scene.leases) for _ in range(5))
            assert sorted(answers) == [[], [], [], [], [scene.lane]]

    async def test_of_concurrent_workers_one_gets_a_shard(self, store: Store) -> None:
        workers = [f"worker-{number}" for number in range(8)]
        taken = await _all_at_once(
            store.lease(worker, most=20, length=LEASE_LENGTH) for worker in workers
        )
        shards = [lease.shard for leases in taken for lease in leases]
        assert sorted(shards) == list(range(SHARDS))
        assert max(map(len, taken)) <= 20

    async def test_of_many_with_the_same_uid_one_is_put(self, scene: Scene, other: Store) -> None:
        stores = (scene.store, other)
        puts = (stores[number % 2].put(an_application(uid="u")) for number in range(10))
        answers = await asyncio.gather(*puts, return_exceptions=True)
        assert sum(isinstance(answer, Application) for answer in answers) == 1
        assert sum(isinstance(answer, Conflict) for answer in answers) == 9

    async def test_of_many_changes_of_an_application_none_is_lost(
        self, scene: Scene, other: Store
    ) -> None:
        def noted(number: int) -> Callable[[Application], Application]:
            return lambda now: replace(now, metadata={**now.metadata, str(number): "done"})

        application_id, stores = scene.application.id, (scene.store, other)
        await _all_at_once(
            stores[number % 2].change(
                Applications(scene.application.environment), application_id, noted(number)
            )
            for number in range(10)
        )
        application = await scene.store.get(
            Applications(scene.application.environment), application_id
        )
        assert application.metadata == {str(number): "done" for number in range(10)}

    async def test_of_many_changes_of_an_endpoint_none_is_lost(
        self, scene: Scene, other: Store
    ) -> None:
        def noted(number: int) -> Callable[[Endpoint], Endpoint]:
            return lambda now: replace(now, metadata={**now.metadata, str(number): "done"})

        parking = Change(
            lane=scene.lane, epoch=scene.lease.epoch, at=NOON + 1, standing=Standing.PARKED
        )
        await asyncio.gather(
            _all_at_once(
                store.change(Endpoints(scene.application.id), scene.endpoint.id, noted(number))
                for store, number in _taking_turns(scene, other, range(20))
            ),
            scene.settle(changes=[parking]),
        )
        endpoint = (await scene.row()).endpoint
        assert sorted(map(int, endpoint.metadata)) == list(range(20))
        assert (endpoint.standing, endpoint.parked) == (Standing.PARKED, ((NOON + 1, None),))

    async def test_an_endpoint_that_changes_all_the_time_keeps_no_message_out(
        self, scene: Scene, other: Store
    ) -> None:
        kind, all_in = Endpoints(scene.application.id), asyncio.Event()

        async def go_on_changing() -> None:
            while not all_in.is_set():
                await other.change(kind, scene.endpoint.id, lambda now: now)

        changing = [asyncio.create_task(go_on_changing()) for _ in range(3)]
        for _ in range(10):
            await scene.add()
        all_in.set()
        await asyncio.gather(*changing)
        assert len(await scene.due()) == 10

    async def test_of_concurrent_deletions_of_an_endpoint_one_succeeds(
        self, scene: Scene, other: Store
    ) -> None:
        application, endpoint = scene.application.id, scene.endpoint.id
        answers = await asyncio.gather(
            *(
                store.delete(Endpoints(application), endpoint, now=NOON + number)
                for store, number in _taking_turns(scene, other, range(6))
            ),
            return_exceptions=True,
        )
        assert sum(isinstance(answer, NotFound) for answer in answers) == 5
        discarding = [answer for answer in answers if not isinstance(answer, BaseException)]
        assert discarding == [await other.read(AllTasksOf(application))]

    async def test_an_endpoint_created_while_messages_come_gets_all_later_ones(
        self, scene: Scene, other: Store
    ) -> None:
        saved, _ = await asyncio.gather(
            other.put(an_endpoint(scene.application)),
            _all_at_once(scene.add() for _ in range(10)),
        )
        last = await scene.add()
        due = await scene.due(lane=saved.lane)
        assert [delivery.seq for delivery in due] == list(range(1, len(due) + 1))
        assert due[-1].message == last.id

    async def test_adding_and_settling_at_once_keeps_count(
        self, scene: Scene, other: Store
    ) -> None:
        await scene.store.add([new_message(scene.application) for _ in range(20)])
        due = await scene.due()
        await asyncio.gather(
            _all_at_once(other.add([new_message(scene.application)]) for _ in range(20)),
            _all_at_once(scene.settle(delivered(delivery)) for delivery in due[:10]),
            _all_at_once(scene.settle(put_back(delivery)) for delivery in due[10:]),
        )
        row = await scene.row()
        assert (row.added, row.ended) == (40, 10)


def _taking_turns(
    scene: Scene, other: Store, values: Iterable[Answer]
) -> Iterable[tuple[Store, Answer]]:
    """Pair each value with one of the two stores, which take turns."""
    return ((scene.store if index % 2 else other, value) for index, value in enumerate(values))


async def _all_at_once(calls: Iterable[Coroutine[None, None, Answer]]) -> list[Answer]:
    """Return the answers of calls that all start at once."""
    return await asyncio.gather(*calls)
