"""Receivers that leave extra bytes on a kept connection, where the next request meets them.

A sender that reuses the connection and reads these bytes as a response has mixed up two exchanges.
Then a failed delivery counts as delivered.
"""

from tarry.core.outcome import Kind
from tarry.testing.zoo.behaviour import Ending, Family

DESYNC = Family()
OK = b"HTTP/1.1 200 OK\r\n"
EITHER: tuple[Ending, ...] = (200, Kind.PROTOCOL)
SMUGGLED = OK + b"content-length: 8\r\n\r\nsmuggled"

LEFT_OVER: dict[str, tuple[str, bytes]] = {
    "smuggled-answer": (
        "sends a second answer that was not requested",
        OK + b"content-length: 2\r\n\r\nso" + SMUGGLED,
    ),
    "smuggled-after-chunks": (
        "sends a second answer after the last chunk",
        OK + b"transfer-encoding: chunked\r\n\r\n2\r\nso\r\n0\r\n\r\n" + SMUGGLED,
    ),
    "smuggled-by-length": (
        "gives a length that ends before a second answer, and chunks that end after it",
        OK
        + b"content-length: 7\r\ntransfer-encoding: chunked\r\n\r\n2\r\nso\r\n0\r\n\r\n"
        + SMUGGLED,
    ),
    "smuggled-by-two-lengths": (
        "gives two lengths, and a second answer after the shorter",
        OK + b"content-length: 2\r\ncontent-length: %d\r\n\r\nso" % (len(SMUGGLED) + 2) + SMUGGLED,
    ),
    "smuggled-in-trailers": (
        "sends a trailer that looks like a length, then a second answer",
        OK
        + b"transfer-encoding: chunked\r\n\r\n2\r\nso\r\n0\r\ncontent-length: 5\r\n\r\n"
        + SMUGGLED,
    ),
    "extra-bytes": ("sends five bytes too many", OK + b"content-length: 2\r\n\r\nsomore."),
    "extra-blank-line": ("sends a blank line too many", OK + b"content-length: 2\r\n\r\nso\r\n"),
    "extra-status": ("sends a status after its answer", OK + b"content-length: 0\r\n\r\n" + OK),
    "length-too-short": ("sends more than its length", OK + b"content-length: 3\r\n\r\nabcdef"),
    "late-continue": (
        "says 100 Continue after its answer",
        OK + b"content-length: 0\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n",
    ),
}
for _name, (_does, _answer) in LEFT_OVER.items():
    DESYNC.says(_name, _does, *EITHER, answer=_answer)

for _status, _called in ((204, b"No Content"), (304, b"Not Modified")):
    for _form, _framing, _body in (
        ("length", b"content-length: 8\r\n", b"smuggled"),
        ("chunks", b"transfer-encoding: chunked\r\n", b"8\r\nsmuggled\r\n0\r\n\r\n"),
        ("answer", b"", SMUGGLED),
    ):
        DESYNC.says(
            f"{_status}-with-{_form}",
            f"answers {_status} and sends a body all the same ({_form})",
            _status,
            Kind.PROTOCOL,
            answer=b"HTTP/1.1 %d %b\r\n%b\r\n%b" % (_status, _called, _framing, _body),
        )

DESYNC.says(
    "continue-with-body",
    "gives a 100 Continue a body before it answers",
    *EITHER,
    answer=b"HTTP/1.1 100 Continue\r\ncontent-length: 8\r\n\r\nsmuggled"
    + OK
    + b"content-length: 0\r\n\r\n",
)
DESYNC.says(
    "upgrade",
    "answers 101 and speaks another protocol from there on",
    101,
    Kind.PROTOCOL,
    Kind.TIMEOUT,
    answer=b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
    b"\x81\x05hello",
)
DESYNC.says(
    "upgrade-then-answer",
    "answers 101, and 200 after it",
    101,
    200,
    Kind.PROTOCOL,
    Kind.TIMEOUT,
    answer=b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"
    + SMUGGLED,
)
