import pytest

from tarry.core.outcome import Kind
from tarry.testing.zoo.malformed import BODIES, FIELDS, MALFORMED, NOT_HTTP, STATUS_LINES
from tests.testing.zoo.conftest import Visit


@pytest.mark.parametrize("name", NOT_HTTP)
def test_some_speak_another_language(visit: Visit, name: str) -> None:
    assert visit(name).send().hear() == (NOT_HTTP[name][1], "end")


@pytest.mark.parametrize("name", STATUS_LINES)
def test_some_begin_oddly(visit: Visit, name: str) -> None:
    heard, why = visit(name).send().hear()
    assert heard.startswith(STATUS_LINES[name][0] + b"\r\n")
    assert why == "silence"


@pytest.mark.parametrize("name", FIELDS)
def test_some_have_an_odd_header(visit: Visit, name: str) -> None:
    heard, why = visit(name).send().hear()
    assert heard.startswith(b"HTTP/1.1 200 OK\r\n" + FIELDS[name][0] + b"\r\n")
    assert why == "end"


@pytest.mark.parametrize("name", BODIES)
def test_some_frame_their_body_oddly(visit: Visit, name: str) -> None:
    assert visit(name).send().hear() == (BODIES[name][1], "end")


def test_a_failure_is_always_one_of_the_protocol() -> None:
    for each in MALFORMED:
        assert {ending for ending in each.endings if isinstance(ending, Kind)} == {Kind.PROTOCOL}
