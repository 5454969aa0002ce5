import asyncio
from typing import LiteralString

import psycopg
import pytest

from tarry.errors import Conflict
from tarry.service.model.message import Accepted
from tarry.service.store.kinds import Messages
from tarry.service.store.postgres.ingest.decide import Name, _Decision
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import ENVIRONMENT, NOON, a_message, new_message
from tarry.testing.store_contract.scene import Scene
from tests.service.store.postgres.waiting import someone_waits

pytestmark = pytest.mark.anyio


async def test_a_key_that_another_process_is_using_is_waited_for(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    new = new_message(scene.application, key="k", fingerprint=b"1")
    with psycopg.connect(tarry_url) as other:
        other.execute(
            "INSERT INTO tarry.key (environment, key, fingerprint, message, accepted_at)"
            " VALUES (%s, 'k', '1', 'msg_other', 0)",
            [ENVIRONMENT],
        )
        adding = asyncio.create_task(store.add([new]))
        await someone_waits(tarry_url)
        other.rollback()
    assert await adding == [Accepted(new.message)]


async def test_two_processes_with_the_same_key_get_the_same_message(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    other = await PostgresStore.open(tarry_url)
    calls = [
        either.add([new_message(scene.application, key="k", fingerprint=b"1", event_id="evt")])
        for either in (store, other) * 10
    ]
    answers = [answer for (answer,) in await asyncio.gather(*calls)]
    await other.close()
    assert all(isinstance(answer, Accepted) for answer in answers)
    first = {answer.message.id for answer in answers if isinstance(answer, Accepted)}
    assert len(first) == 1
    assert len(await scene.due()) == 1


KEY = (
    "INSERT INTO tarry.key (environment, key, fingerprint, message, accepted_at)"
    " VALUES (%(environment)s, %(name)s, '', 'msg_other', 0)"
)
EVENT = (
    "INSERT INTO tarry.event (application, event_id, message)"
    " VALUES (%(application)s, %(name)s, 'msg_other')"
)


@pytest.mark.parametrize("take", [KEY, EVENT], ids=["key", "event id"])
@pytest.mark.parametrize("names", ["21", "31321", "2231"])
async def test_whoever_waits_for_a_name_holds_none_behind_it(
    scene: Scene, store: PostgresStore, tarry_url: str, take: LiteralString, names: str
) -> None:
    shop = scene.application
    new = [
        new_message(shop, key=name) if take is KEY else new_message(shop, event_id=name)
        for name in names
    ]
    whose = {"environment": ENVIRONMENT, "application": scene.application.id}
    with psycopg.connect(tarry_url) as first, psycopg.connect(tarry_url) as other:
        first.execute(take, {**whose, "name": "1"})
        adding = asyncio.create_task(store.add(new))
        await someone_waits(tarry_url)
        other.execute("SET lock_timeout = '200ms'")
        for name in set(names) - {"1"}:
            other.execute(take, {**whose, "name": name})
        other.rollback()
        first.rollback()
    answers = dict(zip(names, await adding, strict=True))
    assert len(await scene.due()) == len(answers)


async def test_a_key_that_was_swept_while_it_was_looked_at_is_taken_anew(
    scene: Scene, store: PostgresStore, tarry_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.add(key="k", fingerprint=b"1")
    look = _Decision._answer_known  # noqa: SLF001  between two statements

    async def sweep_and_look(decision: _Decision, places: dict[Name, int]) -> None:
        with psycopg.connect(tarry_url) as other:
            other.execute("DELETE FROM tarry.key")
        await look(decision, places)

    monkeypatch.setattr(_Decision, "_answer_known", sweep_and_look)
    new = new_message(scene.application, key="k", fingerprint=b"1")
    assert await store.add([new]) == [Accepted(new.message)]
    monkeypatch.undo()
    again = new_message(scene.application, key="k", fingerprint=b"1")
    assert await store.add([again]) == [Accepted(new.message, repeated=True)]


async def test_what_one_part_of_a_call_gives_back_another_part_can_take(
    scene: Scene, store: PostgresStore
) -> None:
    await scene.add(event_id="evt_1")
    new = [
        new_message(scene.application, key="k", event_id="evt_1"),
        new_message(scene.application, key="k", event_id="evt_2"),
    ]
    lost, won = await store.add(new)
    assert isinstance(lost, Conflict)
    assert won == Accepted(new[1].message)
    again = new_message(scene.application, key="k")
    assert await store.add([again]) == [Accepted(new[1].message, repeated=True)]


async def test_in_one_call_the_second_sees_what_became_of_the_first(
    scene: Scene, store: PostgresStore
) -> None:
    await scene.add(event_id="evt_1")
    lost, won, same, other = answers = await store.add(
        [
            new_message(scene.application, key="k", fingerprint=b"1", event_id="evt_1"),
            new_message(scene.application, key="k", fingerprint=b"2"),
            new_message(scene.application, key="k", fingerprint=b"2"),
            new_message(scene.application, key="k", fingerprint=b"3"),
        ]
    )
    assert isinstance(lost, Conflict)
    assert isinstance(won, Accepted)
    assert same == Accepted(won.message, repeated=True)
    assert isinstance(other, Conflict)
    assert len(answers) == 4


async def test_a_message_whose_id_is_there_already_changes_nothing(
    scene: Scene, store: PostgresStore
) -> None:
    message = await scene.add()
    again = a_message(scene.application, id=message.id, payload=b"other", accepted_at=NOON)
    with pytest.raises(Exception, match=r"message_\w+pkey"):
        await store.add([new_message(scene.application, id=again.id, payload=b"other")])
    assert await store.get(Messages(scene.application.id), message.id) == message
    assert len(await scene.due()) == 1
