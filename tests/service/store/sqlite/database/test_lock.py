"""One process at a time has the dispatcher's role, and the kernel gives it back."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tarry.errors import StoreError, StoreOwned
from tarry.service.store.sqlite.database.lock import DispatcherLock

HOLD = """
import sys, pathlib
from tarry.service.store.sqlite.database.lock import DispatcherLock
lock = DispatcherLock(pathlib.Path(sys.argv[1]))
lock.take("worker-of-the-child")
print("held", flush=True)
sys.stdin.read()
"""

FORK = """
import os, sys, pathlib
from tarry.service.store.sqlite.database.lock import DispatcherLock
lock = DispatcherLock(pathlib.Path(sys.argv[1]))
lock.take("worker-of-the-parent")
if os.fork() == 0:
    print(lock.give_back(), lock.workers, flush=True)
sys.stdin.read()
"""


def test_a_second_one_is_refused_and_told_who_has_it(path: Path) -> None:
    first, second = DispatcherLock(path), DispatcherLock(path)
    first.take("worker-1")
    with pytest.raises(StoreOwned) as caught:
        second.take("worker-2")
    assert caught.value.database == str(path)
    assert caught.value.owner == f"process {os.getpid()}, worker worker-1"
    assert second.workers == frozenset()
    first.give_back()


def test_workers_of_one_process_share_it_until_the_last_leaves(path: Path) -> None:
    first, second = DispatcherLock(path), DispatcherLock(path)
    first.take("worker-1")
    first.take("worker-2")
    assert first.workers == {"worker-1", "worker-2"}
    first.leave("worker-1")
    with pytest.raises(StoreOwned):
        second.take("worker-3")
    first.leave("worker-2")
    second.take("worker-3")
    second.give_back()


def test_who_holds_a_lock_that_was_deleted_gives_way_to_who_came_then(path: Path) -> None:
    first, second = DispatcherLock(path), DispatcherLock(path)
    first.take("worker-1")
    path.with_name("hooks.db-dispatcher").unlink()
    second.take("worker-2")
    with pytest.raises(StoreOwned, match="worker-2"):
        first.take("worker-1")
    second.give_back()
    first.take("worker-1")
    path.with_name("hooks.db-dispatcher").unlink()
    first.take("worker-1")
    with pytest.raises(StoreOwned, match="worker-1"):
        second.take("worker-2")
    first.give_back()


def test_a_process_that_is_killed_holds_nothing(path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout
    assert child.stdin
    assert child.stdout.readline() == b"held\n"
    lock = DispatcherLock(path)
    with pytest.raises(StoreOwned, match=f"process {child.pid}, worker worker-of-the-child"):
        lock.take("worker-1")
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdin.close()
    child.stdout.close()
    lock.take("worker-1")
    lock.give_back()


def test_a_child_does_not_hold_what_its_parent_held(path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", FORK, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout
    assert parent.stdin
    assert parent.stdout.readline() == b"None frozenset()\n"
    lock = DispatcherLock(path)
    with pytest.raises(StoreOwned, match=f"process {parent.pid}, worker worker-of-the-parent"):
        lock.take("worker-1")
    parent.kill()
    parent.wait()
    lock.take("worker-1")
    lock.give_back()
    parent.stdin.close()  # which ends the child
    parent.stdout.close()


def test_an_owner_without_a_name_yet_is_another_process(path: Path) -> None:
    first, second = DispatcherLock(path), DispatcherLock(path)
    first.take("worker-1")
    path.with_name("hooks.db-dispatcher").write_text("")
    with pytest.raises(StoreOwned, match="another process"):
        second.take("worker-2")
    first.give_back()


def test_a_folder_that_is_not_there_is_an_error_of_the_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened: No such file"):
        DispatcherLock(tmp_path / "nowhere" / "hooks.db").take("worker-1")


def test_a_file_system_without_locks_is_an_error_of_the_store(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_file: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(StoreError, match=r"hooks\.db-dispatcher cannot be locked: No locks"):
        DispatcherLock(path).take("worker-1")
