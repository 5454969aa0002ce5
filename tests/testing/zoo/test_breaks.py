import pytest

from tarry.testing.zoo.breaks import HALVES
from tests.testing.zoo.conftest import Visit

ENDS = {"reset": "reset", "close": "end"}
POINTS = {where: half for where, _, half, _ in HALVES}


@pytest.mark.parametrize("kind", ENDS)
@pytest.mark.parametrize("where", POINTS)
def test_they_break_off_at_every_point_of_an_answer(visit: Visit, kind: str, where: str) -> None:
    assert visit(f"{kind}-{where}").send().hear() == (POINTS[where], ENDS[kind])


@pytest.mark.parametrize("kind", ENDS)
def test_they_break_off_before_a_request(visit: Visit, kind: str) -> None:
    assert visit(f"{kind}-at-once").hear() == (b"", ENDS[kind])


@pytest.mark.parametrize("kind", ENDS)
def test_they_break_off_within_a_request(visit: Visit, kind: str) -> None:
    visitor = visit(f"{kind}-mid-request")
    visitor.sock.sendall(b"POST /hook HTTP/1.1\r\ncontent-length: 1000\r\n\r\n")
    assert visitor.hear() == (b"", ENDS[kind])


@pytest.mark.parametrize("kind", ENDS)
def test_they_break_off_when_a_connection_is_used_again(visit: Visit, kind: str) -> None:
    visitor = visit(f"{kind}-when-used-again")
    heard, why = visitor.send().hear()
    assert (heard[:15], why) == (b"HTTP/1.1 200 OK", "silence")
    assert visitor.send().hear() == (b"", ENDS[kind])


@pytest.mark.parametrize("kind", ENDS)
def test_they_break_off_right_after_an_answer(visit: Visit, kind: str) -> None:
    heard, why = visit(f"{kind}-after-answer").send().hear()
    assert heard.endswith(b"content-length: 0\r\n\r\n")
    assert why == ENDS[kind]
