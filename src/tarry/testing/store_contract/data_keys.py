"""Data keys: what is sealed with an erased one is never written, and is not sent."""

import asyncio

import pytest
from msgspec.structs import replace

from tarry.errors import Conflict, ErasedKeyError, NotFound
from tarry.service.model.attempt import EXPUNGED, Resent
from tarry.service.model.data_key import DataKey
from tarry.service.model.delivery import LIVE, Reason, State
from tarry.service.model.lane import Stream
from tarry.service.model.message import Accepted
from tarry.service.model.task import Work
from tarry.service.store.contract import Retention, Store
from tarry.service.store.kinds import (
    AllAttemptsOf,
    AllTasksOf,
    Applications,
    AttemptsOf,
    DataKeys,
    Endpoints,
    Messages,
)
from tarry.testing.samples import (
    ENVIRONMENT,
    NOON,
    a_data_key,
    a_task,
    an_application,
    an_attempt,
    delivered,
    failed,
    new_message,
    postponed,
)
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic

SEALED = b"\x01\x00sealed\xff"


async def _with_key(scene: Scene) -> DataKey:
    """Give the scene's application a data key."""
    data_key = a_data_key(scene.application)
    await scene.store.create(data_key)
    return data_key


async def _erase(scene: Scene) -> None:
    """Erase the application's data key, and do the tasks that discard deliveries."""
    assert await scene.store.erase(scene.application.id, now=NOON + 1)
    while (task := await scene.store.next_task([scene.application.shard])) is not None:
        await scene.store.advance(task, now=NOON + 2, limit=2, lease=scene.lease)


class DataKeysContract(Topic):
    """Data keys of applications, and the rows that are sealed with them."""

    # --- Keys -----------------------------------------------------------------------------------

    async def test_a_data_key_is_found_by_its_id_and_its_application(self, scene: Scene) -> None:
        store, data_key = scene.store, await _with_key(scene)
        another = an_application()
        await store.put(another)
        await store.create(second := a_data_key(another))
        assert await store.read(DataKeys((data_key.id,))) == [data_key]
        assert await store.read(DataKeys((scene.application.id,))) == [data_key]
        both = await store.read(DataKeys((data_key.id, another.id, "app_unknown")))
        assert sorted(both, key=lambda key: key.id) == [data_key, second]
        assert await store.read(DataKeys(())) == []

    async def test_all_data_keys_are_read_in_pages(self, scene: Scene) -> None:
        data_keys = [await _with_key(scene)]
        for _ in range(2):
            another = an_application()
            await scene.store.put(another)
            data_keys.append(a_data_key(another))
            await scene.store.create(data_keys[-1])
        first = await scene.store.read(DataKeys(limit=2))
        rest = await scene.store.read(DataKeys(after=first[-1].id, limit=2))
        assert first + rest == sorted(data_keys, key=lambda key: key.id)

    async def test_an_application_has_one_data_key(self, scene: Scene, other: Store) -> None:
        candidates = [a_data_key(scene.application) for _ in range(4)]
        answers = await asyncio.gather(
            *(
                store.create(data_key)
                for store, data_key in zip(
                    (scene.store, other, scene.store, other), candidates, strict=True
                )
            ),
            return_exceptions=True,
        )
        (created,) = [
            data_key for data_key, answer in zip(candidates, answers, strict=True) if answer is None
        ]
        assert all(isinstance(answer, Conflict) for answer in answers if answer is not None)
        assert await scene.store.read(DataKeys((scene.application.id,))) == [created]

    async def test_an_application_that_does_not_exist_gets_no_data_key(self, scene: Scene) -> None:
        with pytest.raises(NotFound):
            await scene.store.create(a_data_key("app_unknown"))
        await scene.store.delete(Applications(ENVIRONMENT), scene.application.id, now=NOON)
        with pytest.raises(NotFound):
            await scene.store.create(a_data_key(scene.application))
        with pytest.raises(NotFound):
            await scene.store.erase(scene.application.id, now=NOON)

    async def test_a_data_key_is_sealed_again_with_another_key(self, scene: Scene) -> None:
        data_key = await _with_key(scene)
        again = await scene.store.change(
            DataKeys(), data_key.id, lambda stored: replace(stored, sealed=b"again")
        )
        assert again == replace(data_key, sealed=b"again")
        assert await scene.store.read(DataKeys((data_key.id,))) == [again]
        with pytest.raises(NotFound):
            await scene.store.change(DataKeys(), "dkey_unknown", lambda stored: stored)

    async def test_erasing_deletes_the_data_key_once(self, scene: Scene) -> None:
        assert not await scene.store.erase(scene.application.id, now=NOON)
        data_key = await _with_key(scene)
        assert await scene.store.erase(scene.application.id, now=NOON)
        assert await scene.store.read(DataKeys((data_key.id, scene.application.id))) == []
        assert not await scene.store.erase(scene.application.id, now=NOON)
        with pytest.raises(NotFound):
            await scene.store.change(DataKeys(), data_key.id, lambda stored: stored)
        await scene.store.create(second := a_data_key(scene.application))
        assert await scene.store.read(DataKeys((scene.application.id,))) == [second]

    async def test_a_deleted_application_loses_its_data_key_at_once(self, scene: Scene) -> None:
        data_key = await _with_key(scene)
        await scene.store.delete(Applications(ENVIRONMENT), scene.application.id, now=NOON)
        assert await scene.store.read(DataKeys((data_key.id, scene.application.id))) == []

    # --- Rows -----------------------------------------------------------------------------------

    async def test_a_sealed_payload_comes_back_unchanged_and_names_its_key(
        self, scene: Scene
    ) -> None:
        data_key = await _with_key(scene)
        sealed = await scene.add(payload=SEALED, sealed_with=data_key.id)
        plain = await scene.add(payload=SEALED)
        assert await scene.store.get(Messages(scene.application.id), sealed.id) == sealed
        assert await scene.messages() == [sealed, plain]
        due, second = await scene.due()
        assert (due.payload, due.sealed_with) == (SEALED, data_key.id)
        assert (second.payload, second.sealed_with) == (SEALED, None)
        await scene.store.resend(scene.endpoint, sealed.id, resend="r1")
        (resend,) = await scene.due(Stream.RESEND)
        assert (resend.payload, resend.sealed_with) == (SEALED, data_key.id)
        await scene.settle(postponed(due, NOON + 5))
        for stream in (Stream.WAITING, Stream.EARLY):
            (waiting,) = await scene.due(stream, now=NOON + 6)
            assert waiting.sealed_with == data_key.id

    async def test_a_key_that_is_known_returns_the_sealed_first_message(self, scene: Scene) -> None:
        data_key = await _with_key(scene)
        first = await scene.add(key="k", payload=SEALED, sealed_with=data_key.id)
        repeated = new_message(scene.application, key="k")
        assert await scene.store.add([repeated]) == [Accepted(first, repeated=True)]

    async def test_a_sealed_response_comes_back_unchanged_and_names_its_key(
        self, scene: Scene
    ) -> None:
        data_key = await _with_key(scene)
        message = await scene.add()
        (due,) = await scene.due()
        attempt = an_attempt(due, body=SEALED, sealed_with=data_key.id)
        await scene.settle(failed(due, attempt=attempt))
        assert await scene.store.read(AllAttemptsOf(message.id)) == [attempt]
        assert await scene.attempts_to() == [attempt]
        found, _ = await scene.store.get(AttemptsOf(message.id), attempt.id)
        assert found == attempt

    async def test_expunged_rows_name_no_key(self, scene: Scene) -> None:
        data_key = await _with_key(scene)
        messages = [await scene.add(payload=SEALED, sealed_with=data_key.id) for _ in range(3)]
        dues = await scene.due()
        attempt = an_attempt(dues[0], body=SEALED, sealed_with=data_key.id)
        await scene.settle(delivered(dues[0], attempt=attempt), *map(delivered, dues[1:]))
        await scene.store.expunge(AttemptsOf(messages[0].id), attempt.id)
        assert await scene.attempts_to() != []
        (found,) = await scene.store.read(AllAttemptsOf(messages[0].id))
        assert (found.body, found.sealed_with) == (EXPUNGED, None)
        await scene.store.expunge(Messages(scene.application.id), messages[0].id)
        await scene.store.sweep(Retention(payloads_before=NOON + 9), limit=1)
        purge = await scene.store.add_task(
            replace(a_task(scene.endpoint, Work.PURGE_CONTENT, until=NOON + 9), lane=0, endpoint="")
        )
        await scene.store.advance(purge, now=NOON, limit=9, lease=scene.lease)
        expunged = [replace(message, payload=None, sealed_with=None) for message in messages]
        assert await scene.messages() == expunged

    # --- The fence ------------------------------------------------------------------------------

    async def test_nothing_is_accepted_that_is_sealed_with_an_erased_key(
        self, scene: Scene
    ) -> None:
        data_key = await _with_key(scene)
        new = [
            new_message(scene.application),
            new_message(scene.application, payload=SEALED, sealed_with=data_key.id, key="k"),
        ]
        await scene.store.erase(scene.application.id, now=NOON)
        with pytest.raises(ErasedKeyError):
            await scene.store.add(new)
        assert await scene.messages() == []
        await scene.store.create(second := a_data_key(scene.application))
        resealed = replace(new[1], message=replace(new[1].message, sealed_with=second.id))
        assert await scene.store.add([resealed]) == [Accepted(resealed.message)]

    async def test_a_message_that_is_added_while_its_key_is_erased_is_not_left_behind(
        self, scene: Scene, other: Store
    ) -> None:
        for _ in range(10):
            data_key = await _with_key(scene)
            adds = [
                other.add([new_message(scene.application, payload=SEALED, sealed_with=data_key.id)])
                for _ in range(4)
            ]
            *answers, erased = await asyncio.gather(
                *adds, scene.store.erase(scene.application.id, now=NOON), return_exceptions=True
            )
            assert erased is True
            for answer in answers:
                assert isinstance(answer, list | ErasedKeyError), answer
        while (task := await scene.store.next_task([scene.application.shard])) is not None:
            await scene.store.advance(task, now=NOON, limit=500, lease=scene.lease)
        for message in await scene.messages():
            assert (await scene.delivery(message)).reason is Reason.ERASED

    async def test_an_attempt_whose_key_was_erased_is_saved_without_its_response(
        self, scene: Scene
    ) -> None:
        data_key = await _with_key(scene)
        message, resent = await scene.add(), await scene.add()
        due, second = await scene.due()
        await scene.settle(delivered(second, attempt=None))
        await scene.store.resend(scene.endpoint, resent.id, resend="r1")
        (resend,) = await scene.due(Stream.RESEND)
        await scene.store.erase(scene.application.id, now=NOON)
        attempt = an_attempt(due, body=SEALED, sealed_with=data_key.id)
        again = an_attempt(resend, body=SEALED, sealed_with=data_key.id)
        settled = await scene.settle(
            delivered(due, attempt=attempt), Resent(scene.lane, "r1", again, scene.lease.epoch)
        )
        assert settled == [True, True]
        assert await scene.store.read(AllAttemptsOf(message.id)) == [replace(attempt, body=b"")]
        assert await scene.store.read(AllAttemptsOf(resent.id)) == [replace(again, body=b"")]

    # --- Waiting deliveries ---------------------------------------------------------------------

    async def test_deliveries_whose_payload_was_erased_are_discarded(self, scene: Scene) -> None:
        second = await scene.add_endpoint()
        data_key = await _with_key(scene)
        sealed = [await scene.add(payload=SEALED, sealed_with=data_key.id) for _ in range(5)]
        plain = await scene.add()
        ready, waiting, ended, *_ = await scene.due()
        await scene.settle(postponed(waiting, NOON + 99), failed(ended))
        version = (await scene.row()).version
        await _erase(scene)
        for message in sealed:
            for endpoint in (scene.endpoint, second):
                delivery = await scene.delivery(message, endpoint)
                if message.id == ended.message and endpoint is scene.endpoint:
                    assert delivery.state is State.FAILED
                else:
                    assert (delivery.state, delivery.reason) == (State.DISCARDED, Reason.ERASED)
                    assert (delivery.due_at, delivery.ended_at) == (None, NOON + 2)
        assert (await scene.delivery(plain)).state in LIVE
        assert (await scene.row()).version > version
        assert {scene.lane, second.lane} <= set(await scene.store.woken(scene.leases))
        tasks = await scene.store.read(AllTasksOf(scene.application.id))
        assert {task.work for task in tasks} == {Work.ERASE}
        assert sorted(task.data["deliveriesDiscarded"] for task in tasks) == [4, 5]
        assert await scene.settle(delivered(ready)) == [False]

    async def test_messages_of_a_later_key_are_not_discarded(self, scene: Scene) -> None:
        await _with_key(scene)
        assert await scene.store.erase(scene.application.id, now=NOON)
        await scene.store.create(second := a_data_key(scene.application))
        message = await scene.add(payload=SEALED, sealed_with=second.id)
        while (task := await scene.store.next_task([scene.application.shard])) is not None:
            await scene.store.advance(task, now=NOON + 2, limit=2, lease=scene.lease)
        assert (await scene.delivery(message)).state in LIVE

    async def test_erased_messages_are_not_replayed(self, scene: Scene) -> None:
        data_key = await _with_key(scene)
        erased = await scene.add(payload=SEALED, sealed_with=data_key.id)
        plain = await scene.add()
        await scene.settle(*map(delivered, await scene.due()))
        await _erase(scene)
        for work in (Work.REPLAY_MISSING, Work.BULK_REPLAY):
            late = await scene.add_endpoint()
            task = await scene.store.add_task(a_task(late, work))
            await scene.store.advance(task, now=NOON + 2, limit=9, lease=scene.lease)
            due = await scene.due(lane=late.lane)
            assert [delivery.message for delivery in due] == [plain.id]
        assert (await scene.delivery(erased)).state is State.DELIVERED

    async def test_an_endpoint_deleted_before_gets_no_task(self, scene: Scene) -> None:
        await _with_key(scene)
        await scene.store.delete(Endpoints(scene.application.id), scene.endpoint.id, now=NOON)
        assert await scene.store.erase(scene.application.id, now=NOON)
        (task,) = await scene.store.read(AllTasksOf(scene.application.id))
        assert task.work is Work.DISCARD
