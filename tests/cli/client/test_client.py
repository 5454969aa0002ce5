import json
import socket
from threading import Thread

import click
import pytest

from tarry.cli.client.client import POLICY, NoServer, Server, ServerRefused
from tarry.cli.service.options import WrongSettings
from tarry.core.backoff import Fixed
from tarry.core.jitter import NoJitter
from tests.cli.scripted import QUICK, scripted
from tests.cli.shell import KEY, Shell

ODD = b"<html>hello</html>"


def test_what_is_safe_is_asked_again_while_the_server_is_busy() -> None:
    with scripted((503, b""), (429, b""), (200, b'{"a": 1}')) as (server, script):
        assert server.request("GET", "app", query={"all": True, "left": None}).read() == {"a": 1}
    assert [path for _, path, _, _ in script.asked] == ["/api/v1/app?all=true"] * 3
    assert script.asked[0][2]["authorization"] == "Bearer k"


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_post_is_repeated_under_the_same_idempotency_key(method: str) -> None:
    with scripted((503, b""), (202, b"{}")) as (server, script):
        server.request(method, "app", "a b", "msg", body={"x": 1})
    (_, path, first, body), (_, _, second, again) = script.asked
    assert path == "/api/v1/app/a%20b/msg"
    assert first["idempotency-key"] == second["idempotency-key"] != ""
    assert json.loads(body) == json.loads(again) == {"x": 1}


def test_a_wait_that_people_notice_is_told(
    still_time: object, capsys: pytest.CaptureFixture[str]
) -> None:
    _ = still_time
    with scripted((503, b""), (200, b"{}")) as (server, _script):
        Server(server.url, "k", POLICY.replace(backoff=Fixed(4), jitter=NoJitter())).request(
            "GET", "x"
        )
    assert capsys.readouterr().err == "The server is busy or unreachable. Retrying in 4 s.\n"


def test_the_address_of_the_api_will_do_as_well() -> None:
    with scripted((200, b"{}")) as (server, script):
        known = Server(f"{server.url}/api/v1/", "k")
        known.request("GET", "app")
    assert (known.url, script.asked[0][1]) == (server.url, "/api/v1/app")


def test_a_server_without_tls_is_said_to_be_at_http() -> None:
    with scripted() as (server, _), pytest.raises(NoServer) as told:
        Server(server.url.replace("http:", "https:"), "k", QUICK).request("GET", "app")
    assert "it speaks no TLS" in told.value.message
    assert told.value.message.endswith("is it at http:// instead?")


def test_a_server_may_be_below_a_path() -> None:
    with scripted((200, b"{}")) as (server, script):
        Server(f"{server.url}/hooks/", "k").request("GET", "app")
    assert script.asked[0][1] == "/hooks/api/v1/app"


def test_what_a_server_says_does_not_steer_the_terminal() -> None:
    answer = (400, json.dumps({"code": "c", "detail": "\x1b[2Joops"}).encode())
    with scripted(answer) as (server, _), pytest.raises(ServerRefused) as told:
        server.request("GET", "app")
    assert told.value.message == "400 c: \\x1b[2Joops"


def test_what_must_be_done_once_is_not_repeated() -> None:
    busy = (503, b'{"code":"unavailable","detail":"later"}')
    refused = pytest.raises(NoServer, match="503 unavailable: later")
    with scripted(busy, (201, b"{}")) as (server, script), refused:
        server.request("POST", "key", body={}, once=True)
    assert len(script.asked) == 1
    assert "idempotency-key" not in script.asked[0][2]


def test_a_broken_server_is_not_asked_again() -> None:
    broken = (500, b'{"code":"server_error","detail":"oh"}')
    refused = pytest.raises(NoServer, match="500 server_error: oh")
    with scripted(broken) as (server, _), refused:
        server.request("GET", "app")


@pytest.mark.parametrize("answer", [(200, ODD), (302, b""), (404, ODD), (403, b""), (502, ODD)])
def test_what_is_no_tarry_is_said_to_be_none(answer: tuple[int, bytes]) -> None:
    with scripted(*[answer] * 4) as (server, _), pytest.raises(NoServer) as told:
        server.request("GET", "app")
    assert str(answer[0]) in told.value.message
    assert told.value.exit_code == 3


def test_what_is_not_there_is_called_by_its_name(shell: Shell) -> None:
    server = Server(shell.url, KEY)
    with pytest.raises(ServerRefused, match="there is no application 'nobody'"):
        server.request("GET", "app", "nobody", "endpoint", "e")
    with pytest.raises(ServerRefused, match="there is no endpoint 'e'"):
        server.request("GET", "app", "shop", "endpoint", "e")


def test_what_was_typed_and_is_no_utf8_is_asked_for_all_the_same(shell: Shell) -> None:
    typed = b"\xff".decode(errors="surrogateescape")
    code, said = shell.wrong("app", "get", typed)
    assert (code, said) == (1, r"Error: 404 not_found: there is no application '\udcff'")
    assert shell.wrong("message", "list", "shop", "--tag", typed)[0] == 1


def test_nobody_at_home_ends_with_three() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(NoServer, match=f"127.0.0.1:{port} cannot be reached: ") as told:
        Server(f"http://127.0.0.1:{port}", "k", QUICK).request("GET", "app")
    assert told.value.exit_code == 3


def test_a_connection_that_is_cut_off_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up() -> None:
            listening.accept()[0].close()

        thread = Thread(target=hang_up)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(NoServer, match="cannot be reached"):
            Server(url, "k", QUICK).request("POST", "key", once=True)
        thread.join()


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8400", "ftp://x", "http://", "http://x:y", "http://x?y"]
)
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(WrongSettings, match=r"http://127\.0\.0\.1:8400"):
        Server(url)


@pytest.mark.parametrize("key", ["", " ", "a\nb", "schlüssel"])
def test_a_key_that_is_none_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(WrongSettings) as told:
        Server("http://x", key)
    assert told.value.message == "'key' is no key: it may hold printable ASCII characters only"


@pytest.mark.parametrize("name", ["", "a/b"])
def test_a_name_that_nobody_can_have_is_refused(name: str) -> None:
    with pytest.raises(click.UsageError, match="is not a valid name"):
        Server("http://x").request("GET", "app", name)


def test_a_list_is_followed_to_its_end_or_so_far() -> None:
    pages = [
        {"data": [1, 2], "iterator": "b", "done": False},
        {"data": [3], "iterator": "c", "done": True},
    ]
    bodies = [(200, json.dumps(page).encode()) for page in pages]
    with scripted(*bodies, *bodies) as (server, script):
        assert list(server.items("app", most=None, order="ascending")) == [1, 2, 3]
        assert list(server.items("app", most=2)) == [1, 2]
    assert [path.partition("?")[2] for _, path, _, _ in script.asked] == [
        "order=ascending&limit=250",
        "order=ascending&limit=250&iterator=b",
        "limit=2",
    ]
