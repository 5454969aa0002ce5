"""One suite for every framework: they differ in how a view looks, not in what is answered."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
import standardwebhooks
import svix.webhooks

from tarry.receive import Memory, Webhook
from tarry.service.wire.secret import generate_private, generate_shared, public_of
from tests.receive.sites import BODY, LARGEST, SECRET, SITES, Site, signed

SiteOf = Callable[[Webhook], Site]


@pytest.fixture
def site(site_of: SiteOf) -> Site:
    return site_of(Webhook(SECRET))


class Table:
    """A memory of somebody's own."""

    def __init__(self) -> None:
        self.ids: set[str] = set()

    def known(self, message: str) -> bool:
        return message in self.ids

    def add(self, message: str, until: float) -> bool:
        assert until > time.time()
        new = message not in self.ids
        self.ids.add(message)
        return new


@pytest.fixture(params=[Memory, Table], ids=["memory", "table"])
def site_with_memory(site_of: SiteOf, request: pytest.FixtureRequest) -> Site:
    return site_of(Webhook(SECRET, seen=request.param()))


def test_a_proven_message_is_handed_on_byte_for_byte(site: Site) -> None:
    assert site.post(signed(time.time())).status_code == 204
    (message,) = site.desk.taken
    assert (message.id, message.body) == ("msg_1", BODY)
    assert message.json() == {"type": "order.paid", "big": 9007199254740993}


@pytest.mark.parametrize(
    "packaged", [standardwebhooks.Webhook, svix.webhooks.Webhook], ids=["standardwebhooks", "svix"]
)
@pytest.mark.parametrize("family", ["Webhook", "Svix"])
def test_what_other_packages_sign_is_handed_on(
    site: Site, packaged: type[standardwebhooks.Webhook], family: str
) -> None:
    now = datetime.now(UTC)
    headers = {
        f"{family}-Id": "msg_1",
        f"{family}-Timestamp": str(int(now.timestamp())),
        f"{family}-Signature": packaged(SECRET).sign("msg_1", now, BODY.decode()),
        "Content-Type": "application/json",
    }
    assert site.post(headers).status_code == 204
    assert site.post(headers, BODY[:-1]).status_code == 401
    assert len(site.desk.taken) == 1


def test_any_body_of_any_type_is_handed_on(site: Site) -> None:
    bodies = [b"", b"\xff\0\r\n", b"a=b&c=d", b"x" * LARGEST]
    for kind in ("application/json", "application/x-www-form-urlencoded", "text/plain"):
        for body in bodies:
            headers = {**signed(time.time(), body=body), "Content-Type": kind}
            assert site.post(headers, body).status_code == 204
    assert [message.body for message in site.desk.taken] == bodies * 3


def test_a_public_key_will_do(site_of: SiteOf) -> None:
    private = generate_private()
    site = site_of(Webhook(public_of(private)))
    assert site.post(signed(time.time(), secret=private)).status_code == 204
    assert site.post(signed(time.time(), secret=SECRET)).status_code == 401


TAMPERED = [
    ({"webhook-signature": "v1,AAAA"}, 401, "no signature fits"),
    ({"webhook-id": "msg_2"}, 401, "no signature fits"),
    ({"webhook-timestamp": "1600000000"}, 401, "s old; at most 300 s"),
    ({"webhook-timestamp": "9600000000"}, 401, "ahead of this clock"),
    ({"webhook-timestamp": "now"}, 400, "timestamp is not a whole number"),
    ({"webhook-id": "a.b"}, 400, "a character that no id has"),
    ({"webhook-id": ""}, 400, "the header 'webhook-id' is missing"),
]


def test_a_message_that_was_tampered_with_is_refused(site: Site) -> None:
    for change, status, detail in TAMPERED:
        answer = site.post({**signed(time.time()), **change})
        assert answer.status_code == status
        assert detail in answer.text
    assert site.desk.taken == []


def test_an_old_message_a_foreign_one_and_an_unsigned_one_are_refused(site: Site) -> None:
    now = time.time()
    assert site.post(signed(now - 310)).status_code == 401
    assert site.post(signed(now, secret=generate_shared())).status_code == 401
    assert site.post({}).status_code == 400
    assert site.desk.taken == []


def test_a_header_that_comes_twice_proves_nothing(site: Site) -> None:
    headers = signed(time.time())
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        for other in (headers[name], "v1,AAAA", ""):
            assert site.post([*headers.items(), (name, other)]).status_code in {400, 401}
    assert site.desk.taken == []


def test_other_headers_may_come_as_often_as_they_like(site: Site) -> None:
    headers = [*signed(time.time()).items(), ("Accept", "a"), ("X-More", "1"), ("X-More", "2")]
    assert site.post(headers).status_code == 204


def test_a_body_above_the_limit_is_refused_unseen(site: Site) -> None:
    body = b"x" * (LARGEST + 1)
    answer = site.post(signed(time.time(), body=body), body)
    assert answer.status_code == 413
    assert f"the body is larger than {LARGEST} bytes" in answer.text
    assert site.desk.taken == []


def in_pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), 1000):
        yield body[start : start + 1000]


@pytest.mark.parametrize(
    "build", [pytest.param(SITES[name], id=name) for name in SITES if name != "django"]
)
def test_a_body_in_chunks_is_read_or_refused(site: Site) -> None:
    # Django on WSGI has no way to read one: for it the body is empty.
    body = b"x" * 5000
    assert site.post(signed(time.time(), body=body), in_pieces(body)).status_code == 204
    assert [message.body for message in site.desk.taken] == [body]
    long = b"x" * (LARGEST + 5000)
    assert site.post(signed(time.time(), body=long), in_pieces(long)).status_code == 413
    assert len(site.desk.taken) == 1


def test_one_that_comes_again_is_answered_but_not_handed_on(site_with_memory: Site) -> None:
    site, now = site_with_memory, time.time()
    assert site.post(signed(now)).status_code == 204
    for again in (signed(now), signed(now + 20)):
        answer = site.post(again)
        assert answer.status_code == 200
        assert "the message 'msg_1' was handled before" in answer.text.replace("&#x27;", "'")
    assert len(site.desk.taken) == 1
    assert site.post(signed(now, message="msg_2")).status_code == 204


@pytest.mark.parametrize("failure", [500, 503, 404, RuntimeError])
def test_one_that_was_not_taken_is_handed_on_when_it_comes_again(
    site_with_memory: Site, failure: int | type[Exception]
) -> None:
    site, now = site_with_memory, time.time()
    site.desk.next = [failure]
    expected = failure if isinstance(failure, int) else 500
    assert site.post(signed(now)).status_code == expected
    assert site.post(signed(now + 10)).status_code == 204
    assert site.post(signed(now + 20)).status_code == 200


def test_one_that_is_being_handled_is_put_off(site_with_memory: Site) -> None:
    site, now = site_with_memory, time.time()
    site.desk.open.clear()
    with ThreadPoolExecutor() as pool:
        first = pool.submit(site.post, signed(now))
        site.desk.busy.wait()
        answer = site.post(signed(now))
        site.desk.open.set()
        assert first.result().status_code == 204
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert len(site.desk.taken) == 1
