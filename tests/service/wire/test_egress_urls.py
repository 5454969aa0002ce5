import re
import socket
from urllib.parse import unquote, urlsplit

import idna
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tarry.errors import EgressRefused, SettingsError
from tarry.service.wire.egress import Location, read_host, read_url

NAME_WANTED = "a name of labels with letters, digits, - and _, each of 1 to 63 characters"
FOUR_NUMBERS = "an IPv4 address is written as four decimal numbers, and no name ends in one"
LOOK_ALIKE = "look-alike letters, such as circled or wide ones"


def unreadable(url: str) -> SettingsError:
    with pytest.raises(SettingsError) as refused:
        read_url(url)
    return refused.value


def refused(url: str) -> EgressRefused:
    with pytest.raises(EgressRefused) as found:
        read_url(url)
    return found.value


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("http://example.com", ("http", "example.com", 80, "/")),
        ("https://example.com", ("https", "example.com", 443, "/")),
        ("HTTPS://Example.COM/Hooks", ("https", "example.com", 443, "/Hooks")),
        ("http://example.com./", ("http", "example.com", 80, "/")),
        ("http://example.com:8080/a/b", ("http", "example.com", 8080, "/a/b")),
        ("http://example.com:1", ("http", "example.com", 1, "/")),
        ("http://example.com:65535", ("http", "example.com", 65535, "/")),
        ("http://example.com?a=b", ("http", "example.com", 80, "/?a=b")),
        ("http://example.com/?", ("http", "example.com", 80, "/?")),
        ("http://example.com/a?b=/c?d", ("http", "example.com", 80, "/a?b=/c?d")),
        ("http://example.com/a#b", ("http", "example.com", 80, "/a")),
        ("http://example.com#@x.y/b", ("http", "example.com", 80, "/")),
        ("http://example.com/#a#b", ("http", "example.com", 80, "/")),
        ("http://example.com/a@b:c//d", ("http", "example.com", 80, "/a@b:c//d")),
        ("http://example.com/../a/./b", ("http", "example.com", 80, "/../a/./b")),
        ("http://example.com/%zz%2F%", ("http", "example.com", 80, "/%zz%2F%")),
        (
            "http://example.com/!$%&'()*+,-./:;=?@[]_~",
            ("http", "example.com", 80, "/!$%&'()*+,-./:;=?@[]_~"),
        ),
        (
            'http://example.com/"<>^`{|}',
            ("http", "example.com", 80, "/%22%3C%3E%5E%60%7B%7C%7D"),
        ),
        (
            "http://example.com/caf\u00e9?\u20ac",
            ("http", "example.com", 80, "/caf%C3%A9?%E2%82%AC"),
        ),
        ("http://b\u00fccher.example/", ("http", "xn--bcher-kva.example", 80, "/")),
        ("http://93.184.216.34:81/", ("http", "93.184.216.34", 81, "/")),
        ("http://93.184.216.34./", ("http", "93.184.216.34", 80, "/")),
        ("http://[2606:4700::1111]/", ("http", "2606:4700::1111", 80, "/")),
        ("https://[2606:4700:0:0::1]:8443/x", ("https", "2606:4700::1", 8443, "/x")),
        ("https://[2606:4700::A]", ("https", "2606:4700::a", 443, "/")),
        ("http://localhost:8000/", ("http", "localhost", 8000, "/")),
        ("http://my_service.example/", ("http", "my_service.example", 80, "/")),
        ("http://1and1.example/", ("http", "1and1.example", 80, "/")),
        ("http://0x7g/", ("http", "0x7g", 80, "/")),
        ("http://1.2.3.4.example/", ("http", "1.2.3.4.example", 80, "/")),
        ("http://127.0.0.1/", ("http", "127.0.0.1", 80, "/")),
    ],
)
def test_a_url_is_taken_apart(url: str, location: tuple[str, str, int, str]) -> None:
    assert read_url(url) == Location(*location)


WELL_FORMED = st.from_regex(
    re.compile(
        r"https?://[a-z][a-z0-9-]{0,20}[a-z]\.(?:com|org)(?::[1-9][0-9]{0,3})?"
        r"(?:/[!$%&'()*+,./:;=@\w~-]{0,20})?(?:\?[!-\"$-;=?-Z_a-z~]{0,20})?",
        re.ASCII,
    ),
    fullmatch=True,
)


@given(url=WELL_FORMED)
@example(url="http://example.com")
def test_a_plain_url_is_read_as_the_standard_library_reads_it(url: str) -> None:
    theirs, ours = urlsplit(url), read_url(url)
    assert (ours.scheme, ours.host) == (theirs.scheme, theirs.hostname)
    assert ours.port == (theirs.port or (443 if theirs.scheme == "https" else 80))
    query = f"?{theirs.query}" if "?" in url else ""
    assert unquote(ours.path) == unquote((theirs.path or "/") + query)


@given(text=st.text())
@example(text="http://\u0130stanbul.example/")
@example(text="http://a\u0301.example/")
def test_whatever_is_read_is_ascii_without_space_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"https://example.com/{text}", f"http://{text}.example"):
        try:
            location = read_url(url)
        except (SettingsError, EgressRefused):
            continue
        assert re.fullmatch(r"[a-z0-9_.:-]+", location.host)
        assert re.fullmatch(r"/[!-~]*", location.path)
        assert 1 <= location.port <= 65535


@pytest.mark.parametrize("count", [2048, 2049])
def test_a_url_has_a_length(count: int) -> None:
    url = "http://example.com/".ljust(count, "a")
    if count == 2048:
        assert len(read_url(url).path) == 2048 - len("http://example.com")
        return
    assert unreadable(url).wanted == "1 to 2048 characters long"
    assert unreadable(url).value == url[:100] + "..."
    assert unreadable("").wanted == "1 to 2048 characters long"


def test_a_path_has_a_length_as_it_is_sent() -> None:
    fits = "http://example.com/" + "\u00e9" * 341 + "a"
    assert len(read_url(fits).path) == 2048
    error = unreadable(fits + "a")
    assert error.wanted == "at most 2048 characters long when letters are sent as %xx"
    assert error.value == fits[:100] + "..."
    assert unreadable("x" * 100).value == "x" * 100


@pytest.mark.parametrize(
    "letter",
    [
        *map(chr, range(33)),
        "\x7f",
        "\\",
        "\x85",
        "\xa0",
        "\u00ad",
        "\u200b",
        "\u2028",
        "\u3000",
        "\ufeff",
        "\ud800",
        "\u202e",
        "\ue000",
        "\U000e0001",
    ],
)
def test_no_space_control_character_or_backslash_is_anywhere_in_a_url(letter: str) -> None:
    wanted = "without spaces, control characters and backslashes"
    for url in (
        f"{letter}http://example.com/",
        f"ht{letter}tp://example.com/",
        f"http:{letter}//example.com/",
        f"http://exa{letter}mple.com/",
        f"http://example.com{letter}:80/",
        f"http://example.com/a{letter}b",
        f"http://example.com/?a{letter}",
        f"http://example.com/#{letter}a",
        f"http://example.com/{letter}",
    ):
        error = unreadable(url)
        assert (error.field, error.value, error.wanted) == ("url", url, wanted)


@pytest.mark.parametrize(
    "url",
    [
        "example.com",
        "http:example.com",
        "http:/example.com",
        "//example.com",
        "://example.com",
        "1http://example.com",
        "ht_tp://example.com",
        "mailto:a@example.com",
        "\u212attp://a.b/",
    ],
)
def test_what_is_no_url_is_told(url: str) -> None:
    error = unreadable(url)
    assert (error.field, error.value) == ("url", url)
    assert error.wanted == "a URL such as https://example.com/hooks"


@pytest.mark.parametrize(
    "scheme", ["ftp", "FILE", "gopher", "ws", "wss", "http+unix", "httpx", "h"]
)
def test_only_http_and_https_are_called(scheme: str) -> None:
    error = refused(f"{scheme}://example.com/")
    assert (error.host, error.rule) == (f"{scheme.lower()}://", "only http and https are called")


@pytest.mark.parametrize("user", ["", "user", "user:password", ":", "a@b", "example.org:80"])
def test_a_user_name_is_refused_and_no_password_shown(user: str) -> None:
    error = refused(f"http://{user}@example.com:80/")
    assert error.host == "example.com:80"
    assert error.rule == "a URL with a user name or a password in it"


@pytest.mark.parametrize("url", ["http://", "http:///", "http://:80/", "http://?a", "http://#a"])
def test_a_url_has_a_host(url: str) -> None:
    assert unreadable(url).wanted == "a URL with a host"


@pytest.mark.parametrize(
    "port",
    [
        "",
        "0",
        "00",
        "080",
        "65536",
        "99999",
        "100000",
        "+80",
        "-1",
        "80a",
        "8 0",
        "0x50",
        "80:80",
        "\uff18\uff10",
        "\u0668",
        "1e3",
        "8_0",
        ".",
    ],
)
@pytest.mark.parametrize("host", ["example.com", "[2606:4700::1]"])
def test_a_port_is_a_plain_number(host: str, port: str) -> None:
    wanted = unreadable(f"http://{host}:{port}/").wanted
    spaced = "without spaces, control characters and backslashes"
    assert wanted == (spaced if " " in port else "with a port from 1 to 65535, or none")


@pytest.mark.parametrize(
    "place",
    ["[::1", "[::1]x", "[::1]80", "[[::1]]", "[", "[2606:4700::1]]", "[::1][::1]", "[::1]."],
)
def test_brackets_come_in_one_pair(place: str) -> None:
    error = unreadable(f"http://{place}/")
    assert error.wanted == "with an IPv6 address in one pair of brackets"


@pytest.mark.parametrize(
    "inner", ["", "1", "127.0.0.1", "localhost", "::g", ":::", "::1::", "::00001", "v1.a", "::1."]
)
def test_brackets_hold_an_ipv6_address(inner: str) -> None:
    error = unreadable(f"http://[{inner}]/")
    assert (error.field, error.value) == ("host", f"[{inner}]")
    assert error.wanted == "an IPv6 address if it is in brackets"


@pytest.mark.parametrize("inner", ["fe80::1%25eth0", "fe80::1%eth0", "::1%", "%", "2606:4700::1%1"])
def test_an_address_with_a_scope_is_refused(inner: str) -> None:
    error = refused(f"http://[{inner}]/")
    assert error.host == f"[{inner}]"
    assert error.rule == "an address with a scope is one of this machine's links"


@pytest.mark.parametrize(
    "host",
    [
        "2130706433",
        "0",
        "00",
        "1",
        "0x7f000001",
        "0X7F000001",
        "0x",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "127.0.1",
        "127.0.0.01",
        "017700000001",
        "127.0.0.0x1",
        "256.1.1.1",
        "1.2.3.256",
        "1.2.3.4.5",
        "1.2.3",
        "example.1",
        "example.0x1",
        "example.0x",
        "a.b.c.0xff",
        "127.0.0.1.2",
        "example.00",
        "4294967296",
        "127.1.",
        "08",
        "0x7f.0.0.1",
    ],
)
def test_an_ipv4_address_has_one_writing_and_no_name_ends_like_one(host: str) -> None:
    error = refused(f"http://{host}/")
    assert (error.host, error.rule) == (host, FOUR_NUMBERS)
    assert error.__suppress_context__


@given(
    address=st.ip_addresses(v=4),
    forms=st.lists(st.sampled_from(["{}", "0{:o}", "0x{:x}", "{:03}"]), min_size=1, max_size=4),
)
def test_what_libc_takes_for_an_address_is_that_address_or_refused(
    address: object, forms: list[str]
) -> None:
    whole = socket.inet_aton(str(address))
    parts = [*whole[: len(forms) - 1], int.from_bytes(whole[len(forms) - 1 :], "big")]
    host = ".".join(form.format(part) for form, part in zip(forms, parts, strict=True))
    if host == str(address):
        assert read_host(host) == host
        return
    with pytest.raises(EgressRefused) as found:
        read_host(host)
    assert found.value.rule == FOUR_NUMBERS


@given(host=st.text(st.sampled_from("0123456789abcdefxX.-_"), min_size=1, max_size=20))
@example(host="0x.0")
@example(host="1.0x")
def test_no_name_that_is_let_through_is_an_address_to_libc(host: str) -> None:
    try:
        name = read_host(host)
    except (EgressRefused, SettingsError):
        return
    try:
        packed = socket.inet_aton(name)
    except OSError:
        return
    assert socket.inet_ntoa(packed) == name


@pytest.mark.parametrize(
    "host",
    [
        ".",
        "..",
        "a..b",
        ".a.b",
        "a.b..",
        "-a.b",
        "a-.b",
        "a.-b",
        "a%2eb",
        "a b",
        "a,b",
        "a*b",
        "a:b",
        "a" * 64 + ".b",
        "a~b",
        "a!b",
        "(a)",
        "a+b",
        "a&b",
        "a=b",
        "a'b",
        "a$b",
        "a/b",
        "",
        "a|b",
        ("a" * 62 + ".") * 4 + "ab",
    ],
)
def test_a_host_is_made_of_labels(host: str) -> None:
    with pytest.raises(SettingsError) as found:
        read_host(host)
    assert (found.value.field, found.value.wanted) == ("host", NAME_WANTED)
    assert found.value.value == (host if len(host) <= 100 else host[:100] + "...")


@pytest.mark.parametrize(
    "host", ["a", "a" * 63 + ".b", "_a._b", "a--b", "a-b.c-d", ("a" * 62 + ".") * 4 + "a", "x.9a"]
)
def test_a_name_of_good_labels_is_kept(host: str) -> None:
    assert read_host(host) == host
    assert read_host(host.upper()) == host
    assert read_host(f"{host}.") == host


@pytest.mark.parametrize(
    "host",
    [
        "b\u00fccher.example",
        "B\u00dcCHER.example",
        "stra\u00dfe.de",
        "\u043f\u0440\u0438\u043c\u0435\u0440.example",
        "\u4f8b\u3048.\u30c6\u30b9\u30c8",
        "\u03c3\u03bf\u03c6\u03bf\u03c2.gr",
        "a1-\u00e9.example",
        "\u0645\u062b\u0627\u0644.example",
        "\u0909\u0926\u093e\u0939\u0930\u0923.example",
        "www.\u00e9t\u00e9.fr.",
    ],
)
def test_a_name_beyond_ascii_gets_the_form_that_idna_2008_gives_it(host: str) -> None:
    assert read_host(host) == idna.encode(host.lower()).decode().removesuffix(".")


@pytest.mark.parametrize(
    "host",
    [
        "\u2460\u2461\u2466.0.0.1",
        "\uff11\uff12\uff17.0.0.1",
        "127\u30020\u30020\u30021",
        "127\uff0e0.0.1",
        "127\uff610\uff610\uff611",
        "\uff4cocalhost",
        "localho\u017ft",
        "\u212aelvin.example",
        "\u2488com",
        "\U0001d559ost.example",
        "a.\u3002",
        "e\u0301.example",
        "\ufb01.example",
        "example\u3002com",
    ],
)
def test_letters_that_stand_for_others_are_refused(host: str) -> None:
    with pytest.raises(EgressRefused) as found:
        read_host(host)
    assert (found.value.host, found.value.rule) == (host, LOOK_ALIKE)


@pytest.mark.parametrize(
    "label",
    [
        "\u2603",
        "a\u2044b",
        "\u0661\u0662\u0667",
        "caf\u00e9_x",
        "\u20ac",
        "\u00e9%2e",
        "\u00b7",
        "\U0001f600",
    ],
)
def test_a_label_beyond_ascii_is_made_of_letters(label: str) -> None:
    with pytest.raises(SettingsError) as found:
        read_host(f"{label}.example")
    assert (found.value.field, found.value.value) == ("host", label)
    assert found.value.wanted == "a name of letters, the digits 0 to 9 and -"


def test_a_label_beyond_ascii_has_a_length_too() -> None:
    assert len(read_host("\u00e9" + "a" * 55)) == 63
    with pytest.raises(SettingsError) as found:
        read_host("\u00e9" + "a" * 56)
    assert found.value.wanted == NAME_WANTED
