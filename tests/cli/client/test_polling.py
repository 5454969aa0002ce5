import click
import pytest

from tarry.cli.client import polling as module
from tarry.cli.client.client import Answer, NoServer, Server
from tarry.cli.client.polling import MessageProgress, interruptible, poll
from tarry.cli.client.remote import Remote
from tarry.service.model.delivery import Reason
from tarry.service.model.words import REASONS
from tests.cli.shell import KEY, Shell


@pytest.fixture
def app(shell: Shell, request: pytest.FixtureRequest) -> str:
    """An application of its own for each test."""
    made: str = shell.json("app", "create", request.node.name)["id"]
    return made


def test_a_message_that_is_refused_ends_with_one_and_the_reason(shell: Shell, app: str) -> None:
    shell.out("endpoint", "create", app, shell.receiver.url, "--uid", "till")
    shell.receiver.script([400])
    told = shell.run("send", app, "order.paid", "--wait", "--timeout", "20s")
    assert told.exit_code == 1
    assert told.stderr.splitlines()[-1].startswith(f"till ({shell.receiver.url}): ")
    assert "400" in told.stderr


def test_one_that_waits_says_why_and_ends_in_time(shell: Shell, app: str) -> None:
    shell.out("endpoint", "create", app, shell.receiver.url, "--uid", "till")
    shell.out("endpoint", "pause", app, "till")
    told = shell.run("send", app, "order.paid", "--wait", "--timeout", "0.3s")
    assert told.exit_code == 4
    message = told.stdout.split()[0]
    till = f"till ({shell.receiver.url}): "
    assert told.stderr.splitlines() == [
        f"{till}Waiting: endpoint paused. {REASONS[Reason.PAUSED].meaning}",
        "After 300 ms: delivered to 0 of 1 endpoints. Still waiting:",
        f"  {till}endpoint paused",
        f"`tarry message get {app} {message}` shows its state.",
    ]


def test_of_several_each_is_told_and_counted(shell: Shell, app: str) -> None:
    for uid in ("one", "two", "three"):
        shell.out("endpoint", "create", app, f"{shell.receiver.url}{uid}", "--uid", uid)
    shell.out("endpoint", "pause", app, "three")
    told = shell.run("send", app, "order.paid", "--wait", "--timeout", "3s")
    assert told.exit_code == 4
    assert "(1 of 3)\n" in told.stderr
    assert "(2 of 3)\n" in told.stderr
    *_, over, waits, _ = told.stderr.splitlines()
    assert over == "After 3 s: delivered to 2 of 3 endpoints. Still waiting:"
    assert waits == f"  three ({shell.receiver.url}three): endpoint paused"


def test_when_it_is_tried_next_is_told_in_the_end(shell: Shell, app: str) -> None:
    shell.out("endpoint", "create", app, shell.receiver.url, "--uid", "till")
    typed = ("--wait", "--timeout", "0", "--deliver-at", "1h")
    told = shell.run("send", app, "order.paid", *typed)
    *_, waits, _ = told.stderr.splitlines()
    assert f"till ({shell.receiver.url}): scheduled, next attempt in 60 min, " in waits


def test_many_are_asked_about_when_they_stand_otherwise(
    shell: Shell, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_POLLED_ENDPOINTS", 0)
    shell.out("endpoint", "create", app, shell.receiver.url, "--uid", "till")
    shell.out("endpoint", "pause", app, "till")
    sent = shell.json("send", app, "order.paid")["id"]
    remote = Remote(Server(shell.url, KEY), as_json=False)
    asked: list[tuple[str, ...]] = []

    def get(*way: str) -> Answer:
        asked.append(way)
        return Remote.get(remote, *way)

    monkeypatch.setattr(remote, "get", get)
    progress = MessageProgress(remote, app, sent)
    for _ in range(3):
        assert len(progress.look()) == 1
    assert len(asked) == 1


def test_ctrl_c_says_where_to_look(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(click.exceptions.Exit) as ended, interruptible("look there"):
        raise KeyboardInterrupt
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err == "\nlook there\n"


def test_so_does_a_server_that_goes_away(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NoServer), interruptible("look there"):
        raise NoServer("gone")
    assert capsys.readouterr().err == "look there\n"


def test_one_that_nobody_wants_is_said_to_be_so(shell: Shell, app: str) -> None:
    told = shell.run("send", app, "order.paid", "--wait")
    assert (told.exit_code, told.stderr) == (0, "No endpoint accepts this message.\n")


def test_what_is_looked_at_is_looked_at_until_it_is_so() -> None:
    seen = iter(range(10))
    assert poll(lambda: next(seen), lambda count: count == 2, timeout=5) == 2
    assert poll(lambda: 1, lambda count: count == 2, timeout=0.1) is None
