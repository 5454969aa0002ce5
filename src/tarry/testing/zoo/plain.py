"""Receivers that answer at once and by the rules, some of them in unusual ways."""

from tarry.testing.zoo.behaviour import Family
from tarry.testing.zoo.line import Line

PLAIN = Family()

STATUSES = (200, 201, 202, 400, 401, 403, 404, 408, 410, 413, 422, 429, 500, 502, 503, 504, 599)
for _status in STATUSES:
    PLAIN.says(
        f"answers-{_status}",
        f"answers at once with status {_status}",
        _status,
        answer=b"HTTP/1.1 %d Said\r\ncontent-length: 2\r\n\r\nso" % _status,
    )

ASKED_TO_WAIT = {
    "seconds": b"120",
    "date": b"Wed, 21 Oct 2115 07:28:00 GMT",
    "old-date": b"Sunday, 06-Nov-94 08:49:37 GMT",
    "past": b"Thu, 01 Jan 1970 00:00:00 GMT",
    "negative": b"-5",
    "fraction": b"1.5",
    "huge": b"9" * 400,
    "words": b"as soon as you like",
    "empty": b"",
}
for _form, _value in ASKED_TO_WAIT.items():
    PLAIN.says(
        f"retry-after-{_form}",
        f"answers 503 with Retry-After: {_value.decode()[:32]}",
        503,
        answer=b"HTTP/1.1 503 Busy\r\nretry-after: %b\r\ncontent-length: 0\r\n\r\n" % _value,
    )
PLAIN.says(
    "retry-after-twice",
    "answers 503 with two Retry-After headers that differ",
    503,
    answer=b"HTTP/1.1 503 Busy\r\nretry-after: 1\r\nretry-after: 3600\r\ncontent-length: 0\r\n\r\n",
)

PLAIN.says(
    "no-content",
    "answers 204, which has no body and needs no length",
    204,
    answer=b"HTTP/1.1 204 No Content\r\n\r\n",
)
PLAIN.says(
    "not-modified",
    "answers 304, which has no body whatever its length says",
    304,
    answer=b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n",
)
PLAIN.says(
    "chunked",
    "answers in chunks, with extensions and trailers",
    200,
    answer=b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    b'3;a=b\r\nabc\r\n002;c="d"\r\nde\r\n0\r\nx-check: 1\r\n\r\n',
)
PLAIN.says(
    "continue-first",
    "says 100 Continue, though it was not asked, and then answers",
    200,
    answer=b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
)
PLAIN.says(
    "hints-first",
    "sends ten early hints before the answer",
    200,
    answer=b"HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n" * 10
    + b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
)
PLAIN.says(
    "no-reason",
    "leaves the reason out, and the space before it",
    200,
    answer=b"HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n",
)
PLAIN.says(
    "many-cookies",
    "sets a hundred cookies",
    200,
    answer=b"HTTP/1.1 200 OK\r\n"
    + b"".join(b"set-cookie: c%d=1; path=/\r\n" % n for n in range(100))
    + b"content-length: 0\r\n\r\n",
)


CLOSES = {
    "said": b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nso",
    "said-loudly": b"HTTP/1.1 200 OK\r\nCONNECTION: CLOSE\r\nContent-Length: 2\r\n\r\nso",
    "in-a-list": b"HTTP/1.1 200 OK\r\nconnection: x-hop, close\r\ncontent-length: 2\r\n\r\nso",
    "old-version": b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nso",
    "ends-the-body": b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nso",
    "unsaid": b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nso",
    "against-its-word": b"HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nso",
}


def _add_closing(name: str, answer: bytes) -> None:
    """Add a behaviour: send this answer and close the connection."""

    @PLAIN.add(f"close-{name}", f"answers and closes the connection ({name})", 200)
    async def close(line: Line) -> None:
        await line.send(answer)
        await line.hang_up()


for _name, _answer in CLOSES.items():
    _add_closing(_name, _answer)


@PLAIN.add("close-said-but-not-done", "announces the end of the connection and leaves it open", 200)
async def close_not_done(line: Line) -> None:
    """Leave the connection open; a sender must not reuse it all the same."""
    await line.send(CLOSES["said"])
    await line.hang()
