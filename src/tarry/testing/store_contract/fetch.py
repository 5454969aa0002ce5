"""Fetching: the deliveries that a lane can send next, in the order of each stream."""

import pytest
from msgspec.structs import replace

from tarry.service.model.delivery import Reason
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import (
    Change,
    Due,
    Fetched,
    Known,
    Stream,
    Want,
    first_version,
)
from tarry.service.store.kinds import Applications, Endpoints
from tarry.testing.samples import NOON, delivered, failed, new_message, postponed, put_back
from tarry.testing.store_contract.scene import PLENTY_OF_BYTES, Scene
from tarry.testing.store_contract.topic import Topic


class FetchContract(Topic):
    """The streams, and the limits of a fetch."""

    async def test_a_fetched_delivery_has_all_that_is_needed_to_send_it(self, scene: Scene) -> None:
        message = await scene.add(accepted_at=NOON - 3)
        due = Due(
            lane=scene.lane,
            seq=1,
            stream=Stream.READY,
            message=message.id,
            event_type=message.event_type,
            payload=message.payload,
            accepted_at=NOON - 3,
        )
        version = first_version(scene.endpoint) + 1
        assert await scene.fetch() == Fetched([due], {}, {scene.lane: 1}, {scene.lane: version})
        settlement = postponed(due, NOON + 7, attempts=1, memory=12.5)
        assert await scene.settle(settlement) == [True]
        (again,) = await scene.due(Stream.WAITING, now=NOON + 7)
        assert (again.stream, again.due_at) == (Stream.WAITING, NOON + 7)
        assert (again.tries, again.attempts, again.memory) == (1, 1, 12.5)
        assert (again.accepted_at, again.payload) == (NOON - 3, message.payload)

    async def test_fetching_changes_nothing(self, scene: Scene) -> None:
        await scene.add()
        assert await scene.due() == await scene.due()

    async def test_ready_deliveries_are_fetched_by_number_between_two_bounds(
        self, scene: Scene
    ) -> None:
        await scene.store.add([new_message(scene.application) for _ in range(9)])
        assert _seqs(await scene.due(after=3)) == [4, 5, 6, 7, 8, 9]
        assert _seqs(await scene.due(before=3)) == [1, 2]
        assert _seqs(await scene.due(after=3, before=7)) == [4, 5, 6]
        assert _seqs(await scene.due(after=3, before=7, limit=2)) == [4, 5]
        assert _seqs(await scene.due(after=9)) == []

    async def test_waiting_and_ended_deliveries_are_not_in_the_ready_stream(
        self, scene: Scene
    ) -> None:
        await scene.store.add([new_message(scene.application) for _ in range(4)])
        first, second, third, _ = await scene.due()
        await scene.settle(delivered(first), failed(second), postponed(third, NOON - 5))
        assert _seqs(await scene.due()) == [4]

    async def test_waiting_deliveries_are_fetched_by_due_time_once_they_are_due(
        self, scene: Scene
    ) -> None:
        await _add_waiting(scene, NOON + 3, NOON + 1, NOON + 2, NOON + 1)
        assert _seqs(await scene.due(Stream.WAITING, now=NOON)) == []
        assert _seqs(await scene.due(Stream.WAITING, now=NOON + 1)) == [2, 4]
        assert _seqs(await scene.due(Stream.WAITING, now=NOON + 9)) == [2, 4, 3, 1]
        assert _seqs(await scene.due(Stream.WAITING, now=NOON + 9, limit=3)) == [2, 4, 3]

    async def test_waiting_deliveries_are_fetched_after_the_last_one_read(
        self, scene: Scene
    ) -> None:
        await _add_waiting(scene, NOON + 3, NOON + 1, NOON + 2, NOON + 1)
        behind = {"now": NOON + 9, "due_after": NOON + 1, "after": 2}
        assert _seqs(await scene.due(Stream.WAITING, **behind)) == [4, 3, 1]
        behind["after"] = 4
        assert _seqs(await scene.due(Stream.WAITING, **behind)) == [3, 1]
        assert _seqs(await scene.due(Stream.EARLY, **behind)) == [3, 1]

    async def test_the_waiting_stream_comes_with_the_next_due_time(self, scene: Scene) -> None:
        await _add_waiting(scene, NOON + 3, NOON + 1)
        at = {when: await scene.fetch(Stream.WAITING, now=NOON + when) for when in (0, 1, 2, 3)}
        assert at[0].next_due_at == {scene.lane: NOON + 1}
        assert at[1].next_due_at == {scene.lane: NOON + 3}
        assert at[2].next_due_at == {scene.lane: NOON + 3}
        assert at[3].next_due_at == {}
        behind = await scene.fetch(Stream.WAITING, now=NOON, due_after=NOON + 2, limit=0)
        assert behind.next_due_at == {scene.lane: NOON + 1}

    async def test_other_streams_do_not_tell_the_next_due_time(self, scene: Scene) -> None:
        await _add_waiting(scene, NOON + 3)
        for stream in (Stream.READY, Stream.EARLY, Stream.RESEND):
            fetched = await scene.fetch(stream)
            assert fetched.next_due_at == {}
            assert fetched.added == {scene.lane: 1}

    async def test_the_early_stream_has_waiting_deliveries_that_are_not_scheduled(
        self, scene: Scene
    ) -> None:
        await scene.add(deliver_at=NOON + 1)
        reasons = [Reason.BACKOFF, Reason.RETRY_AFTER, Reason.LANE_OPEN]
        await _add_waiting(scene, NOON + 4, NOON + 3, NOON + 2, reasons=reasons)
        assert _seqs(await scene.due(Stream.EARLY, now=NOON)) == [4, 3, 2]
        assert _seqs(await scene.due(Stream.EARLY, now=NOON, limit=1)) == [4]
        assert [due.stream for due in await scene.due(Stream.EARLY)] == [Stream.EARLY] * 3
        assert _seqs(await scene.due(Stream.WAITING, now=NOON + 1)) == [1]

    async def test_a_delivery_put_back_by_its_lane_stays_ready_in_its_place(
        self, scene: Scene
    ) -> None:
        await scene.store.add([new_message(scene.application) for _ in range(3)])
        _, second, _ = await scene.due()
        assert await scene.settle(put_back(second)) == [True]
        due = await scene.due()
        assert [(delivery.seq, delivery.tries, delivery.attempts) for delivery in due] == [
            (1, 0, 0),
            (2, 1, 0),
            (3, 0, 0),
        ]

    async def test_the_wants_of_many_lanes_are_answered_in_their_order(self, scene: Scene) -> None:
        second, third = await scene.add_endpoint(), await scene.add_endpoint()
        await scene.store.add([new_message(scene.application) for _ in range(2)])
        wants = [
            Want(lane=third.lane, stream=Stream.READY, limit=1),
            Want(lane=scene.lane, stream=Stream.READY, limit=5),
            Want(lane=second.lane, stream=Stream.READY, limit=5, after=1),
            Want(lane=third.lane, stream=Stream.READY, limit=5, after=1),
        ]
        fetched = await scene.store.fetch(wants, now=NOON, most_bytes=PLENTY_OF_BYTES)
        assert [(due.lane, due.seq) for due in fetched.due] == [
            (third.lane, 1),
            (scene.lane, 1),
            (scene.lane, 2),
            (second.lane, 2),
            (third.lane, 2),
        ]
        assert fetched.added == {scene.lane: 2, second.lane: 2, third.lane: 2}

    async def test_a_lane_that_is_not_there_brings_nothing(self, scene: Scene) -> None:
        assert await scene.fetch(lane=scene.lane + 1000) == Fetched([], {}, {}, {})
        assert await scene.store.fetch([], now=NOON, most_bytes=PLENTY_OF_BYTES) == Fetched(
            [], {}, {}, {}
        )

    @pytest.mark.parametrize("stream", list(Stream))
    async def test_a_change_of_the_endpoint_or_application_changes_the_version(
        self, scene: Scene, stream: Stream
    ) -> None:
        store, application = scene.store, scene.application
        other = await scene.add_endpoint()
        versions = [await _version(scene, stream)]
        await store.put(replace(scene.endpoint, url="https://new.example"))
        versions.append(await _version(scene, stream))
        await store.change(
            Endpoints(application.id), scene.endpoint.id, lambda now: replace(now, secrets=())
        )
        versions.append(await _version(scene, stream))
        assert (await scene.fetch(lane=other.lane)).versions == {other.lane: versions[0]}
        await store.put(replace(application, rate=3.0))
        versions.append(await _version(scene, stream))
        await store.change(
            Applications(application.environment),
            application.id,
            lambda now: replace(now, rate=4.0),
        )
        versions.append(await _version(scene, stream))
        await scene.settle(
            changes=[
                Change(lane=scene.lane, epoch=scene.lease.epoch, at=NOON, standing=Standing.PARKED)
            ]
        )
        versions.append(await _version(scene, stream))
        await scene.delete_endpoint()
        versions.append(await _version(scene, stream))
        assert versions == sorted(set(versions)), "each change increases the version"
        assert (await scene.fetch(lane=other.lane)).versions == {other.lane: versions[0] + 2}
        await store.delete(Applications(application.environment), application.id, now=NOON)
        assert (await scene.fetch(lane=other.lane)).versions == {other.lane: versions[0] + 3}

    async def test_changes_of_deliveries_do_not_change_the_version(self, scene: Scene) -> None:
        before = await _version(scene, Stream.READY)
        message = await scene.add()
        await scene.add()
        first, _ = await scene.due()
        learned = Change(lane=scene.lane, epoch=scene.lease.epoch, at=NOON, known=Known(failures=1))
        await scene.settle(failed(first), changes=[learned])
        await scene.store.resend(scene.endpoint, message.id, resend="resend_1")
        assert await _version(scene, Stream.READY) == before

    async def test_payloads_stay_within_their_limit_and_in_order(self, scene: Scene) -> None:
        for size in (100, 300, 10, 10):
            await scene.add(payload=bytes(size))
        want = Want(lane=scene.lane, stream=Stream.READY, limit=9)
        fetched = await scene.store.fetch([want], now=NOON, most_bytes=200)
        assert _seqs(fetched.due) == [1], "a large delivery must not be overtaken"
        fetched = await scene.store.fetch([want], now=NOON, most_bytes=PLENTY_OF_BYTES)
        assert _seqs(fetched.due) == [1, 2, 3, 4]

    @pytest.mark.parametrize("stream", [Stream.READY, Stream.WAITING, Stream.EARLY])
    async def test_each_want_gets_its_first_delivery_however_large(
        self, scene: Scene, stream: Stream
    ) -> None:
        second = await scene.add_endpoint()
        for _ in range(2):
            await scene.add(payload=bytes(1000))
        if stream is not Stream.READY:
            for lane in (scene.lane, second.lane):
                due = await scene.due(lane=lane)
                await scene.settle(*(postponed(delivery, NOON) for delivery in due))
        wants = [Want(lane=lane, stream=stream, limit=5) for lane in (scene.lane, second.lane)]
        fetched = await scene.store.fetch(wants, now=NOON, most_bytes=10)
        assert [(due.lane, due.seq) for due in fetched.due] == [(scene.lane, 1), (second.lane, 1)]


async def _version(scene: Scene, stream: Stream) -> int:
    """Return the lane's version, which must be the same in `fetch` and in `lanes`."""
    version = (await scene.fetch(stream)).versions[scene.lane]
    (row,) = await scene.store.lanes([scene.lane])
    assert row.version == (await scene.row()).version == version
    return version


async def _add_waiting(scene: Scene, *times: float, reasons: list[Reason] | None = None) -> None:
    """Add deliveries that wait until these times."""
    messages = [await scene.add() for _ in times]
    ready = {due.message: due for due in await scene.due()}
    whys = reasons or [Reason.BACKOFF] * len(times)
    settlements = [
        postponed(ready[message.id], due_at, reason=why)
        for message, due_at, why in zip(messages, times, whys, strict=True)
    ]
    assert all(await scene.settle(*settlements))


def _seqs(due: list[Due]) -> list[int]:
    return [delivery.seq for delivery in due]
