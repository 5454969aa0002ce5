import pytest

from tarry.testing.zoo.plain import CLOSES, PLAIN, STATUSES
from tests.testing.zoo.conftest import Visit


@pytest.mark.parametrize("status", STATUSES)
def test_each_status_is_answered_at_once_and_the_connection_kept(visit: Visit, status: int) -> None:
    heard, why = visit(f"answers-{status}").send().hear()
    assert heard.startswith(f"HTTP/1.1 {status} ".encode())
    assert why == "silence"


@pytest.mark.parametrize("name", CLOSES)
def test_those_that_close_end_the_connection_after_the_answer(visit: Visit, name: str) -> None:
    heard, why = visit(f"close-{name}").send().hear()
    assert heard == CLOSES[name]
    assert why == "end"


def test_the_one_that_only_says_so_keeps_it_open(visit: Visit) -> None:
    heard, why = visit("close-said-but-not-done").send().hear()
    assert b"connection: close" in heard
    assert why == "silence"


def test_a_wait_is_asked_for_in_many_forms(visit: Visit) -> None:
    names = [each.name for each in PLAIN if each.name.startswith("retry-after-")]
    waits = {visit(name).send().hear()[0].split(b"\r\n")[1] for name in names}
    assert len(waits) == len(names) >= 9
