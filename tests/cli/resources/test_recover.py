import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from tarry.cli.client.polling import poll
from tarry.cli.commands import tarry
from tests.cli.scripted import scripted
from tests.cli.shell import Shell


@pytest.fixture
def till(shell: Shell, request: pytest.FixtureRequest) -> Iterator[str]:
    """An endpoint in an application of its own; its first message failed."""
    app = shell.json("app", "create", request.node.name)["id"]
    shell.out("endpoint", "create", app, shell.receiver.url, "--uid", "till")
    shell.receiver.script([400])
    assert shell.run("send", app, "order.paid", "--wait").exit_code == 1
    yield app
    shell.out("app", "delete", app, "--yes")


def test_what_failed_is_delivered_after_all(shell: Shell, till: str) -> None:
    said = shell.out("recover", till, "till", "--since", "1h", "--wait")
    assert said.endswith(" is finished; messages queued: 1\n")
    left = poll(lambda: shell.lines("undelivered", till), lambda found: not found, timeout=120)
    assert left == []


def test_what_was_never_sent_is_delivered_too(shell: Shell, till: str) -> None:
    shell.out("endpoint", "create", till, shell.receiver.url, "--uid", "new")
    task = shell.json("recover", till, "new", "--since", "1h", "--missing", "--wait")
    assert (task["task"], task["data"]) == ("endpoint.replay", {"messagesSent": 1})


def test_cancelling_is_no_word_about_what_a_later_recovery_brings(shell: Shell, till: str) -> None:
    way = ("recover", till, "--since", "1h", "--missing", "--wait")
    (failed,) = shell.lines("message", "list", till)
    assert shell.json("message", "cancel", till, failed["id"]) == {"cancelled": 0}  # it has ended
    shell.out("endpoint", "create", till, "https://example.com/", "--uid", "new")
    shell.out("endpoint", "pause", till, "new")
    assert shell.json(*way, "new")["data"] == {"messagesSent": 1}
    assert shell.json("message", "cancel", till, failed["id"]) == {"cancelled": 1}
    assert shell.json(*way, "new")["data"] == {"messagesSent": 0}  # nothing brings it back
    told = " ".join(shell.out("message", "cancel", "--help").split())
    assert "cancelled for good" in told
    assert "where it was delivered, failed or never sent" in told


def test_a_time_that_ends_before_it_begins_is_refused(shell: Shell) -> None:
    for typed in (
        ("recover", "shop", "e"),
        ("endpoint", "stats", "shop", "e"),
        ("message", "list", "shop"),
    ):
        code, said = shell.wrong(*typed, "--since", "1h", "--until", "2h")
        assert (code, "--until must be after --since" in said) == (2, True)


def test_without_waiting_it_is_told_how_to_look(shell: Shell, till: str) -> None:
    said = shell.out("recover", till, "till", "--since", "1h", "--until", "30min")
    task = said.split()[0]
    assert f"tarry task get {task}" in said
    assert shell.json("task", "get", task)["id"] == task


def test_a_task_that_fails_ends_with_one() -> None:
    task = {"id": "qtask_1", "status": "running", "task": "endpoint.recover", "data": {}}
    failed = {**task, "status": "failed", "data": {"error": "it is gone"}}
    answers = [(status, json.dumps(body).encode()) for status, body in ((202, task), (200, failed))]
    typed = ("recover", "shop", "till", "--since", "1h", "--wait", "--key", "k")
    with scripted(*answers) as (server, _):
        ended = CliRunner().invoke(tarry, [*typed, "--server", server.url])
    assert (ended.exit_code, ended.stdout) == (1, "qtask_1 failed: it is gone\n")


def test_one_that_takes_too_long_ends_with_four() -> None:
    task = {"id": "qtask_1", "status": "running", "task": "endpoint.recover", "data": {}}
    answers = [(status, json.dumps(task).encode()) for status in (202, *[200] * 20)]
    typed = ("recover", "shop", "till", "--since", "1h", "--wait", "--timeout", "0.2s")
    with scripted(*answers) as (server, _):
        ended = CliRunner().invoke(tarry, [*typed, "--key", "k", "--server", server.url])
    assert ended.exit_code == 4
    assert ended.stdout == "qtask_1 is running; `tarry task get qtask_1` shows its progress\n"


def test_too_long_a_time_is_refused(shell: Shell, till: str) -> None:
    code, said = shell.wrong("recover", till, "till", "--since", "30d")
    assert (code, "14 days" in said) == (1, True)
    assert shell.wrong("recover", till, "till")[0] == 2
