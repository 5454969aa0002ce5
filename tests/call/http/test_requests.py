"""What is requests' own."""

import io
import os
import pickle
import ssl
from collections.abc import Iterator

import pytest
import requests
from requests.auth import HTTPDigestAuth
from urllib3 import Timeout

from tarry import Fixed, Kind, NoJitter, Policy, Quota
from tarry.call.http.fault import Fault
from tarry.call.http.requests import RetryAdapter, fault_of
from tests.call.http.server import Server

POLICY = Policy(backoff=Fixed(1.0), jitter=NoJitter(), attempts=3)

pytestmark = pytest.mark.usefixtures("clock")


@pytest.fixture
def session() -> Iterator[requests.Session]:
    with requests.Session() as one:
        one.mount("http://", RetryAdapter(POLICY))
        yield one


def test_a_file_is_put_back_to_where_it_stood(session: requests.Session, server: Server) -> None:
    file = io.BytesIO(b"head body")
    file.seek(5)
    response = session.put(server.script("/", 503, server.dropped(), 200), data=file)
    assert response.status_code == 200
    assert [seen.body for seen in server.requests] == [b"body"] * 3


def test_a_pipe_is_not_sent_twice(session: requests.Session, server: Server) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"body")
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        assert session.put(server.script("/", 503, 200), data=file).status_code == 503
    assert [seen.body for seen in server.requests] == [b"body"]


@pytest.mark.parametrize(
    ("error", "cause", "fault"),
    [
        (requests.exceptions.SSLError, ssl.SSLError(), Fault(Kind.TLS, sent=True)),
        (
            requests.exceptions.SSLError,
            ssl.SSLCertVerificationError(),
            Fault(Kind.TLS, sent=False),
        ),
        (requests.exceptions.ProxyError, OSError(), Fault(Kind.TRANSIENT, sent=False)),
        (requests.ConnectTimeout, OSError(), Fault(Kind.TIMEOUT, sent=False)),
        (requests.ReadTimeout, OSError(), Fault(Kind.TIMEOUT, sent=True)),
        (requests.ConnectionError, OSError(), Fault(Kind.TRANSIENT, sent=True)),
        (requests.exceptions.InvalidURL, OSError(), None),
    ],
)
def test_the_cause_tells_whether_anything_was_sent(
    error: type[Exception], cause: Exception, fault: Fault | None
) -> None:
    raised = error()
    raised.__cause__ = cause
    assert fault_of(raised) == fault


def test_urllib3_does_not_retry_on_top(session: requests.Session) -> None:
    adapter = session.get_adapter("http://mock/")
    assert isinstance(adapter, RetryAdapter)
    assert adapter.max_retries.total == 0
    with pytest.raises(TypeError, match="max_retries"):
        RetryAdapter(max_retries=3)


def test_the_request_stays_as_it_was(session: requests.Session, server: Server) -> None:
    prepared = requests.Request("GET", server.script("/", 503, 200)).prepare()
    response = session.send(prepared)
    assert response.request is prepared
    assert "tarry-attempt" not in prepared.headers
    assert server.numbers == ["1", "2"]


def test_a_session_can_be_pickled(server: Server) -> None:
    with requests.Session() as session:
        session.mount("http://", RetryAdapter(POLICY, budget=Quota(capacity=7), pool_maxsize=3))
        copied = pickle.loads(pickle.dumps(session))  # noqa: S301  our own
    with copied:
        assert copied.get(server.script("/", 503, 200)).status_code == 200


@pytest.mark.parametrize(
    "timeout", [None, 20, (20, 20), (20, None), Timeout(read=20), Timeout(total=20), Timeout(20)]
)
def test_the_limit_counts_beside_any_form_of_timeout(
    session: requests.Session, server: Server, timeout: float
) -> None:
    session.mount("http://", RetryAdapter(POLICY.replace(attempts=1, attempt_timeout=0.05)))
    with pytest.raises(requests.Timeout):
        session.get(server.script("/", server.late(30)), timeout=timeout)


@pytest.mark.parametrize("timeout", [0.05, (20, 0.05), Timeout(read=0.05), Timeout(total=0.05)])
def test_a_shorter_timeout_of_the_session_counts(
    session: requests.Session, server: Server, timeout: float
) -> None:
    session.mount("http://", RetryAdapter(POLICY.replace(attempts=1, attempt_timeout=20)))
    with pytest.raises(requests.Timeout):
        session.get(server.script("/", server.late(30)), timeout=timeout)


def test_digest_authentication_goes_through_the_retries(
    session: requests.Session, server: Server
) -> None:
    ask = server.answer(401, www_authenticate='Digest realm="r", nonce="n", qop="auth"')
    url = server.script("/", 503, ask, 503, 200)
    response = session.get(url, auth=HTTPDigestAuth("user", "word"))
    assert response.status_code == 200
    assert server.numbers == ["1", "2", "1", "2"]
    assert "authorization" in server.requests[-1].headers


def test_cookies_of_the_answer_are_kept(session: requests.Session, server: Server) -> None:
    session.get(server.script("/", 503, server.answer(200, set_cookie="a=1")))
    assert session.cookies.get_dict() == {"a": "1"}


def test_a_good_answer_keeps_its_connection(session: requests.Session, server: Server) -> None:
    url = server.script("/", server.answer(200, b"x"))
    session.get(url)
    session.get(url)
    assert server.accepted == 1


def test_a_streamed_response_stays_open_until_it_is_read(
    session: requests.Session, server: Server
) -> None:
    url = server.script("/", 503, server.answer(200, b"x" * 100_000))
    with session.get(url, stream=True) as response:
        assert sum(map(len, response.iter_content(1000))) == 100_000
