import socket
from itertools import islice
from urllib.parse import urlsplit

from tests.service.wire.generated_spellings import generated_urls


def test_the_same_seed_makes_the_same_urls_and_another_others() -> None:
    first = list(generated_urls(500, 8400, seed=1))
    assert first == list(generated_urls(500, 8400, seed=1))
    assert first[:400] == list(islice(generated_urls(900, 8400, seed=1), 400))
    assert len(set(first) & set(generated_urls(500, 8400, seed=2))) < 400


def test_all_of_them_are_different_and_lead_to_the_trap_s_port() -> None:
    urls = list(generated_urls(3_000, 8400))
    assert len(set(urls)) == 3_000
    assert all(":8400" in url for url in urls)


def test_libc_would_go_to_this_machine_for_many_of_them() -> None:
    here = 0
    for url in generated_urls(2_000, 8400):
        if not url.isascii() or "@" in url:
            continue
        try:
            host = urlsplit(url).hostname or ""
            found = socket.getaddrinfo(host, 80, flags=socket.AI_NUMERICHOST)
        except (OSError, ValueError):
            continue
        here += any(str(place[0]) in {"127.0.0.1", "::ffff:127.0.0.1"} for *_, place in found)
    assert here > 100
