"""A process dies at each named point, on each database; another takes over, nothing is lost.

Most of the time goes by waiting for leases to end, so several stories are played at a time.
"""

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.failpoints import NAMES
from tarry.service.hooks import Hooks
from tarry.service.model.endpoint import Standing
from tarry.service.model.message import NewMessage
from tarry.service.model.settings import DAY
from tarry.service.outbox import put
from tarry.service.store.kinds import Endpoints, Environments, Messages
from tarry.testing.receiver import Receiver
from tests.faults.conftest import Databases
from tests.faults.nursery import Child, Nursery
from tests.faults.scene import PostgresBase, Scene, SqliteBase, until

pytestmark = pytest.mark.slow

AT_ONCE = 8
MESSAGES = 40
ONLY_POSTGRES = {"collect.before", "collect.after"}

Played = Callable[[str, str], None]


@pytest.fixture(scope="module")
def played(
    request: pytest.FixtureRequest,
    nursery: Nursery,
    databases: Databases,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Played]:
    """What came of the story of a point on a database; all that were asked for begin at once."""
    stories: dict[tuple[str, str], Future[None]] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for item in request.session.items:
            if isinstance(item, pytest.Function) and item.module is request.module:
                kind, name = (str(item.callspec.params[field]) for field in ("kind", "name"))
                folder = tmp_path_factory.mktemp("story")
                stories[kind, name] = pool.submit(
                    play, name, kind, folder=folder, nursery=nursery, databases=databases
                )
        yield lambda kind, name: stories[kind, name].result()
        for story in stories.values():
            story.cancel()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for name in NAMES
        for kind in ("sqlite", "postgres")
        if kind == "postgres" or name not in ONLY_POSTGRES
    ],
)
def test_nothing_is_lost_by_a_death_at(kind: str, name: str, played: Played) -> None:
    played(kind, name)


def play(name: str, kind: str, *, folder: Path, nursery: Nursery, databases: Databases) -> None:
    """Have a process die at a point, another go on, and look at the books."""
    with Receiver(latency=0.002) as receiver:
        if kind == "sqlite":
            scene = Scene(SqliteBase(folder / "hooks.db"), receiver, nursery, folder)
        else:
            scene = Scene(PostgresBase(databases.new()), receiver, nursery, folder)
        scene.lease = 2.5
        scene.prepare(messages=MESSAGES)
        STORIES.get(name.partition(".")[0], by_working)(scene, name)


def die(scene: Scene, child: Child) -> None:
    """It died, and of nothing else than the point."""
    assert child.wait() == -signal.SIGKILL, child.said
    scene.died()


def go_on(scene: Scene) -> None:
    """Another worker does what is left, and the books are in order."""
    worker = scene.worker()
    scene.settle_down()
    scene.end(worker)
    scene.check()


def entries(scene: Scene) -> int:
    """How many entries the audit trail has about what was done by command."""
    query = "SELECT count(*) FROM tarry.audit WHERE actor = 'command-line'"
    return int(scene.base.ask(query)[0][0])


# --- How each point is reached ------------------------------------------------------------------


def by_working(scene: Scene, name: str) -> None:
    die(scene, scene.worker(f"{name}:2" if name.startswith(("send", "settle")) else name))
    go_on(scene)


def by_accepting(scene: Scene, name: str) -> None:
    die(scene, scene.ingest(f"{name}:3", most=200))
    accepting = scene.ingest(most=200)
    until(lambda: len(set(scene.accepted().values())) == 200, "all are acknowledged")
    assert accepting.end() == 0, accepting.said
    # Those of before have no key; those sent twice with one are one message.
    (keys,) = scene.base.ask("SELECT count(*) FROM tarry.key")[0]
    assert keys >= 200 - MESSAGES
    assert len(scene.base.deliveries()) == MESSAGES + keys
    go_on(scene)


def by_ending(scene: Scene, name: str) -> None:
    worker = scene.worker(name)
    until(lambda: len(scene.taken()) >= MESSAGES // 4, "it is at work")
    worker.send(signal.SIGTERM)
    die(scene, worker)
    go_on(scene)


def by_learning(scene: Scene, name: str) -> None:
    scene.receiver.go_down("refuse")
    worker = scene.worker(name)
    waits = "SELECT 1 FROM tarry.delivery WHERE reason = 'lane open'"
    until(lambda: scene.base.ask(waits) or not worker.alive, "it noticed that nobody is there")
    worker.send(signal.SIGTERM)
    die(scene, worker)
    scene.receiver.come_back()
    go_on(scene)


def by_replaying(scene: Scene, name: str) -> None:
    async def skip_and_replay(hooks: Hooks) -> None:
        application = await hooks.application("app-0")
        endpoint = await hooks.store.get(Endpoints(application.id), "end-0")
        endpoint = await hooks.change_endpoint(endpoint, standing=Standing.DISABLED)
        for _ in range(20):
            await hooks.send(application, "happened", {})
        endpoint = await hooks.change_endpoint(endpoint, standing=Standing.ENABLED)
        await hooks.replay_missing(endpoint, since=0.0)

    scene.do(skip_and_replay)
    die(scene, scene.worker(name))
    worker = scene.worker()
    unfinished = "SELECT count(*) FROM tarry.task WHERE finished_at IS NULL"
    until(lambda: not scene.base.ask(unfinished)[0][0], "the task is finished")
    scene.settle_down()
    scene.end(worker)
    assert len(scene.base.deliveries()) == MESSAGES + 20
    scene.check()


def by_ageing(scene: Scene, name: str) -> None:
    async def add_old(hooks: Hooks) -> None:
        application = await hooks.application("app-0")
        # More than could be delivered before anybody looks at their age.
        new = [hooks.message(application, "happened", {}) for _ in range(500)]
        old = [replace(one, accepted_at=one.accepted_at - 6 * DAY) for one in new]
        await hooks.send_many([NewMessage(one) for one in old])

    scene.do(add_old)
    die(scene, scene.worker(name))
    worker = scene.worker()
    scene.settle_down()
    scene.end(worker)
    scene.check(ended={"too old"})


def by_collecting(scene: Scene, name: str) -> None:
    async def application(hooks: Hooks) -> str:
        return (await hooks.application("app-0")).id

    known: str = scene.do(application)
    with psycopg.connect(scene.base.url) as connection:
        for _ in range(20):
            put(connection, application=known, event_type="happened", payload=b"{}")
    die(scene, scene.worker(name))
    worker = scene.worker()
    left = "SELECT count(*) FROM tarry.outbox"
    until(lambda: not scene.base.ask(left)[0][0], "all is collected")
    scene.settle_down()
    scene.end(worker)
    assert len(scene.base.deliveries()) == MESSAGES + 20
    scene.check()


def by_asking(scene: Scene, name: str) -> None:
    message = next(iter(scene.accepted()))
    act, _, side = name.partition(".")

    def ask(failpoint: str) -> Child:
        return scene.people(failpoint, act, application="app-0", endpoint="end-0", message=message)

    die(scene, ask(name))
    assert entries(scene) == (side == "after"), "an act and its entry are one commit"
    again = ask("")
    assert again.wait() == 0, again.said
    if act == "resend":
        scene.explained[message] += 2  # asked for twice, if the first was kept
    worker = scene.worker()
    scene.settle_down()
    until(lambda: not scene.base.ask("SELECT 1 FROM tarry.resend"), "all was sent again")
    scene.end(worker)
    scene.check(ended={"cancelled"} if act == "cancel" else set())


def by_claiming(scene: Scene, name: str) -> None:
    key = next(iter(scene.accepted()))
    about = {"application": "app-0", "endpoint": "end-0", "message": key}
    claims = "SELECT status FROM tarry.claim"
    left = {"claim.before": [], "claim.after": [(None,)], "answer.before": [(None,)]}
    die(scene, scene.people(name, "claim", **about))
    assert scene.base.ask(claims) == left.get(name, [(201,)])
    again = scene.people("", "claim", **about)
    assert again.wait() == 0, again.said
    assert scene.base.ask(claims) == [(201,)]
    go_on(scene)


def by_changing(scene: Scene, name: str) -> None:
    act, _, side = name.partition(".")

    async def send(hooks: Hooks) -> str:
        application = await hooks.application("app-0")
        return (await hooks.send(application, "happened", {}, event_id="changed")).message.id

    async def is_changed(hooks: Hooks) -> bool:
        application = await hooks.application("app-0")
        match act:
            case "application":
                return application.name == "changed"
            case "change":
                endpoint = await hooks.store.get(Endpoints(application.id), "end-0")
                return endpoint.description == "changed"
            case "delete" | "endpoint":
                try:
                    known_as = "end-0" if act == "delete" else "changed"
                    await hooks.store.get(Endpoints(application.id), known_as)
                except NotFound:
                    return act == "delete"
                return act == "endpoint"
            case "environment":
                return (await hooks.store.get(Environments(), hooks.environment)).policy is not None
            case _:
                return (await hooks.store.get(Messages(application.id), "changed")).payload is None

    def news() -> int:
        query = "SELECT count(*) FROM tarry.notice WHERE id = 'notice_of_change'"
        return int(scene.base.ask(query)[0][0])

    told = act in {"change", "delete", "endpoint"}
    scene.do(send)
    die(scene, scene.change(name, act))
    assert scene.do(is_changed) is (side == "after")
    assert news() == (told and side == "after"), "a change and its news are one commit"
    assert entries(scene) == (side == "after"), "a change and its entry are one commit"
    again = scene.change("", act)
    assert again.wait() == 0, again.said
    assert scene.do(is_changed)
    assert news() == told
    lanes, endpoints = scene.base.ask(
        "SELECT (SELECT count(*) FROM tarry.lane), (SELECT count(*) FROM tarry.endpoint)"
    )[0]
    assert lanes == endpoints == (5 if act == "endpoint" else 4)
    worker = scene.worker()
    scene.settle_down()
    scene.end(worker)
    scene.check(
        ended={"delete": {"endpoint deleted"}, "expunge": {"payload expunged"}}.get(act, ())
    )


STORIES: dict[str, Callable[[Scene, str], None]] = {
    "add": by_accepting,
    "advance": by_replaying,
    "answer": by_claiming,
    "application": by_changing,
    "cancel": by_asking,
    "change": by_changing,
    "claim": by_claiming,
    "collect": by_collecting,
    "delete": by_changing,
    "drain": by_ending,
    "endpoint": by_changing,
    "environment": by_changing,
    "expire": by_ageing,
    "expunge": by_changing,
    "learn": by_learning,
    "release": by_ending,
    "resend": by_asking,
    "task": by_asking,
}
