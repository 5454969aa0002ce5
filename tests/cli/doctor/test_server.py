import pytest

from tarry.cli.doctor import server
from tarry.cli.doctor.finding import State
from tarry.cli.doctor.server import serving
from tarry.service.model.waits import WAITS, End
from tarry.testing.receiver import Receiver
from tests.cli.scripted import scripted
from tests.cli.shell import KEY, Shell


def found_of(url: str, key: str | None) -> dict[str, State]:
    return {one.check: one.state for one in serving(url, key)}


def test_a_server_that_is_well_is_said_to_be(shell: Shell) -> None:
    found = found_of(shell.url, KEY)
    assert {"server", "ready", "key"} <= set(found)
    assert set(found.values()) == {State.OK}


def test_what_waits_is_told_unless_somebody_has(shell: Shell) -> None:
    shell.out("endpoint", "create", "shop", shell.receiver.url)
    shell.out("send", "shop", "order.paid", "--wait")
    made = shell.json("endpoint", "create", "shop", shell.receiver.url)["id"]
    shell.out("endpoint", "pause", "shop", made)
    shell.out("send", "shop", "order.paid")
    found = {one.check: one for one in serving(shell.url, KEY)}
    assert "the oldest for " in found["backlog"].words
    assert "endpoints: 2" in found["backlog"].words
    assert found["paused"].words.endswith(f": shop {made}")
    assert found["success"].state is State.OK
    assert "backlog" not in {one.check for one in serving(shell.url, KEY, backlog=False)}


def test_only_so_many_endpoints_are_asked_for(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarry.cli.doctor.server.MOST_ENDPOINTS", 1)
    found = {one.check: one for one in serving(shell.url, KEY)}
    assert "(only the first 1 were checked)" in found["backlog"].words


def test_a_key_is_tried(shell: Shell) -> None:
    (tried,) = (one for one in serving(shell.url, "wrong") if one.check == "key")
    assert (tried.state, "tarry key create makes a new one" in tried.words) == (State.WRONG, True)
    assert found_of(shell.url, None)["key"] is State.ADVICE
    sends = shell.json("key", "create", "--server", shell.url, "--scope", "send")["key"]
    assert found_of(shell.url, sends)["key"] is State.OK


def test_one_that_cannot_take_messages_is_told() -> None:
    broken = (503, b'{"code":"unavailable","detail":"x"}')
    with scripted(broken, broken) as (server, _):
        found = found_of(server.url, "k")
    assert (found["ready"], found["key"]) == (State.WRONG, State.WRONG)


@pytest.mark.parametrize("answer", [(200, b"hello"), (404, b"{}"), (503, b"<html>")])
def test_what_is_no_tarry_is_said_to_be_none(answer: tuple[int, bytes]) -> None:
    with scripted(answer) as (server, _):
        (found,) = serving(server.url, "k")
    assert (found.check, found.state) == ("server", State.WRONG)
    assert f"answered {answer[0]}, but not like tarry" in found.words


def test_a_clock_that_is_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarry.cli.doctor.server.time", lambda: 0.0)
    with scripted((200, b"{}")) as (server, _):
        assert found_of(server.url, None)["server clock"] is State.WRONG


def test_what_cannot_be_looked_at_is_told() -> None:
    refused = (403, b'{"code":"insufficient access","detail":"x"}')
    page = (200, b'{"data":[],"iterator":null,"done":true}')
    with scripted((200, b"{}"), page, refused) as (server, _):
        assert found_of(server.url, "k")["backlog"] is State.WRONG


def test_nobody_there_is_all_there_is_to_say() -> None:
    assert found_of("http://127.0.0.1:1", KEY) == {"server": State.WRONG}
    assert found_of("nonsense", KEY) == {"server": State.WRONG}


def test_the_reasons_of_deliveries_that_nothing_holds_are_those_of_the_service() -> None:
    unheld = {str(reason) for reason, wait in WAITS.items() if wait.end is End.READ}
    assert unheld == server.UNHELD


def test_the_server_says_what_should_have_been_sent(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While its only delivery is in flight, an endpoint looks as if no worker served it."""
    with Receiver(latency=3) as slow:
        made = shell.json("endpoint", "create", "shop", slow.url)["id"]
        shell.out("send", "shop", "order.paid")
        assert found_of(shell.url, KEY)["overdue"] is State.OK
        monkeypatch.setattr("tarry.service.explain.OVERDUE", -3600)
        found = {one.check: one for one in serving(shell.url, KEY)}
        shell.out("endpoint", "delete", "shop", made, "--yes")
    assert found["overdue"].state is State.WRONG
    assert f"shop {made}" in found["overdue"].words
