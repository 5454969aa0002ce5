import pytest

from tarry.testing import zoo
from tarry.testing.zoo.redirects import ELSEWHERE, REDIRECTS
from tests.testing.zoo.conftest import Visit


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
def test_they_point_to_a_trap_that_can_be_asked(visit: Visit, status: int) -> None:
    visitor = visit(f"redirect-{status}")
    heard, _ = visitor.send().hear()
    trap = visitor.receiver.url.replace("/hook", zoo.TRAP)
    assert heard.startswith(f"HTTP/1.1 {status} Elsewhere\r\nlocation: {trap}\r\n".encode())
    assert visitor.send(zoo.TRAP, b"fell for it").hear()[0].endswith(b"fell for it")
    assert [request.path for request in visitor.receiver.requests] == ["/hook", zoo.TRAP]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_they_point_to_other_places(visit: Visit, name: str) -> None:
    heard, _ = visit(f"redirect-{name}").send().hear()
    assert f"location: {ELSEWHERE[name]}\r\n".encode() in heard


def test_a_loop_points_to_itself(visit: Visit) -> None:
    visitor = visit("redirect-loop")
    assert f"location: {visitor.receiver.url}\r\n".encode() in visitor.send().hear()[0]


def test_all_of_them_end_with_the_status_they_were_answered_with() -> None:
    assert all(len(each.endings) == 1 and 200 <= min(each.endings) < 400 for each in REDIRECTS)  # type: ignore[operator]
