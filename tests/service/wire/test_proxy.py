import asyncio
import socket
from base64 import b64decode

import pytest

from tarry.core.outcome import Kind
from tarry.errors import SettingsError
from tarry.service.wire.exchange import Target
from tarry.service.wire.proxy import MOST_HEAD, Proxy
from tarry.service.wire.send_failure import SendFailure

TARGET = Target("https", "hooks.example", 443, "/")


def tunnel(
    answer: bytes, *, proxy: Proxy, target: Target = TARGET
) -> tuple[bytes, SendFailure | None]:
    """What the proxy was asked, and what became of it when it answered so and closed."""
    near, far = socket.socketpair()
    with near, far:
        near.settimeout(0)
        far.sendall(answer)
        far.shutdown(socket.SHUT_WR)

        async def ask() -> SendFailure | None:
            return await proxy.tunnel(asyncio.get_running_loop(), near, target)

        found = asyncio.run(ask())
        return far.recv(4096), found


def test_a_url_names_a_proxy_and_its_credentials() -> None:
    assert Proxy.at("http://proxy.example:3128") == Proxy("proxy.example", 3128)
    secret = Proxy.at("http://us%40er:p%3Aw@[::1]:3128/")
    assert (secret.host, secret.port) == ("::1", 3128)
    assert secret.authorization is not None
    assert b64decode(secret.authorization.removeprefix("Basic ")) == b"us@er:p:w"


@pytest.mark.parametrize(
    "url",
    ["", "proxy:3128", "https://proxy:3128", "http://proxy", "http://:1", "http://p:0", "http://[",
     "http://p:99999", "http://p:1/path"],
)  # fmt: skip
def test_what_is_not_a_proxy_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(SettingsError, match=r"http://proxy\.example:3128"):
        Proxy.at(url)


def test_a_refused_url_does_not_tell_its_password() -> None:
    with pytest.raises(SettingsError) as caught:
        Proxy.at("socks5://user:hunter2@proxy:1080")
    assert "hunter2" not in str(caught.value)


def test_a_tunnel_is_asked_for_by_name_and_with_credentials() -> None:
    asked, found = tunnel(b"HTTP/1.1 200 Made\r\n\r\n", proxy=Proxy("p", 1, "Basic abc"))
    assert found is None
    assert asked == (
        b"CONNECT hooks.example:443 HTTP/1.1\r\nHost: hooks.example:443\r\n"
        b"Proxy-Authorization: Basic abc\r\n\r\n"
    )


def test_an_address_of_six_goes_in_brackets() -> None:
    target = Target("http", "2001:db8::1", 80, "/")
    asked, _ = tunnel(b"HTTP/1.1 200 Made\r\n\r\n", proxy=Proxy("p", 1), target=target)
    assert asked.startswith(b"CONNECT [2001:db8::1]:80 HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (b"HTTP/1.1 407 Who\r\n\r\n", Kind.TRANSIENT, "answered 407"),
        (b"HTTP/1.1 403 No\r\ncontent-length: 2\r\n\r\nno", Kind.TRANSIENT, "answered 403"),
        (b"", Kind.TRANSIENT, "no valid HTTP response"),
        (b"HTTP/1.1 200 Ma", Kind.TRANSIENT, "no valid HTTP response"),
        (b"SSH-2.0\r\n\r\n", Kind.TRANSIENT, "no valid HTTP response"),
        (b"HTTP/1.1 200 Made\r\nx: " + b"y" * MOST_HEAD, Kind.TRANSIENT, "no valid HTTP response"),
        (b"HTTP/1.1 200 Made\r\n\r\nHTTP/1.1 200", Kind.PROTOCOL, "before the request"),
    ],
)
def test_a_proxy_that_makes_no_tunnel_is_no_fault_of_the_endpoint(
    answer: bytes, kind: Kind, words: str
) -> None:
    _, found = tunnel(answer, proxy=Proxy("p", 1))
    assert found is not None
    assert found.kind is kind
    assert words in found.detail
