import socket

from tests.service.wire.spellings import HOSTS, URLS, listed_urls


def test_the_list_is_long_and_says_nothing_twice() -> None:
    urls = listed_urls(8400)
    assert len(urls) == len(HOSTS) + len(URLS) == len(set(urls))
    assert len(urls) >= 500


def test_the_urls_have_the_port_of_the_trap() -> None:
    assert "http://127.0.0.1:8400/" in listed_urls(8400)
    assert "gopher://127.0.0.1:8400/" in listed_urls(8400)
    assert "http://{127.0.0.1}:8400/" in listed_urls(8400)
    assert sum(":8400" in url for url in listed_urls(8400)) > 500


def test_libc_would_take_many_of_them_for_addresses() -> None:
    taken = 0
    for host in HOSTS:
        bare = host.removeprefix("[").removesuffix("]")
        try:
            taken += bool(socket.getaddrinfo(bare, 80, flags=socket.AI_NUMERICHOST))
        except (OSError, UnicodeError):
            continue
    assert taken > 200
