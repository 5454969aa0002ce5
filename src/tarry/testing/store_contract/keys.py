"""Idempotency keys: the same request twice is one message."""

import pytest
from msgspec.structs import replace

from tarry.errors import BacklogFull, Conflict, NotFound
from tarry.service.model.message import Accepted
from tarry.service.store.kinds import Environment, Messages
from tarry.testing.samples import an_application, new_message
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic


class KeysContract(Topic):
    """The promises of an idempotency key."""

    async def test_a_known_key_answers_with_the_first_message(self, scene: Scene) -> None:
        first = await scene.add(key="k", fingerprint=b"\x00\xff", payload=b"one")
        again = new_message(scene.application, key="k", fingerprint=b"\x00\xff", payload=b"two")
        assert await scene.store.add([again]) == [Accepted(first, repeated=True)]
        assert [due.message for due in await scene.due()] == [first.id]
        with pytest.raises(NotFound):
            await scene.store.get(Messages(scene.application.id), again.message.id)

    async def test_a_known_key_with_another_request_is_a_conflict(self, scene: Scene) -> None:
        await scene.add(key="k", fingerprint=b"one")
        new = new_message(scene.application, key="k", fingerprint=b"two")
        (answer,) = await scene.store.add([new])
        assert isinstance(answer, Conflict)
        assert (answer.kind, answer.key) == ("message", "k")
        assert len(await scene.due()) == 1

    async def test_a_conflict_fails_alone(self, scene: Scene) -> None:
        await scene.add(key="k", fingerprint=b"one")
        new = [
            new_message(scene.application, key="new"),
            new_message(scene.application, key="k", fingerprint=b"two"),
            new_message(scene.application),
        ]
        first, second, third = await scene.store.add(new)
        assert (first, third) == (Accepted(new[0].message), Accepted(new[2].message))
        assert isinstance(second, Conflict)
        assert [due.seq for due in await scene.due()] == [1, 2, 3]

    async def test_of_two_messages_in_a_call_the_first_gets_their_key(self, scene: Scene) -> None:
        new = [
            new_message(scene.application, key="k", fingerprint=b"one"),
            new_message(scene.application, key="k", fingerprint=b"one"),
            new_message(scene.application, key="k", fingerprint=b"two"),
        ]
        first, second, third = await scene.store.add(new)
        assert first == Accepted(new[0].message)
        assert second == Accepted(new[0].message, repeated=True)
        assert isinstance(third, Conflict)
        assert [due.message for due in await scene.due()] == [new[0].message.id]

    async def test_messages_without_a_key_are_never_the_same(self, scene: Scene) -> None:
        batch = [new_message(scene.application, key=None, fingerprint=b"one") for _ in range(2)]
        assert await scene.store.add(batch) == [Accepted(new.message) for new in batch]

    async def test_a_key_is_one_environment_s_own(self, scene: Scene) -> None:
        first = await scene.add(key="k")
        await scene.store.put(Environment("org_other"))
        foreign_application = an_application(environment="org_other")
        beside = an_application()
        for application in (foreign_application, beside):
            await scene.store.put(application)
        new = new_message(foreign_application, key="k")
        assert await scene.store.add([new]) == [Accepted(new.message)]
        assert await scene.store.add([new_message(beside, key="k")]) == [
            Accepted(first, repeated=True)
        ]

    async def test_a_known_key_answers_although_the_backlog_is_full(self, scene: Scene) -> None:
        first = await scene.add(key="k")
        application_at_limit = an_application(id=scene.application.id, most_waiting=0)
        await scene.store.put(application_at_limit)
        again, other = await scene.store.add(
            [new_message(application_at_limit, key="k"), new_message(application_at_limit)]
        )
        assert again == Accepted(first, repeated=True)
        assert isinstance(other, BacklogFull)

    async def test_a_known_key_is_looked_at_before_the_event_id(self, scene: Scene) -> None:
        first = await scene.add(key="k", event_id="evt-1")
        again = new_message(scene.application, key="k", event_id="evt-1")
        assert await scene.store.add([again]) == [Accepted(first, repeated=True)]

    async def test_a_key_outlives_the_payload(self, scene: Scene) -> None:
        first = await scene.add(key="k")
        await scene.store.expunge(Messages(scene.application.id), first.id)
        (answer,) = await scene.store.add([new_message(scene.application, key="k")])
        assert isinstance(answer, Accepted)
        assert (answer.message.id, answer.message.payload, answer.repeated) == (
            first.id,
            None,
            True,
        )

    async def test_a_message_that_was_not_accepted_uses_up_no_key(self, scene: Scene) -> None:
        await scene.add(event_id="evt-1")
        lost = [
            new_message("app_none", key="k1"),
            new_message(scene.application, key="k2", event_id="evt-1"),
        ]
        assert [type(answer) for answer in await scene.store.add(lost)] == [NotFound, Conflict]
        batch = [new_message(scene.application, key=key) for key in ("k1", "k2")]
        assert await scene.store.add(batch) == [Accepted(new.message) for new in batch]

    async def test_a_message_that_was_turned_away_uses_up_neither_key_nor_event_id(
        self, scene: Scene
    ) -> None:
        application_at_limit = replace(scene.application, most_waiting=0)
        await scene.store.put(application_at_limit)
        (answer,) = await scene.store.add(
            [new_message(application_at_limit, key="k", event_id="evt-1")]
        )
        assert isinstance(answer, BacklogFull)
        await scene.store.put(scene.application)
        again = new_message(scene.application, key="k", event_id="evt-1")
        assert await scene.store.add([again]) == [Accepted(again.message)]
        (answer,) = await scene.store.add([new_message(scene.application, event_id="evt-1")])
        assert isinstance(answer, Conflict), "the accepted message has used it"

    async def test_a_repeated_message_uses_up_no_event_id(self, scene: Scene) -> None:
        await scene.add(key="k")
        await scene.store.add([new_message(scene.application, key="k", event_id="evt-1")])
        new = new_message(scene.application, event_id="evt-1")
        assert await scene.store.add([new]) == [Accepted(new.message)]
