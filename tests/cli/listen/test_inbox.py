import asyncio
import json
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tarry.cli.listen.http_server import Reply
from tarry.cli.listen.inbox import Arrival, Inbox, OtherRequest, ResponseSettings
from tarry.receive import Webhook
from tarry.receive.http1 import Request
from tarry.service.wire.secret import generate_shared
from tarry.service.wire.sign import Signer

NOW = 1_700_000_000.0
SECRET = generate_shared()
BODY = b'{"type": "order.paid"}'


def clock() -> float:
    return NOW


def posted(*headers: tuple[str, str], body: bytes = b"") -> Request:
    lines = ["POST / HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return Request("\r\n".join(lines).encode("latin-1"), body)


def begun(request: Request, first: bytes) -> Request:
    """Give the request another method and path."""
    return request._replace(head=request.head.replace(b"POST /", first, 1))


def a_request(
    message: str = "msg_1", *, secret: str = SECRET, body: bytes = BODY, attempt: int = 1
) -> Request:
    headers = Signer.of([(secret, None)]).headers(message, attempt, body, now=NOW)
    return posted(*headers, body=body)


class Heard:
    """An inbox, what it told and what it answered."""

    def __init__(
        self,
        responses: ResponseSettings | None = None,
        *,
        checked: bool = True,
        draw: Callable[[], float] = lambda: 0.5,
    ) -> None:
        self.arrivals: list[Arrival] = []
        self.strays: list[OtherRequest] = []
        webhook = Webhook(SECRET, clock=clock) if checked else None
        self.inbox = Inbox(
            webhook, responses or ResponseSettings(), self._hear, draw=draw, clock=clock
        )

    def _hear(self, came: Arrival | OtherRequest) -> None:
        if isinstance(came, OtherRequest):
            self.strays.append(came)
        else:
            self.arrivals.append(came)

    def answers(self, *requests: Request) -> list[Reply]:
        async def talk() -> list[Reply]:
            return [await self.inbox.handle(request) for request in requests]

        return asyncio.run(talk())


def test_a_proven_message_is_taken_and_told() -> None:
    heard = Heard()
    assert heard.answers(a_request(attempt=3)) == [Reply(200)]
    (arrival,) = heard.arrivals
    assert arrival.facts(body=False) == {
        "event": "message",
        "at": NOW,
        "method": "POST",
        "path": "/",
        "id": "msg_1",
        "type": "order.paid",
        "attempt": 3,
        "signature": "fits",
        "reason": None,
        "status": 200,
        "on_purpose": False,
        "duplicate": False,
        "delay": 0.0,
        "bytes": len(BODY),
    }
    assert arrival.line().endswith("  order.paid  msg_1  attempt 3  signature fits  -> 200")


def test_where_it_came_to_is_told_if_that_is_not_the_root() -> None:
    heard = Heard()
    heard.answers(begun(a_request(), b"POST /hooks?a=\x1b1"))
    (arrival,) = heard.arrivals
    assert "  POST /hooks?a=\\x1b1  order.paid  msg_1  " in arrival.line()
    assert arrival.facts(body=False)["path"] == "/hooks?a=\x1b1"


def test_a_message_that_is_not_proven_is_answered_as_a_receiver_would() -> None:
    heard = Heard()
    wrong = a_request(secret=generate_shared())
    bare = posted()
    assert [reply.status for reply in heard.answers(wrong, bare)] == [401, 400]
    assert [arrival.signature for arrival in heard.arrivals] == ["refused", "refused"]
    assert (
        heard.arrivals[0]
        .line()
        .endswith("refused: no signature fits the message and the secrets given  -> 401")
    )
    assert (
        heard.arrivals[1]
        .line()
        .endswith("  -  -  attempt -  refused: the header 'webhook-id' is missing  -> 400")
    )


def test_without_a_secret_all_is_taken_and_nothing_checked() -> None:
    heard = Heard(checked=False)
    assert heard.answers(a_request(), posted()) == [Reply(200)] * 2
    assert [arrival.signature for arrival in heard.arrivals] == ["unchecked", "unchecked"]
    assert "signature not checked" in heard.arrivals[0].line()


def test_the_older_headers_have_an_id_too() -> None:
    heard = Heard(checked=False)
    heard.answers(posted(("Svix-Id", "msg_old")))
    assert heard.arrivals[0].id == "msg_old"


def test_other_methods_are_no_messages() -> None:
    heard = Heard()
    (reply,) = heard.answers(begun(a_request(), b"GET /x"))
    assert (reply.status, reply.headers) == (405, (("allow", "POST"),))
    assert (heard.arrivals, heard.inbox.counts.received) == ([], 0)
    (stray,) = heard.strays
    assert stray.line().endswith("  GET /x  no message: those come by POST  -> 405")
    facts = {"event": "stray", "at": NOW, "method": "GET", "path": "/x", "status": 405}
    assert stray.facts(body=True) == facts
    assert stray.shown_body() == ""


def test_a_share_fails_by_chance() -> None:
    chance = (step / 10 for step in count())
    heard = Heard(
        ResponseSettings(fail=0.3, status=503, retry_after=4.2), draw=lambda: next(chance)
    )
    replies = heard.answers(*(a_request(f"msg_{number}") for number in range(10)))
    assert [reply.status for reply in replies] == [503] * 3 + [200] * 7
    assert replies[0].headers == (("retry-after", "5"),)
    assert replies[9].headers == ()
    assert heard.arrivals[0].line().endswith("signature fits  -> 503 on purpose")


@pytest.mark.parametrize("drawn", [0.0, 0.999])
def test_none_or_all_fail_whatever_chance_says(drawn: float) -> None:
    assert Heard(draw=lambda: drawn).answers(a_request())[0].status == 200
    assert (
        Heard(ResponseSettings(fail=1.0), draw=lambda: drawn).answers(a_request())[0].status == 500
    )


def test_one_that_comes_after_it_was_taken_is_marked() -> None:
    drawn: Iterator[float] = iter([0.0, 0.9, 0.9, 0.9])
    heard = Heard(ResponseSettings(fail=0.5), draw=lambda: next(drawn))
    replies = heard.answers(*[a_request()] * 3, a_request("msg_2"))
    assert [reply.status for reply in replies] == [500, 200, 200, 200]
    assert [arrival.duplicate for arrival in heard.arrivals] == [False, False, True, False]
    assert heard.arrivals[2].line().endswith("-> 200 (it came before)")


def test_the_tally_tells_what_came() -> None:
    drawn: Iterator[float] = iter([0.0, 0.9, 0.9, 0.9])
    heard = Heard(ResponseSettings(fail=0.5), draw=lambda: next(drawn))
    heard.answers(*[a_request()] * 3, a_request(secret=generate_shared()))
    assert vars(heard.inbox.counts) == {
        "received": 4,
        "verified": 3,
        "refused": 1,
        "failed": 1,
        "duplicates": 1,
    }
    assert str(heard.inbox.counts) == (
        "received 4: 3 verified, 1 refused, 1 failed on purpose, 1 came after they were taken"
    )


def test_a_slow_one_tells_at_once_and_answers_later() -> None:
    async def talk() -> tuple[int, bool, Reply]:
        answering = asyncio.create_task(heard.inbox.handle(a_request()))
        await asyncio.sleep(0)
        return len(heard.arrivals), answering.done(), await answering

    heard = Heard(ResponseSettings(slow=0.05))
    assert asyncio.run(talk()) == (1, False, Reply(200))
    assert heard.arrivals[0].line().endswith("-> 200 after 50 ms")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"type": "a"}', "a"),
        (b'{"eventType": "b"}', "b"),
        (b'{"event_type": "c"}', "c"),
        (b'{"event": "d"}', "d"),
        (b'{"type": 7, "event": "e"}', "e"),
        (b'{"type": {}}', ""),
        (b"[1]", ""),
        (b"<xml/>", ""),
        (b"\xff", ""),
        (b"[" * 100_000, ""),
    ],
)
def test_the_type_of_the_event_is_found_where_senders_write_it(body: bytes, kind: str) -> None:
    heard = Heard(checked=False)
    heard.answers(posted(body=body))
    assert heard.arrivals[0].type == kind


@pytest.mark.parametrize(("told", "attempt"), [("2", 2), ("x", None), ("-1", None), ("", None)])
def test_an_attempt_that_is_no_number_is_not_told(told: str, attempt: int | None) -> None:
    heard = Heard(checked=False)
    heard.answers(posted(("webhook-attempt", told)))
    assert heard.arrivals[0].attempt == attempt


def test_bodies_are_told_if_asked_for() -> None:
    heard = Heard(checked=False)
    heard.answers(posted(body="é\n".encode()), posted(body=b"\xff\0"))
    text, raw = heard.arrivals
    assert text.facts(body=True)["body"] == "é\n"
    assert raw.facts(body=True)["body_base64"] == "/wA="
    assert "body" not in text.facts(body=False)
    assert text.shown_body() == "    é"
    assert raw.shown_body() == "    \\xff\\x00"


def test_nothing_that_comes_steers_the_terminal() -> None:
    heard = Heard()
    body = json.dumps({"type": "\x1b[2Ja\r\n\u202eb"}).encode()
    heard.answers(posted(("webhook-id", "\x1b]0;x\x07"), body=body + b"\x1b[31m\n"))
    (arrival,) = heard.arrivals
    assert arrival.line().isprintable()
    assert arrival.shown_body().isprintable()
