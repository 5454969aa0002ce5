import pytest

from tarry.testing import zoo
from tarry.testing.zoo.desync import DESYNC, LEFT_OVER
from tests.testing.zoo.conftest import Visit


@pytest.mark.parametrize("name", LEFT_OVER)
def test_what_is_left_over_comes_with_the_answer(visit: Visit, name: str) -> None:
    assert visit(name).send().hear() == (LEFT_OVER[name][1], "silence")


@pytest.mark.parametrize("name", [each.name for each in DESYNC])
def test_the_next_request_on_the_connection_is_answered_as_it_should(
    visit: Visit, name: str
) -> None:
    visitor = visit(name)
    visitor.send().hear()
    heard, why = visitor.send(zoo.CALM, b"my own").hear()
    assert heard == b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nmy own"
    assert why == "silence"


@pytest.mark.parametrize("status", [204, 304])
def test_answers_that_have_no_body_have_one(visit: Visit, status: int) -> None:
    for form in ("length", "chunks", "answer"):
        heard, _ = visit(f"{status}-with-{form}").send().hear()
        assert heard.startswith(f"HTTP/1.1 {status} ".encode())
        assert b"smuggled" in heard
