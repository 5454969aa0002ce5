import socket
from ipaddress import IPv4Address, ip_address

import pytest

from tarry.service.wire.own_address import is_on_this_machine, own_addresses

ANY = str(IPv4Address(0))
"""The wildcard of IPv4."""


def test_a_name_comes_with_its_addresses() -> None:
    own = own_addresses("localhost", 8400)
    assert own == ("localhost:8400", "127.0.0.1:8400", "[::1]:8400")
    name = socket.gethostname()
    assert own_addresses(name, 8400)[0] == f"{name}:8400"


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", ("127.0.0.1:8400",)),
        ("::1", ("[::1]:8400",)),
        (ANY, ("0.0.0.0:8400",)),
        ("::", ("[::]:8400",)),
        ("no-such-host.invalid", ("no-such-host.invalid:8400",)),
    ],
)
def test_an_address_and_a_wildcard_stay_as_they_are(host: str, own: tuple[str, ...]) -> None:
    assert own_addresses(host, 8400) == own


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("https://hooks.example.com", "hooks.example.com:443"),
        ("http://hooks.example.com", "hooks.example.com:80"),
        ("https://hooks.example.com:8443", "hooks.example.com:8443"),
        ("https://[2001:db8::1]", "[2001:db8::1]:443"),
    ],
)
def test_a_public_url_counts_too(url: str, own: str) -> None:
    assert own_addresses("127.0.0.1", 0, url) == (own,)


def test_the_kernel_says_which_addresses_are_of_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for address in ("127.0.0.1", "127.9.9.9", "::1", ANY, "::"):
        assert is_on_this_machine(ip_address(address))

    def connect(_: socket.socket, address: tuple[str, int]) -> None:
        if address[0] == "192.0.2.3":
            raise OSError("there is no route")

    class Probe(socket.socket):
        pass

    monkeypatch.setattr(Probe, "connect", connect)
    monkeypatch.setattr(Probe, "getsockname", lambda _: ("192.0.2.1", 1))
    monkeypatch.setattr(socket, "socket", Probe)
    own = [is_on_this_machine(ip_address(f"192.0.2.{number}")) for number in (1, 2, 3)]
    assert own == [True, False, False]
