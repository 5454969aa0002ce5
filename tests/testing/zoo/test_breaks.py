import pytest

from tarry.testing.zoo.breaks import HALVES
from tests.testing.zoo.conftest import Visit

WAYS = {"reset": "reset", "close": "end"}
POINTS = {where: half for where, _, half, _ in HALVES}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("where", POINTS)
def test_they_break_off_at_every_point_of_an_answer(visit: Visit, way: str, where: str) -> None:
    assert visit(f"{way}-{where}").ask().hear() == (POINTS[where], WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_they_break_off_before_a_request(visit: Visit, way: str) -> None:
    assert visit(f"{way}-at-once").hear() == (b"", WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_they_break_off_within_a_request(visit: Visit, way: str) -> None:
    visitor = visit(f"{way}-mid-request")
    visitor.sock.sendall(b"POST /hook HTTP/1.1\r\ncontent-length: 1000\r\n\r\n")
    assert visitor.hear() == (b"", WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_they_break_off_when_a_connection_is_used_again(visit: Visit, way: str) -> None:
    visitor = visit(f"{way}-when-used-again")
    heard, why = visitor.ask().hear()
    assert (heard[:15], why) == (b"HTTP/1.1 200 OK", "silence")
    assert visitor.ask().hear() == (b"", WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_they_break_off_right_after_an_answer(visit: Visit, way: str) -> None:
    heard, why = visit(f"{way}-after-answer").ask().hear()
    assert heard.endswith(b"content-length: 0\r\n\r\n")
    assert why == WAYS[way]
