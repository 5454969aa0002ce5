import asyncio
import ssl
from collections.abc import Callable, Hashable

import pytest

from tarry.core.outcome import Kind
from tarry.service.wire import connection
from tarry.service.wire.connection import LONGEST_JOINED, TICK, Connection, Deadlines, Exchange
from tarry.service.wire.exchange import Answer, Request, Target
from tarry.service.wire.send_failure import SendFailure

TARGET = Target("http", "hooks.example", 80, "/")
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"


class Wire(asyncio.Transport):
    """A transport that keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.ended = ""
        self.unsent = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_closing(self) -> bool:
        return self.ended != ""

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"


class Owner:
    """Remembers what it is told of its connections."""

    key: Hashable = "key"

    def __init__(self) -> None:
        self.told: list[str] = []

    def rest(self, connection: Connection) -> None:
        assert connection.usable()
        self.told.append("rest")

    def lost(self, connection: Connection) -> None:
        assert connection.key == "key"
        self.told.append("lost")

    def repeat(self, exchange: Exchange) -> None:
        exchange.again = True
        self.told.append("repeat")


class Stage:
    """A connection between its owner and its wire, and the answers it gave."""

    def __init__(self) -> None:
        self.owner = Owner()
        self.wire = Wire()
        self.answers: list[Answer] = []
        self.connection = Connection(self.owner, "key")
        self.connection.connection_made(self.wire)

    def carry(self, body: bytes = b"{}") -> Exchange:
        exchange = Exchange(Request(TARGET, (), body), b"HEAD\r\n\r\n", self.answers.append, 0.0)
        self.connection.carry(exchange)
        return exchange

    def receive(self, data: bytes) -> None:
        """Let this come in, and the loop make a turn."""

        async def turn() -> None:
            self.connection.data_received(data)
            await asyncio.sleep(0)

        asyncio.run(turn())

    @property
    def ending(self) -> int | Kind | None:
        (answer,) = self.answers
        return answer.status if answer.failure is None else answer.failure


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_an_exchange_is_written_at_once_and_then_the_connection_rests(stage: Stage) -> None:
    stage.carry()
    assert stage.wire.written == [b"HEAD\r\n\r\n{}"]
    stage.receive(OK[:10])
    assert stage.answers == []
    stage.receive(OK[10:])
    assert stage.ending == 200
    assert stage.owner.told == ["rest"]
    assert stage.wire.ended == ""


def test_a_long_body_is_not_copied(stage: Stage) -> None:
    body = b"x" * (LONGEST_JOINED + 1)
    stage.carry(body)
    assert stage.wire.written == [b"HEAD\r\n\r\n", body]


def test_what_nobody_asked_for_ends_the_connection(stage: Stage) -> None:
    stage.carry()
    stage.receive(OK)
    stage.receive(OK)
    assert stage.wire.ended == "aborted"
    assert not stage.connection.usable()
    assert len(stage.answers) == 1


def test_after_a_second_answer_in_the_same_breath_it_does_not_rest(stage: Stage) -> None:
    stage.carry()
    stage.receive(OK + OK)
    assert stage.owner.told == []
    assert stage.wire.ended == "aborted"
    assert stage.ending == 200


def test_an_answer_before_the_request_was_sent_does_not_let_it_rest(stage: Stage) -> None:
    stage.carry()
    stage.wire.unsent = 1
    stage.receive(OK)
    assert stage.wire.ended == "aborted"
    assert stage.ending == 200


def test_an_old_connection_does_not_rest(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "OLDEST", 0.0)
    stage.carry()
    stage.receive(OK)
    assert stage.wire.ended == "aborted"


def test_a_kept_connection_that_was_closed_is_tried_again_once(stage: Stage) -> None:
    stage.carry()
    stage.receive(OK)
    stage.answers.clear()
    exchange = stage.carry()
    stage.connection.connection_lost(ConnectionResetError())
    assert stage.owner.told[-2:] == ["lost", "repeat"]
    assert stage.answers == []

    another = Stage()
    another.carry()
    another.receive(OK)
    another.connection.carry(exchange)
    another.connection.connection_lost(None)
    assert "repeat" not in another.owner.told
    assert stage.ending is Kind.TRANSIENT


def test_a_fresh_connection_that_is_closed_is_a_failure(stage: Stage) -> None:
    stage.carry()
    stage.connection.connection_lost(None)
    assert stage.ending is Kind.TRANSIENT
    assert stage.owner.told == ["lost"]


def test_once_a_byte_has_come_nothing_is_tried_again(stage: Stage) -> None:
    stage.carry()
    stage.receive(OK)
    stage.answers.clear()
    stage.carry()
    stage.receive(b"H")
    stage.connection.connection_lost(None)
    assert stage.ending is Kind.TRANSIENT


@pytest.mark.parametrize("error", [None, ConnectionResetError()])
def test_with_all_headers_there_the_status_is_the_answer(
    stage: Stage, error: Exception | None
) -> None:
    stage.carry()
    stage.receive(OK[:-1])
    stage.connection.connection_lost(error)
    assert stage.ending == 200
    assert stage.answers[0].truncated


def test_given_up_it_closes_and_tells_why(stage: Stage) -> None:
    stage.carry()
    stage.connection.abandon(SendFailure(Kind.TIMEOUT, "late"))
    assert stage.wire.ended == "aborted"
    assert stage.ending is Kind.TIMEOUT
    stage.receive(OK)
    stage.connection.connection_lost(None)
    assert len(stage.answers) == 1


def test_given_up_within_the_body_the_status_is_the_answer(stage: Stage) -> None:
    stage.carry()
    stage.receive(OK[:-1])
    stage.connection.abandon(SendFailure(Kind.TIMEOUT, "late"))
    assert stage.ending == 200
    assert stage.answers[0].truncated


def test_an_exchange_ends_once(stage: Stage) -> None:
    exchange = stage.carry()
    exchange.bucket = {exchange}
    exchange.fail(SendFailure(Kind.TIMEOUT, "late"))
    exchange.fail(SendFailure(Kind.DNS, "later"))
    assert stage.ending is Kind.TIMEOUT
    assert exchange.bucket == set()


UNSENT = [
    (SendFailure(Kind.DNS, "no such name"), True),
    (SendFailure(Kind.TRANSIENT, "refused"), True),
    (SendFailure(Kind.TLS, "no handshake"), True),
    (SendFailure(Kind.TRANSIENT, "no file descriptors", local=True), False),
    (SendFailure(Kind.DNS, "too many names", local=True), False),
    (SendFailure(Kind.BLOCKED, "not this address"), False),
    (SendFailure(Kind.PROTOCOL, "no such header"), False),
    (SendFailure(Kind.TIMEOUT, "the name was not resolved"), False),
]


@pytest.mark.parametrize(("why", "unreachable"), UNSENT)
def test_before_the_request_is_sent_a_failure_of_the_origin_is_unreachable(
    why: SendFailure, *, unreachable: bool
) -> None:
    stage = Stage()
    exchange = Exchange(Request(TARGET, (), b""), b"", stage.answers.append, 0.0)
    exchange.fail(why)
    assert stage.answers[0].unreachable is unreachable


@pytest.mark.parametrize(("why", "_unsent"), UNSENT)
def test_once_the_request_is_on_a_connection_no_failure_is_unreachable(
    stage: Stage, why: SendFailure, _unsent: object
) -> None:
    stage.carry()
    stage.connection.abandon(why)
    assert not stage.answers[0].unreachable


@pytest.mark.parametrize("error", [None, ConnectionResetError(), ssl.SSLError(1, "x")])
def test_a_connection_that_breaks_under_a_request_is_not_unreachable(
    stage: Stage, error: Exception | None
) -> None:
    stage.carry()
    stage.connection.connection_lost(error)
    assert not stage.answers[0].unreachable


@pytest.mark.parametrize(("share", "unreachable"), [(0.4, False), (0.6, True)])
def test_a_dial_that_had_little_time_is_not_unreachable(
    monkeypatch: pytest.MonkeyPatch, share: float, *, unreachable: bool
) -> None:
    stage = Stage()
    exchange = Exchange(Request(TARGET, (), b"", 1.0, 5.0), b"", stage.answers.append, 0.0)
    exchange.dialled_at = 100.0
    monkeypatch.setattr(connection, "monotonic", lambda: 100.0 + share * 5.0)
    exchange.fail(SendFailure(Kind.TIMEOUT, "the connection was not established in time"))
    assert stage.answers[0].unreachable is unreachable


def test_a_callback_that_fails_is_told_to_the_loop_and_harms_nothing(stage: Stage) -> None:
    def broken(_answer: Answer) -> None:
        raise ZeroDivisionError

    async def play() -> list[object]:
        told: list[object] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: told.append(context["exception"]))
        exchange = Exchange(Request(TARGET, (), b""), b"", broken, 0.0)
        stage.connection.carry(exchange)
        stage.connection.data_received(OK)
        return told

    (error,) = asyncio.run(play())
    assert isinstance(error, ZeroDivisionError)
    assert stage.owner.told == ["rest"]
    stage.carry()
    stage.receive(OK)
    assert stage.ending == 200


class Turns:
    """Time that stands still until it is pushed, and calls that wait for it."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.waiting: list[tuple[float, Callable[[], None]]] = []

    def clock(self) -> float:
        return self.now

    def later(self, delay: float, call: Callable[[], None]) -> "Turns":
        self.waiting.append((self.now + delay, call))
        return self

    def cancel(self) -> None:
        self.waiting.clear()

    def push(self, seconds: float) -> None:
        end = self.now + seconds
        while self.waiting and self.waiting[0][0] <= end:
            self.now, call = self.waiting.pop(0)
            call()
        self.now = end


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def expired() -> list[str]:
    return []


@pytest.fixture
def deadlines(turns: Turns, expired: list[str]) -> Deadlines[str]:
    return Deadlines(turns.later, turns.clock, expired.append)


def test_what_is_due_expires_once_and_no_more_than_two_ticks_late(
    deadlines: Deadlines[str], turns: Turns, expired: list[str]
) -> None:
    deadlines.add("a", turns.now + 15)
    turns.push(14.99)
    assert expired == []
    turns.push(0.01 + 2 * TICK)
    assert expired == ["a"]
    turns.push(100)
    assert expired == ["a"]


def test_what_is_discarded_does_not_expire(
    deadlines: Deadlines[str], turns: Turns, expired: list[str]
) -> None:
    bucket = deadlines.add("a", turns.now + 1)
    deadlines.add("b", turns.now + 1)
    bucket.discard("a")
    turns.push(2)
    assert expired == ["b"]


def test_deadlines_expire_in_any_order_they_were_added(
    deadlines: Deadlines[str], turns: Turns, expired: list[str]
) -> None:
    for item, wait in (("late", 9.0), ("soon", 1.0), ("past", -5.0)):
        deadlines.add(item, turns.now + wait)
    turns.push(0.5)
    assert expired == ["past"]
    turns.push(1)
    assert expired == ["past", "soon"]
    assert deadlines.items() == ["late"]


def test_it_ticks_only_while_something_waits(
    deadlines: Deadlines[str], turns: Turns, expired: list[str]
) -> None:
    assert not turns.waiting
    bucket = deadlines.add("a", turns.now + 1)
    assert turns.waiting
    bucket.discard("a")
    turns.push(2 * TICK)
    assert not turns.waiting
    deadlines.add("b", turns.now + 1)
    turns.push(2)
    assert expired == ["b"]


def test_what_expires_may_add_another_deadline(turns: Turns) -> None:
    expired: list[int] = []

    def expire(item: int) -> None:
        expired.append(item)
        if item < 3:
            many.add(item + 1, turns.now + 1)

    many = Deadlines(turns.later, turns.clock, expire)
    many.add(1, turns.now + 1)
    turns.push(5)
    assert expired == [1, 2, 3]


def test_one_that_goes_wrong_does_not_hold_up_the_others(turns: Turns) -> None:
    expired: list[int] = []

    def expire(item: int) -> None:
        expired.append(item)
        if len(expired) == 1:
            raise ZeroDivisionError

    many = Deadlines(turns.later, turns.clock, expire)
    for item in range(3):
        many.add(item, turns.now + 1)
    with pytest.raises(ZeroDivisionError):
        turns.push(2)
    turns.push(1)
    assert sorted(expired) == [0, 1, 2]
    assert not turns.waiting


def test_closed_it_ticks_no_more(
    deadlines: Deadlines[str], turns: Turns, expired: list[str]
) -> None:
    deadlines.add("a", turns.now + 1)
    deadlines.close()
    turns.push(5)
    assert expired == []
    assert deadlines.items() == []
