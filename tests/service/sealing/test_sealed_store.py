"""A store whose callers see plain payloads and responses, on every kind of store."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from tarry.errors import Conflict, NotFound, StoreUnavailable
from tarry.service import build, outbox
from tarry.service.model.attempt import ERASED, UNAVAILABLE, Attempt, Resent
from tarry.service.model.lane import Due, LaneRow, Stream
from tarry.service.model.message import Accepted, Message, NewMessage
from tarry.service.sealing.sealed_store import SealedStore, sealed_store
from tarry.service.store.contract import Store
from tarry.service.store.kinds import (
    AllAttemptsOf,
    Applications,
    AttemptsOf,
    DataKeys,
    DeliveriesTo,
    Messages,
)
from tarry.service.wire.seal import Seals, generate_key
from tarry.testing.samples import ENVIRONMENT, NOON, an_application, an_attempt, failed, new_message
from tarry.testing.store_contract.scene import EVERYTHING, Scene

pytestmark = pytest.mark.anyio

SEALS = Seals.of(generate_key("sealing"))
PAYLOAD = b'{"card": "4000 0000"}'
RESPONSE = b"thank you, Ann"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def raw(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """The store itself: it shows what is stored."""
    urls: dict[str, Callable[[], str]] = {
        "memory": lambda: "memory:",
        "sqlite": lambda: f"sqlite:///{tmp_path / 'hooks.db'}",
        "postgres": lambda: str(request.getfixturevalue("tarry_url")),
    }
    store = await build.open_store(urls[request.param](), migrate=True)
    yield store
    await store.close()


@pytest.fixture
def sealing(raw: Store) -> Store:
    """What a process with the setting sees."""
    return sealed_store(raw, SEALS, seal_payloads=True)


@pytest.fixture
def plain(raw: Store) -> Store:
    """What a process without the setting sees."""
    return sealed_store(raw, SEALS, seal_payloads=False)


@pytest.fixture
async def scene(sealing: Store) -> Scene:
    return await Scene.set_up(sealing)


async def stored(raw: Store, message: Message) -> Message:
    return await raw.get(Messages(message.application), message.id)


async def fail(scene: Scene, store: Store, due: Due) -> Attempt:
    """Save a failed attempt of a delivery with a response, and return it."""
    attempt = an_attempt(due, body=RESPONSE)
    assert await store.settle([failed(due, attempt=attempt)], [], scene.leases) == [True]
    return attempt


# --- Sealed and plain ---------------------------------------------------------------------------


async def test_a_payload_is_stored_sealed_and_read_plain_with_and_without_the_setting(
    scene: Scene, raw: Store, plain: Store
) -> None:
    message = await scene.add(payload=PAYLOAD)
    assert message.payload == PAYLOAD
    row = await stored(raw, message)
    assert row.sealed_with is not None
    assert PAYLOAD not in (row.payload or b"")
    for store in (scene.store, plain):
        assert await store.get(Messages(message.application), message.id) == message
        assert (await store.page(Messages(message.application), EVERYTHING)).entries == [message]
        ((found, _),) = (await store.page(DeliveriesTo(scene.endpoint), EVERYTHING)).entries
        assert found == message
        scene.store = store
        (due,) = await scene.due()
        assert (due.payload, due.sealed_with) == (PAYLOAD, None)


async def test_rows_from_before_the_setting_stay_as_they_are(
    scene: Scene, raw: Store, plain: Store
) -> None:
    sealed = await scene.add(payload=PAYLOAD)
    looks_sealed = (await stored(raw, sealed)).payload
    (answer,) = await plain.add([new_message(scene.application, payload=looks_sealed)])
    assert isinstance(answer, Accepted)
    assert (await stored(raw, answer.message)).sealed_with is None
    assert await scene.messages() == [sealed, answer.message]
    assert [due.payload for due in await scene.due()] == [PAYLOAD, looks_sealed]


async def test_a_response_is_stored_sealed_and_read_plain_with_and_without_the_setting(
    scene: Scene, raw: Store, plain: Store
) -> None:
    message = await scene.add()
    (due,) = await scene.due()
    attempt = await fail(scene, scene.store, due)
    (row,) = await raw.read(AllAttemptsOf(message.id))
    assert row.sealed_with is not None
    assert RESPONSE not in row.body
    for store in (scene.store, plain):
        scene.store = store
        assert await store.read(AllAttemptsOf(message.id)) == [attempt]
        assert await scene.attempts_to() == [attempt]
        assert (await store.get(AttemptsOf(message.id), attempt.id))[0] == attempt


async def test_the_setting_seals_responses_of_resends_and_of_lanes_that_were_loaded(
    scene: Scene, raw: Store
) -> None:
    message = await scene.add()
    await scene.settle(*map(failed, await scene.due()))
    await scene.store.lanes([scene.lane])
    await scene.store.resend(scene.endpoint, message.id, resend="r1")
    (due,) = await scene.due(Stream.RESEND)
    again = an_attempt(due, body=RESPONSE)
    assert await scene.settle(Resent(scene.lane, "r1", again, scene.lease.epoch)) == [True]
    row = next(row for row in await raw.read(AllAttemptsOf(message.id)) if row.id == again.id)
    assert row.sealed_with is not None
    assert RESPONSE not in row.body
    assert again in await scene.store.read(AllAttemptsOf(message.id))


async def test_an_attempt_with_nothing_to_seal_is_not_sealed(scene: Scene, raw: Store) -> None:
    message = await scene.add()
    await scene.settle(*map(failed, await scene.due()))
    (row,) = await raw.read(AllAttemptsOf(message.id))
    assert (row.body, row.sealed_with) == (b"", None)


async def test_an_attempt_without_a_response_needs_no_data_key(scene: Scene, raw: Store) -> None:
    scene.store = raw
    message = await scene.add()
    scene.store = sealed_store(raw, SEALS, seal_payloads=True)
    await scene.settle(*map(failed, await scene.due()))
    assert await raw.read(DataKeys()) == []
    assert len(await raw.read(AllAttemptsOf(message.id))) == 1


async def test_a_response_of_an_unknown_application_is_not_kept(
    scene: Scene, raw: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = await scene.add()
    (due,) = await scene.due()

    async def no_lanes(_lanes: Sequence[int]) -> list[LaneRow]:
        return []

    monkeypatch.setattr(raw, "lanes", no_lanes)
    await fail(scene, scene.store, due)
    (row,) = await raw.read(AllAttemptsOf(message.id))
    assert (row.body, row.sealed_with) == (b"", None)


async def test_without_the_setting_nothing_is_sealed(
    scene: Scene, raw: Store, plain: Store
) -> None:
    scene.store = plain
    message = await scene.add(payload=PAYLOAD)
    (due,) = await scene.due()
    attempt = await fail(scene, plain, due)
    assert await stored(raw, message) == message
    assert await raw.read(AllAttemptsOf(message.id)) == [attempt]


async def test_a_sealed_value_opens_only_at_its_place(scene: Scene, raw: Store) -> None:
    row = await stored(raw, await scene.add(payload=PAYLOAD))
    other = an_application()
    await raw.put(other)
    moved = [
        new_message(application, payload=row.payload, sealed_with=row.sealed_with)
        for application in (scene.application, other)
    ]
    await raw.add(moved)
    for new in moved:
        found = await scene.store.get(Messages(new.message.application), new.message.id)
        assert (found.payload, found.is_erased) == (None, False)
    opened, unopened = await scene.due()
    assert opened.payload == PAYLOAD
    assert (unopened.payload, unopened.unopened) == (None, True)


async def test_an_unknown_application_is_still_unknown(scene: Scene) -> None:
    answers = await scene.store.add(
        [new_message("app_unknown"), new_message(scene.application, payload=PAYLOAD)]
    )
    assert isinstance(answers[0], NotFound)
    assert isinstance(answers[1], Accepted)
    assert answers[1].message.payload == PAYLOAD


# --- Idempotency --------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
async def test_a_repeated_key_is_recognized_whether_it_was_sealed_or_not(
    raw: Store, scene: Scene, *, first: bool, second: bool
) -> None:
    def new(fingerprint: bytes) -> NewMessage:
        return new_message(scene.application, key="k", fingerprint=fingerprint, payload=PAYLOAD)

    (accepted,) = await sealed_store(raw, SEALS, seal_payloads=first).add([new(b"hash")])
    assert isinstance(accepted, Accepted)
    again = sealed_store(raw, SEALS, seal_payloads=second)
    assert await again.add([new(b"hash")]) == [Accepted(accepted.message, repeated=True)]
    (conflict,) = await again.add([new(b"another")])
    assert isinstance(conflict, Conflict)


async def test_a_stored_fingerprint_is_keyed(scene: Scene, raw: Store) -> None:
    await scene.add(key="k", fingerprint=b"hash")
    unkeyed = new_message(scene.application, key="k", fingerprint=b"hash")
    (answer,) = await raw.add([unkeyed])
    assert isinstance(answer, Conflict)


# --- Erasing ------------------------------------------------------------------------------------


async def test_after_erasing_nothing_sealed_before_can_be_opened(
    scene: Scene, plain: Store
) -> None:
    message, ended = await scene.add(payload=PAYLOAD), await scene.add(payload=PAYLOAD)
    _, due = await scene.due()
    attempt = await fail(scene, scene.store, due)
    assert await scene.store.erase(scene.application.id, now=NOON)
    later = await scene.add(payload=PAYLOAD)
    for store in (scene.store, plain):
        scene.store = store
        *erased, opened = await scene.messages()
        assert [row.id for row in erased] == [message.id, ended.id]
        assert all(row.is_erased and row.payload is None for row in erased)
        assert opened == later
        (found,) = await store.read(AllAttemptsOf(ended.id))
        assert (found.id, found.body) == (attempt.id, ERASED)
        dues = {due.message: due for due in await scene.due()}
        assert dues[message.id].payload is None
        assert dues[message.id].sealed_with is not None
        assert dues[later.id].payload == PAYLOAD


async def test_an_expunged_message_does_not_count_as_erased(scene: Scene) -> None:
    message = await scene.add(payload=PAYLOAD)
    await scene.store.expunge(Messages(message.application), message.id)
    await scene.store.erase(scene.application.id, now=NOON)
    (found,) = await scene.messages()
    assert (found.payload, found.is_erased) == (None, False)


async def test_a_process_that_has_an_erased_key_in_memory_seals_with_the_new_one(
    scene: Scene, raw: Store
) -> None:
    elsewhere = sealed_store(raw, SEALS, seal_payloads=True)
    await scene.add(payload=PAYLOAD)
    await elsewhere.erase(scene.application.id, now=NOON)
    message = await scene.add(payload=PAYLOAD)
    found = await elsewhere.get(Messages(message.application), message.id)
    assert (found.payload, found.is_erased) == (PAYLOAD, False)


async def test_a_response_whose_key_was_erased_elsewhere_is_not_saved(
    scene: Scene, raw: Store
) -> None:
    message = await scene.add(payload=PAYLOAD)
    (due,) = await scene.due()
    await sealed_store(raw, SEALS, seal_payloads=True).erase(scene.application.id, now=NOON)
    await fail(scene, scene.store, due)
    (row,) = await raw.read(AllAttemptsOf(message.id))
    assert row.body == b""
    (found,) = await scene.store.read(AllAttemptsOf(message.id))
    assert found.body == ERASED


async def test_a_deleted_application_is_forgotten_at_once(scene: Scene) -> None:
    message = await scene.add(payload=PAYLOAD)
    await scene.store.delete(Applications(ENVIRONMENT), scene.application.id, now=NOON)
    assert (await scene.store.get(Messages(message.application), message.id)).is_erased
    (answer,) = await scene.store.add([new_message(scene.application)])
    assert isinstance(answer, NotFound)


async def test_messages_that_are_added_while_keys_are_erased_are_sealed_with_a_live_key(
    scene: Scene, raw: Store
) -> None:
    processes = [sealed_store(raw, SEALS, seal_payloads=True) for _ in range(3)]
    last_erased = asyncio.Event()

    async def send(store: Store) -> list[Message]:
        """Send until the last key was erased, and then once more; return that last message."""
        while True:
            is_last = last_erased.is_set()
            (answer,) = await store.add([new_message(scene.application, payload=PAYLOAD)])
            assert isinstance(answer, Accepted), answer
            await asyncio.sleep(0)
            if is_last:
                return [answer.message]

    async def erase() -> list[Message]:
        for _ in range(20):
            await processes[0].erase(scene.application.id, now=NOON)
            await asyncio.sleep(0)
        last_erased.set()
        return []

    sent = await asyncio.gather(*map(send, [*processes, *processes]), erase())
    for message in (message for messages in sent for message in messages):
        assert (await stored(raw, message)).sealed_with is not None
        found = await scene.store.get(Messages(message.application), message.id)
        assert found.payload == PAYLOAD


# --- Lost sealing keys --------------------------------------------------------------------------


async def test_with_another_sealing_key_nothing_is_lost_and_nothing_is_opened(
    scene: Scene, raw: Store
) -> None:
    message, ended = await scene.add(payload=PAYLOAD), await scene.add(payload=PAYLOAD)
    _, due = await scene.due()
    attempt = await fail(scene, scene.store, due)
    other = sealed_store(raw, Seals.of(generate_key("another")), seal_payloads=True)
    plain_other = sealed_store(raw, Seals.of(generate_key("another")), seal_payloads=False)
    for store in (other, plain_other):
        messages = Messages(scene.application.id)
        assert await store.get(messages, message.id) == replace(message, payload=None)
        found = (await store.page(messages, EVERYTHING)).entries
        assert found == [replace(sealed, payload=None) for sealed in (message, ended)]
        unavailable = [replace(attempt, body=UNAVAILABLE)]
        assert await store.read(AllAttemptsOf(ended.id)) == unavailable
    with pytest.raises(StoreUnavailable, match="sealing"):
        await other.add([new_message(scene.application)])
    scene.store = other
    (due,) = await scene.due()
    assert (due.payload, due.unopened) == (None, True)
    await fail(scene, other, due)
    (row,) = await raw.read(AllAttemptsOf(message.id))
    assert (row.body, row.sealed_with) == (b"", None)


async def test_an_application_whose_data_key_cannot_be_opened_stops_only_its_own_outbox(
    tarry_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    raw = await build.open_store(tarry_url, migrate=True)
    good, bad = an_application(), an_application()
    for application in (good, bad):
        await raw.put(application)
    before = sealed_store(raw, SEALS, seal_payloads=True)
    await before.add([new_message(bad)])
    with psycopg.connect(tarry_url) as connection:
        first, stays, last = (
            outbox.put(connection, application=application.id, event_type="a", payload=PAYLOAD)
            for application in (good, bad, good)
        )
    other = sealed_store(raw, Seals.of(generate_key("another")), seal_payloads=True)
    assert await other.collect(now=NOON, limit=9) == 2
    assert await other.collect(now=NOON, limit=9) == 0
    found = (await other.page(Messages(good.id), EVERYTHING)).entries
    assert [(message.id, message.payload) for message in found] == [
        (first, PAYLOAD),
        (last, PAYLOAD),
    ]
    assert f"messages of {bad.id} stay in the outbox" in caplog.text
    assert await before.collect(now=NOON, limit=9) == 1
    assert (await before.get(Messages(bad.id), stays)).payload == PAYLOAD
    await raw.close()


async def test_other_methods_are_those_of_the_store(raw: Store, sealing: Store) -> None:
    assert isinstance(sealing, SealedStore)
    assert sealing.counts == raw.counts
    assert replace(await sealing.server(), now=0.0) == replace(await raw.server(), now=0.0)
