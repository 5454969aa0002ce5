"""The database is in trouble: one clear line, nothing accepted is lost, it goes on by itself."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import apsw
import httpx
import pytest

from tarry.cli.commands import tarry
from tarry.service.store.sqlite.database.disk import disk_of
from tarry.testing.postgres import Cluster
from tarry.testing.receiver import Receiver
from tests.faults.conftest import Databases
from tests.faults.disk import small_disk
from tests.faults.nursery import Child, Nursery
from tests.faults.scene import LONG, PostgresBase, Scene, SqliteBase, until
from tests.plain_http import PLAIN

pytestmark = pytest.mark.slow

NOBODY = 65534
ROUNDS = 2


@pytest.fixture
def on_file(
    sqlite_base: SqliteBase, receiver: Receiver, nursery: Nursery, tmp_path: Path
) -> Iterator[Scene]:
    yield Scene(sqlite_base, receiver, nursery, tmp_path)
    nursery.clear()


@pytest.fixture
def on_server(
    databases: Databases, receiver: Receiver, nursery: Nursery, tmp_path: Path
) -> Iterator[Scene]:
    yield Scene(PostgresBase(databases.new()), receiver, nursery, tmp_path)
    nursery.clear()


def finish(scene: Scene, accepting: Child, *workers: Child) -> None:
    assert accepting.end() == 0, accepting.said
    scene.settle_down()
    for worker in workers:
        scene.end(worker)
    scene.check()


def stalls(scene: Scene) -> bool:
    before = len(scene.accepted())
    time.sleep(0.3)
    return len(scene.accepted()) == before


# --- Files --------------------------------------------------------------------------------------


def test_a_full_disk_loses_nothing_and_needs_no_restart(
    receiver: Receiver, nursery: Nursery, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        base = SqliteBase(disk.folder / "hooks.db")
        scene = Scene(base, receiver, nursery, tmp_path)
        scene.prepare()
        accepting, worker = scene.ingest(), scene.worker()
        for _ in range(ROUNDS):
            scene.goes_on()
            disk.fill([accepting, worker])
            until(lambda: stalls(scene), "nothing is accepted")
            disk.free()
            scene.goes_on()
        finish(scene, accepting, worker)
        assert base.ask("PRAGMA integrity_check") == [("ok",)]
        nursery.clear()


def test_messages_are_turned_away_before_the_disk_is_full_and_deliveries_go_on(
    receiver: Receiver, nursery: Nursery, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        scene = Scene(SqliteBase(disk.folder / "hooks.db"), receiver, nursery, tmp_path)
        scene.prepare(apps=1)
        free = disk_of(disk.folder / "hooks.db").free
        span = min(free // 4, 10**9)
        server, url = scene.serve("--disk-reserve", str(free - span))
        receiver.go_down("refuse")
        posted = Posting(url)
        assert [posted(number).status_code for number in range(20)] == [202] * 20
        disk.press(2 * span)
        numbers = count(20)
        until(lambda: posted(next(numbers)).status_code == 429, "messages are turned away")
        late = next(numbers)
        answer = posted(late)
        assert (answer.json()["code"], answer.headers["retry-after"]) == ("disk_nearly_full", "5")
        assert posted(3).status_code == 202, "what was accepted is told so again"
        receiver.come_back()
        scene.settle_down()
        assert posted(late).status_code == 429
        assert len(scene.taken()) >= 20
        disk.free()
        until(lambda: posted(late).status_code == 202, "messages are accepted again")
        scene.settle_down()
        assert server.end() == 0, server.said
        assert server.said.count("no new messages until there is room") == 1, server.said
        scene.check()
        nursery.clear()


class Posting:
    """Posts a message over HTTP, by its number: each is one message, however often."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/api/v1/app/app-0/msg"

    def __call__(self, number: int) -> httpx.Response:
        headers = {"authorization": "Bearer k", "idempotency-key": f"key-{number}"}
        return httpx.post(
            self._url,
            json={"eventType": "a", "payload": {"number": number}},
            headers=headers,
            **PLAIN,
        )


def test_a_file_that_is_gone_for_a_while_is_found_again(on_file: Scene) -> None:
    scene, path = on_file, Path(on_file.base.url.removeprefix("sqlite:///"))
    scene.prepare()
    accepting, worker = scene.ingest(), scene.worker()
    scene.goes_on()
    path.rename(path.with_suffix(".away"))
    until(lambda: stalls(scene), "nothing is accepted")
    until(lambda: "was removed or replaced" in worker.said, "it says what is wrong")
    path.with_suffix(".away").rename(path)
    scene.goes_on()
    finish(scene, accepting, worker)


def test_a_damaged_file_is_refused_and_a_backup_takes_its_place(on_file: Scene) -> None:
    scene, path = on_file, Path(on_file.base.url.removeprefix("sqlite:///"))
    scene.prepare(messages=50)
    copy = scene.folder / "copy.db"
    tarry(["backup", "--db", scene.base.url, str(copy)], standalone_mode=False)
    with path.open("r+b") as file:
        file.write(b"\xff" * 4096)
    refused = scene.worker()
    assert refused.wait() == 3, refused.said
    assert refused.said.count("\n") == 1
    assert "restore a backup" in refused.said
    for left in scene.folder.glob("hooks.db-*"):
        left.unlink()
    shutil.copy(copy, path)
    worker = scene.worker()
    scene.settle_down()
    scene.end(worker)
    scene.check()


def test_a_damaged_page_stops_nobody_from_hearing_of_it(on_file: Scene) -> None:
    scene, path = on_file, Path(on_file.base.url.removeprefix("sqlite:///"))
    scene.prepare(messages=200)
    db = apsw.Connection(str(path))
    db.pragma("wal_checkpoint", "TRUNCATE")
    root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'delivery'").get
    size = db.pragma("page_size")
    db.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    worker = scene.worker()
    until(lambda: "is damaged" in worker.said or not worker.alive, "it says what is wrong")
    assert "restore a backup" in worker.said
    worker.send(signal.SIGTERM)
    assert worker.wait() in {0, 1, 3}, worker.said
    assert "Traceback" not in worker.said


def test_a_read_only_folder_is_one_line(on_file: Scene, nursery: Nursery) -> None:
    folder = Path(tempfile.mkdtemp())
    on_file.base = SqliteBase(folder / "hooks.db")
    on_file.prepare()
    try:
        folder.chmod(0o555)
        user = NOBODY if os.geteuid() == 0 else None
        arguments = ["worker", "--db", on_file.base.url]
        refused = nursery.start("worker", on_file.folder / "log", user=user, arguments=arguments)
        assert refused.wait() == 3, refused.said
        assert refused.said.count("\n") == 1, refused.said
        assert str(folder) in refused.said
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_adding_works_beside_a_worker_and_a_second_worker_is_refused(on_file: Scene) -> None:
    scene = on_file
    scene.prepare()
    accepting, worker = scene.ingest(), scene.worker()
    scene.goes_on()
    second = scene.worker()
    assert second.wait() == 3, second.said
    assert f"process {worker.pid}" in second.said
    assert second.said.count("\n") == 1
    scene.goes_on()
    finish(scene, accepting, worker)


# --- Servers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["killed", "stopped", "hanging", "killed with all processes"])
def test_a_server_that_is_away_for_a_while_costs_nothing(
    on_server: Scene, cluster: Cluster, how: str
) -> None:
    scene = on_server
    scene.prepare()
    accepting, workers = scene.ingest(), [scene.worker(), scene.worker()]
    scene.goes_on()
    scene.at_work(*workers)
    with scene.trouble():  # leases end meanwhile, with something in the air
        if how == "hanging":
            cluster.pause()
            time.sleep(scene.lease + 0.5)
            cluster.resume()
        else:
            if how == "killed with all processes":
                for child in (accepting, *workers):
                    child.kill()
            cluster.stop() if how == "stopped" else cluster.kill()
            time.sleep(scene.lease + 0.5 if how == "killed" else 0.3)
            cluster.start()
        if not accepting.alive:
            accepting, workers = scene.ingest(), [scene.worker(), scene.worker()]
        scene.goes_on()
    for worker in workers:
        assert worker.alive, worker.said
        assert "Traceback" not in worker.said
    finish(scene, accepting, *workers)


@pytest.mark.parametrize("busy", [False, True])
def test_a_worker_that_is_told_to_stop_while_the_server_is_away_says_so_and_ends(
    on_server: Scene, cluster: Cluster, *, busy: bool
) -> None:
    scene = on_server
    scene.prepare(messages=100)
    scene.receiver.latency = 0.3 if busy else 0.0
    worker = scene.worker(grace=1)
    until(lambda: len(scene.taken()) >= 20, "it is at work")
    if not busy:
        scene.settle_down()
    cluster.kill()
    try:
        worker.send(signal.SIGTERM)
        assert worker.wait() == 1, worker.said
        assert "Traceback" not in worker.said
    finally:
        cluster.start()
    scene.died()
    worker = scene.worker()
    scene.settle_down()
    scene.end(worker)
    scene.check()


def test_a_server_that_is_not_there_is_one_line(on_server: Scene) -> None:
    on_server.base.url = "postgresql://me:hush@127.0.0.1:1/x"
    refused = on_server.worker()
    assert refused.wait() == 3, refused.said
    assert refused.said.count("\n") == 1
    assert "hush" not in refused.said


# --- Processes ----------------------------------------------------------------------------------


def test_too_few_file_descriptors_make_it_slower_and_nothing_else(scene: Scene) -> None:
    scene.lease = LONG
    scene.prepare(apps=30, messages=120)
    scene.receiver.latency = 0.01
    worker = scene.worker(files=40)
    scene.settle_down()
    scene.end(worker)
    assert "Traceback" not in worker.said
    scene.check()


def test_a_worker_that_is_told_to_stop_leaves_nothing_half_done(scene: Scene) -> None:
    scene.lease = LONG
    scene.prepare()
    scene.receiver.latency = 0.2
    accepting = scene.ingest(pause=0.002)
    for _ in range(ROUNDS):
        worker = scene.worker()
        scene.goes_on()
        worker.send(signal.SIGTERM)
        assert worker.wait() == 0, worker.said  # within its grace, else it would say so
    assert accepting.end() == 0, accepting.said
    worker = scene.worker()
    scene.settle_down()
    scene.end(worker)
    scene.check()  # with not one duplicate: each left with nothing on its way
    assert not scene.duplicates()
