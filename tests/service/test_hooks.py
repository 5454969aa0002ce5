"""Webhooks inside a program of one's own, on a file, with a receiver that verifies."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from tarry.errors import (
    NotFound,
    PolicyError,
    SettingsError,
)
from tarry.receive.http1 import Request
from tarry.service import Hooks, build, open_hooks
from tarry.service.hooks import DEFAULT
from tarry.service.model.application import Application
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Standing
from tarry.service.model.listing import Cut
from tarry.service.model.message import Message
from tarry.service.model.task import Task, Work
from tarry.service.settings import Settings
from tarry.service.store.kinds import (
    Applications,
    Endpoints,
    Environment,
    Environments,
    Query,
    SealedEndpoints,
    Tasks,
)
from tarry.service.store.memory.store import MemoryStore
from tarry.service.store.sqlite.store import SqliteStore
from tarry.service.wire.seal import generate_key
from tarry.testing.receiver import Receiver, ReceiverConnection

pytestmark = pytest.mark.anyio

NETWORK = ("127.0.0.0/8",)
ELSEWHERE = "https://example.com/hook"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver(bodies=True) as receiver:
        yield receiver


async def until(done: Callable[[], object]) -> None:
    async with asyncio.timeout(120):
        while not done():  # noqa: ASYNC110  a receiver's thread tells nobody
            await asyncio.sleep(0.01)


async def ended(hooks: Hooks, message: Message) -> list[State]:
    """The states of a message's deliveries, once all have ended."""
    async with asyncio.timeout(120):
        while True:
            states = [delivery.state for _, delivery in await hooks.deliveries(message)]
            if not set(states) & {State.READY, State.WAITING}:
                return states
            await asyncio.sleep(0.01)


async def finished(hooks: Hooks, task: Task) -> Task:
    kind = Tasks(task.environment)
    async with asyncio.timeout(120):
        while (found := await hooks.store.get(kind, task.id)).finished_at is None:  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.01)
    return found


# --- Opening ------------------------------------------------------------------------------------


async def test_a_policy_that_was_set_meanwhile_stays(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = SqliteStore.read

    async def look_too_early(store: SqliteStore, query: Query[object]) -> list[object]:
        records = await look(store, query)
        if isinstance(query, Environments):  # another process is just creating it
            await store.put(Environment(DEFAULT, '{"attempts": 3}'))
        return records

    monkeypatch.setattr(SqliteStore, "read", look_too_early)
    async with open_hooks(db) as hooks:
        assert (await hooks.store.get(Environments(), DEFAULT)).policy == '{"attempts": 3}'


async def test_keys_that_another_process_makes_meanwhile_are_not_lost(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_hooks(db):
        pass
    keys = build.key_path(db)
    made = keys.read_bytes()
    keys.unlink()  # it is not there yet, and nothing is sealed
    look = SqliteStore.read

    async def look_a_little_late(store: SqliteStore, query: Query[object]) -> list[object]:
        assert isinstance(query, SealedEndpoints)
        monkeypatch.undo()
        keys.write_bytes(made)
        keys.chmod(0o600)
        async with open_hooks(db) as other:
            await other.add_endpoint(await other.application("shop"), ELSEWHERE)
        return await look(store, query)

    monkeypatch.setattr(SqliteStore, "read", look_a_little_late)
    async with open_hooks(db) as hooks:
        assert await hooks.store.read(SealedEndpoints())


# --- Applications -------------------------------------------------------------------------------


async def test_an_application_is_made_once_and_changed_when_told_so(hooks: Hooks) -> None:
    made = await hooks.application("shop", name="A shop")
    assert await hooks.application("shop") == made
    assert await hooks.application(made.id) == made
    changed = await hooks.application("shop", name="Another", most_waiting=5)
    assert (changed.id, changed.name, changed.most_waiting) == (made.id, "Another", 5)
    assert await hooks.application("shop") == changed


async def test_an_application_that_several_make_at_once_is_one(hooks: Hooks) -> None:
    made = await asyncio.gather(*(hooks.application("shop") for _ in range(10)))
    assert len({application.id for application in made}) == 1


async def test_an_application_with_settings_that_cannot_work_is_refused(hooks: Hooks) -> None:
    with pytest.raises(SettingsError, match="rate"):
        await hooks.application("shop", rate=0)
    with pytest.raises(PolicyError):
        await hooks.application("shop", policy="{nonsense")
    assert (await hooks.store.page(Applications(hooks.environment), Cut())).entries == []


async def test_the_environment_has_a_policy_that_can_be_read(hooks: Hooks) -> None:
    await hooks.set_policy('{"attempts": 3}')
    with pytest.raises(PolicyError):
        await hooks.set_policy('{"attempts": -3}')
    assert (await hooks.store.get(Environments(), hooks.environment)).policy == '{"attempts": 3}'


async def test_what_was_made_is_there_when_the_database_is_opened_again(db: str) -> None:
    async with open_hooks(db, allow_network=NETWORK) as hooks:
        shop = await hooks.application("shop")
        endpoint = await hooks.add_endpoint(shop, ELSEWHERE)
        secret = hooks.secret(endpoint)
    async with open_hooks(db, allow_network=NETWORK) as again:
        assert await again.application("shop") == shop
        found = await again.store.get(Endpoints(shop.id), endpoint.id)
        assert again.secret(found) == secret


# --- Sending ------------------------------------------------------------------------------------


async def test_a_message_arrives_signed_with_the_bytes_it_was_given(
    hooks: Hooks, shop: Application, receiver: Receiver
) -> None:
    heads: list[bytes] = []
    arrived = receiver.arrived

    def keep(connection: ReceiverConnection, request: Request) -> None:
        heads.append(request.head)
        arrived(connection, request)

    receiver.arrived = keep  # type: ignore[method-assign]  # to see the head as well
    endpoint = await hooks.add_endpoint(shop, receiver.url, headers={"x-token": "hush"})
    payload = b'{ "total":  12 }'
    async with hooks.dispatching():
        accepted = await hooks.send(shop, "order.paid", payload)
        assert await ended(hooks, accepted.message) == [State.DELIVERED]
    (arrival,) = receiver.arrivals
    assert arrival.body == payload
    lines = heads[0].decode().split("\r\n")[1:]
    headers = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    told = {
        line.partition(": ")[0].lower(): line.partition(": ")[2]
        for line in lines
        if line.lower().startswith(names)
    }
    Webhook(hooks.secret(endpoint)).verify(payload, told)
    assert headers["x-token"] == "hush"
    (attempt,) = await hooks.attempts(accepted.message)
    assert (attempt.status, attempt.number) == (200, 1)


async def test_a_delivery_that_is_not_there_cannot_be_explained(
    hooks: Hooks, shop: Application
) -> None:
    accepted = await hooks.send(shop, "order.paid", {})
    endpoint = await hooks.add_endpoint(shop, ELSEWHERE)
    with pytest.raises(NotFound, match="the endpoint was created after the message was sent"):
        await hooks.explain(accepted.message, endpoint)


# --- Again --------------------------------------------------------------------------------------


async def test_one_can_be_sent_again_without_touching_its_delivery(
    hooks: Hooks, shop: Application, receiver: Receiver
) -> None:
    endpoint = await hooks.add_endpoint(shop, receiver.url)
    async with hooks.dispatching():
        accepted = await hooks.send(shop, "order.paid", {})
        await ended(hooks, accepted.message)
        await hooks.resend(endpoint, accepted.message)
        await until(lambda: len(receiver.arrivals) == 2)
    ((_, delivery),) = await hooks.deliveries(accepted.message)
    assert (delivery.state, delivery.tries) == (State.DELIVERED, 1)
    assert [attempt.trigger for attempt in await hooks.attempts(accepted.message)] == [
        "scheduled",
        "manual",
    ]


async def test_what_failed_can_be_recovered(
    hooks: Hooks, shop: Application, receiver: Receiver
) -> None:
    endpoint = await hooks.add_endpoint(shop, receiver.url)
    receiver.script([422])
    async with hooks.dispatching():
        accepted = await hooks.send(shop, "order.paid", {})
        assert await ended(hooks, accepted.message) == [State.FAILED]
        task = await hooks.recover(endpoint, since=0.0)
        assert (await finished(hooks, task)).done == 1
        assert await ended(hooks, accepted.message) == [State.DELIVERED]


async def test_what_was_never_sent_can_be_replayed(
    hooks: Hooks, shop: Application, receiver: Receiver
) -> None:
    accepted = await hooks.send(shop, "order.paid", {})
    endpoint = await hooks.add_endpoint(shop, receiver.url)
    assert await hooks.deliveries(accepted.message) == []
    async with hooks.dispatching():
        await finished(hooks, await hooks.replay_missing(endpoint, since=0.0))
        assert await ended(hooks, accepted.message) == [State.DELIVERED]


async def test_what_waits_while_an_endpoint_is_paused_goes_when_it_is_enabled(
    hooks: Hooks, shop: Application, receiver: Receiver
) -> None:
    endpoint = await hooks.add_endpoint(shop, receiver.url, standing=Standing.PAUSED)
    async with hooks.dispatching():
        accepted = await hooks.send(shop, "order.paid", {})
        assert (await hooks.lane(endpoint)).waiting == 1
        await hooks.change_endpoint(endpoint, standing=Standing.ENABLED)
        assert await ended(hooks, accepted.message) == [State.DELIVERED]
    assert (await hooks.lane(endpoint)).waiting == 0


async def test_a_deleted_endpoint_gets_nothing_more_and_its_queue_is_discarded(
    hooks: Hooks, shop: Application
) -> None:
    endpoint = await hooks.add_endpoint(shop, ELSEWHERE, standing=Standing.PAUSED)
    accepted = await hooks.send(shop, "order.paid", {})
    task = await hooks.delete_endpoint(endpoint)
    assert task.work is Work.DISCARD
    async with hooks.dispatching():
        assert await ended(hooks, accepted.message) == [State.DISCARDED]
    with pytest.raises(NotFound):
        await hooks.store.get(Endpoints(shop.id), endpoint.id)
    for again in (
        hooks.delete_endpoint(endpoint),
        hooks.resend(endpoint, accepted.message),
        hooks.recover(endpoint, since=0.0),
    ):
        with pytest.raises(NotFound):
            await again


async def test_a_deleted_application_is_gone_with_all_its_queues(
    hooks: Hooks, shop: Application
) -> None:
    for _ in range(2):
        await hooks.add_endpoint(shop, ELSEWHERE, standing=Standing.PAUSED)
    accepted = await hooks.send(shop, "order.paid", {})
    assert len(await hooks.delete_application(shop)) == 2
    async with hooks.dispatching():
        assert await ended(hooks, accepted.message) == [State.DISCARDED] * 2
    assert (await hooks.application("shop")).id != shop.id


# --- The dispatcher -----------------------------------------------------------------------------


async def test_a_dispatcher_that_ends_has_nothing_on_its_way(
    hooks: Hooks, shop: Application, receiver: Receiver
) -> None:
    receiver.latency = 0.2
    await hooks.add_endpoint(shop, receiver.url)
    async with hooks.dispatching() as dispatcher:
        accepted = await hooks.send(shop, "order.paid", {})
        await until(lambda: receiver.arrivals)
    assert dispatcher.drained
    assert await ended(hooks, accepted.message) == [State.DELIVERED]


async def test_waiting_to_be_told_ends_when_told_or_when_the_dispatcher_fails() -> None:
    settings = Settings(db="memory:", sealing_keys=generate_key("test"))
    hooks = build.make_hooks(settings, MemoryStore())
    told = asyncio.Event()
    told.set()
    await hooks.until(told)

    async def fail() -> None:
        raise RuntimeError("gone")

    hooks.running = asyncio.create_task(fail())
    async with asyncio.timeout(120):
        await hooks.until(asyncio.Event())
    with pytest.raises(RuntimeError, match="gone"):
        await hooks.running


async def test_no_new_key_file_is_made_for_secrets_whose_keys_are_gone(
    db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(build.KEYS, raising=False)
    async with open_hooks(db) as hooks:
        await hooks.add_endpoint(await hooks.application("acme"), ELSEWHERE)
    keys = tmp_path / "hooks.db.keys"
    kept = keys.rename(tmp_path / "elsewhere")

    with pytest.raises(SettingsError, match=r"hooks\.db\.keys, which is missing.*backup"):
        async with open_hooks(db):
            pass

    assert not keys.exists()
    kept.rename(keys)
    async with open_hooks(db):
        pass


async def test_keys_that_open_nothing_of_what_is_there_are_refused(db: str) -> None:
    mine, other = generate_key("mine"), generate_key("other")
    async with open_hooks(db, sealing_keys=mine) as hooks:
        await hooks.add_endpoint(await hooks.application("acme"), ELSEWHERE)

    for wrong, why in (
        (other, "sealed with the key 'mine'"),
        (generate_key("mine"), "named 'mine'"),
    ):
        with pytest.raises(SettingsError, match=rf"sealing keys.*{build.KEYS}.*{why}"):
            async with open_hooks(db, sealing_keys=wrong):
                pass

    async with open_hooks(db, sealing_keys=f"{other} {mine}"):
        pass
