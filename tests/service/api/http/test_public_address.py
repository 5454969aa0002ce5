import pytest

from tarry.errors import SettingsError
from tarry.service.api.http.public_address import PublicAddress

PROXY, STRANGER = "10.0.0.7", "203.0.113.9"
TRUSTING = PublicAddress.of(proxies=["10.0.0.0/24", "fd00::7"])


def base_of(address: PublicAddress, peer: str, **headers: str) -> str:
    named = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return address.base("http", named, peer)


def test_without_settings_a_request_says_where_it_went() -> None:
    assert base_of(PublicAddress(), STRANGER, host="hooks.example:8400") == (
        "http://hooks.example:8400"
    )
    assert base_of(PublicAddress(), STRANGER, host="[::1]:8400") == "http://[::1]:8400"
    assert base_of(PublicAddress(), STRANGER) == ""


@pytest.mark.parametrize(
    ("headers", "base"),
    [
        ({"x_forwarded_proto": "https"}, "https://inside:8400"),
        ({"x_forwarded_proto": "http, https", "x_forwarded_host": "evil, a.b"}, "https://a.b"),
        ({"x_forwarded_proto": "http"}, "http://inside:8400"),
        ({"x_forwarded_proto": "javascript"}, "http://inside:8400"),
        ({"x_forwarded_host": "a.b/path?"}, "http://inside:8400"),
    ],
)
def test_a_trusted_proxy_says_where_it_is(headers: dict[str, str], base: str) -> None:
    for peer in (PROXY, "::ffff:10.0.0.7", "fd00::7"):
        assert base_of(TRUSTING, peer, host="inside:8400", **headers) == base


@pytest.mark.parametrize("peer", [STRANGER, "fd00::8", "::ffff:203.0.113.9", ""])
def test_nobody_else_does(peer: str) -> None:
    forwarded = {"x_forwarded_proto": "https", "x_forwarded_host": "evil.example"}
    assert base_of(TRUSTING, peer, host="inside:8400", **forwarded) == "http://inside:8400"
    assert base_of(PublicAddress(), PROXY, host="inside:8400", **forwarded) == "http://inside:8400"


def test_a_public_url_is_the_last_word() -> None:
    address = PublicAddress.of("https://hooks.example.com/", [PROXY])
    assert base_of(address, PROXY, host="x", x_forwarded_host="y") == "https://hooks.example.com"


@pytest.mark.parametrize("host", ["a@b", "a/b", "a b", "a?b", "a#b", "a:b", "[x]"])
def test_a_host_that_is_none_makes_no_link(host: str) -> None:
    assert base_of(PublicAddress(), STRANGER, host=host) == ""


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example.com",
        "ftp://a",
        "https://",
        "https://a/b",
        "https://u@a",
        "http://a:99999",
    ],
)
def test_a_public_url_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match=r"public-url.*https://hooks\.example\.com"):
        PublicAddress.of(url)


@pytest.mark.parametrize("network", ["", "proxy", "10.0.0.7/24", "10.0.0.0/33"])
def test_a_proxy_that_is_no_network_is_refused(network: str) -> None:
    with pytest.raises(SettingsError, match=r"trusted-proxy.*10\.0\.0\.0/24"):
        PublicAddress.of(proxies=[network])


def client_of(address: PublicAddress, peer: str, forwarded: str | None = None) -> str:
    headers = {} if forwarded is None else {b"x-forwarded-for": forwarded.encode("latin-1")}
    return address.client(headers, peer)


@pytest.mark.parametrize("forwarded", [None, "", "198.51.100.1", "evil, 10.0.0.7"])
def test_nobody_but_a_trusted_proxy_says_whom_a_request_comes_from(forwarded: str | None) -> None:
    assert client_of(TRUSTING, STRANGER, forwarded) == STRANGER
    assert client_of(PublicAddress(), PROXY, forwarded) == PROXY
    assert client_of(TRUSTING, "", forwarded) == ""


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        (None, PROXY),
        ("203.0.113.9", "203.0.113.9"),
        ("198.51.100.1, 203.0.113.9", "203.0.113.9"),  # a stranger said the first
        ("198.51.100.1, 203.0.113.9, 10.0.0.8", "203.0.113.9"),  # two proxies of ours
        ("10.0.0.9,10.0.0.8", "10.0.0.9"),
        ("evil, 10.0.0.8", "10.0.0.8"),
        ("203.0.113.9, <script>", PROXY),
        ("203.0.113.9:1234", PROXY),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("2001:db8::1", "2001:db8::1"),
        ("fe80::1%<script>", "fe80::1"),
    ],
)
def test_a_trusted_proxy_says_whom_a_request_comes_from(forwarded: str | None, client: str) -> None:
    assert client_of(TRUSTING, PROXY, forwarded) == client
