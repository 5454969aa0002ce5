import socket
import threading
import time
from urllib.parse import urlsplit

import pytest

from tarry.errors import TarryError
from tarry.testing import zoo
from tests.testing.zoo.conftest import PATIENCE, Visit, Visitor


def calmly(receiver: zoo.Receiver) -> Visitor:
    port = urlsplit(receiver.calm_url).port
    sock = socket.create_connection(("127.0.0.1", port or 0), timeout=PATIENCE)
    return Visitor(receiver, sock)


def test_there_are_more_than_forty_of_them_and_no_name_is_used_twice() -> None:
    assert len(zoo.BEHAVIOURS) > 200
    assert all(name == each.name for name, each in zoo.BEHAVIOURS.items())


@pytest.mark.parametrize("name", zoo.BEHAVIOURS)
def test_each_says_what_it_does_and_what_may_come_of_it(name: str) -> None:
    behaviour = zoo.BEHAVIOURS[name]
    assert 3 < len(behaviour.does) < 90
    assert "\n" not in behaviour.does
    assert behaviour.endings
    assert not behaviour.cut or behaviour.endings == {200}


def test_a_name_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(TarryError, match="no 'unicorn' in the zoo; it has answers-200, "):
        zoo.receiver("unicorn")


@pytest.mark.parametrize("name", ["answers-500", "hang-before-accept", "tls-expired", "slow-head"])
def test_every_receiver_can_be_asked_calmly(name: str) -> None:
    with zoo.receiver(name) as receiver, calmly(receiver).send(zoo.CALM, b"hello").sock as sock:
        assert sock.recv(1000).endswith(b"\r\n\r\nhello")


def test_what_was_asked_is_kept(visit: Visit) -> None:
    visitor = visit("answers-200")
    visitor.send("/hook", b"one").hear()
    visitor.send("/hook", b"two").hear()
    assert [request.body for request in visitor.receiver.requests] == [b"one", b"two"]
    assert visitor.receiver.connections == 1


def test_many_connections_are_held_at_once() -> None:
    with zoo.receiver("hang-before-answer") as receiver:
        visitors = [calmly(receiver).send("/hook") for _ in range(200)]
        give_up_at = time.monotonic() + PATIENCE
        while len(receiver.requests) < 200 and time.monotonic() < give_up_at:
            time.sleep(0.01)
        assert (receiver.connections, len(receiver.requests)) == (200, 200)
    for visitor in visitors:
        visitor.sock.close()


@pytest.mark.parametrize(
    "name", ["hang-after-accept", "slow-body", "endless-body", "tls-stall", "tls"]
)
def test_it_closes_at_once_and_leaves_nothing_running(name: str) -> None:
    before = threading.active_count()
    with zoo.receiver(name, beat=600) as receiver, calmly(receiver).sock:
        to = urlsplit(receiver.url)
        sock = socket.create_connection(("127.0.0.1", to.port or 0))
        sock.sendall(b"POST /hook HTTP/1.1\r\ncontent-length: 0\r\n\r\n")
        began_at = time.monotonic()
    assert time.monotonic() - began_at < PATIENCE
    assert threading.active_count() == before
    sock.close()
