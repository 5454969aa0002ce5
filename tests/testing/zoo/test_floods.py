import zlib

import pytest

from tarry.testing.zoo.floods import FLOODS
from tests.testing.zoo.conftest import ENOUGH_BYTES, Visit

ENDLESS = [each.name for each in FLOODS if each.name.startswith("endless-")]


@pytest.mark.parametrize("name", [*ENDLESS, "huge-length", "huge-chunk"])
def test_they_send_as_long_as_somebody_listens(visit: Visit, name: str) -> None:
    heard, why = visit(name).send().hear()
    assert why == "enough"
    assert len(heard) >= ENOUGH_BYTES


@pytest.mark.parametrize(("name", "wbits"), [("gzip-bomb", 31), ("deflate-bomb", 15)])
def test_a_bomb_unfolds_to_a_thousand_times_its_size(visit: Visit, name: str, wbits: int) -> None:
    heard, why = visit(name).send().hear()
    assert why == "silence"
    packed = heard.partition(b"\r\n\r\n")[2]
    unfolding = zlib.decompressobj(wbits)
    assert len(unfolding.decompress(packed, 50 * 1024 * 1024)) == 50 * 1024 * 1024
    assert len(packed) < 400_000


@pytest.mark.parametrize("name", ["many-headers", "huge-header"])
def test_a_head_is_larger_than_any_limit_but_comes_to_an_end(visit: Visit, name: str) -> None:
    heard, why = visit(name).send().hear()
    assert 300_000 < len(heard) < 400_000
    assert heard.endswith(b"\r\ncontent-length: 0\r\n\r\n")
    assert why == "silence"


def test_ten_gigabytes_may_be_announced_and_none_sent(visit: Visit) -> None:
    heard, why = visit("huge-length-and-silence").send().hear()
    assert heard.endswith(b"content-length: 10737418240\r\n\r\n")
    assert why == "silence"


@pytest.mark.parametrize(("name", "length"), [("large-body", 65_537), ("largest-body", 65_536)])
def test_bodies_end_on_both_sides_of_what_is_read(visit: Visit, name: str, length: int) -> None:
    heard, _ = visit(name).send().hear()
    assert len(heard.partition(b"\r\n\r\n")[2]) == length


def test_a_reason_may_be_8_kilobytes_long(visit: Visit) -> None:
    heard, _ = visit("long-reason").send().hear()
    assert len(heard.partition(b"\r\n")[0]) == 8 * 1024 + len("HTTP/1.1 200 ")
