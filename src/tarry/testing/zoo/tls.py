"""Receivers with TLS: certificates that a sender must not trust, and handshakes that fail."""

from tarry.core.outcome import Kind
from tarry.testing.zoo.behaviour import Behaviour, Ending, Family, Play
from tarry.testing.zoo.certificates import Certificate
from tarry.testing.zoo.line import Line

TLS = Family()
OK = b"HTTP/1.1 200 OK\r\n"
SERVER_HELLO = b"\x16\x03\x03\x40\x00"
"""The header of a 16 KB record, whose content never comes."""
BROKEN: tuple[Ending, ...] = (Kind.TLS, Kind.TRANSIENT)


async def _answer(line: Line) -> None:
    await line.send(OK + b"content-length: 6\r\n\r\nsecret")


def _add_certificate(name: str, does: str, certificate: Certificate, *endings: Ending) -> None:
    """Add a behaviour: show this certificate, and answer calmly on the connection."""
    TLS.put(
        Behaviour(
            name=name,
            does=does,
            endings=frozenset(endings),
            play=_answer,
            scheme="https",
            certificate=certificate,
        )
    )


_add_certificate("tls", "is in order", Certificate.GOOD, 200)
for _certificate in (
    Certificate.EXPIRED,
    Certificate.NOT_YET,
    Certificate.WRONG_NAME,
    Certificate.SELF_SIGNED,
    Certificate.UNKNOWN_AUTHORITY,
    Certificate.NOT_AN_AUTHORITY,
):
    _name = _certificate.name.lower().replace("_", "-")
    _add_certificate(
        f"tls-{_name}", f"shows a certificate {_certificate.value}", _certificate, Kind.TLS
    )
_add_certificate("tls-old-version", "speaks TLS 1.1 at most", Certificate.OLD_VERSION, *BROKEN)
_add_certificate(
    "tls-wants-one-too", "wants a certificate of the sender", Certificate.WANTS_ONE_TOO, *BROKEN
)


def _add_plain(name: str, does: str, *endings: Ending, play: Play) -> None:
    """Add a behaviour at an https URL that begins without a TLS handshake."""
    TLS.put(
        Behaviour(
            name=name,
            does=does,
            endings=frozenset(endings),
            play=play,
            unheard=True,
            scheme="https",
        )
    )


async def _hang_before_handshake(line: Line) -> None:
    await line.some()
    await line.hang()


async def _hang_in_handshake(line: Line) -> None:
    await line.some()
    await line.send(SERVER_HELLO)
    await line.hang()


async def _trickle_handshake(line: Line) -> None:
    await line.some()
    await line.trickle(SERVER_HELLO + bytes(600))


async def _answer_in_plain_text(line: Line) -> None:
    await line.some()
    await line.send(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
    await line.hang_up()


async def _send_noise(line: Line) -> None:
    await line.some()
    await line.send(bytes(range(256)))
    await line.hang_up()


async def _flood_handshake(line: Line) -> None:
    await line.some()
    await line.flood(b"\x16\x03\x03\x00\x04\x00\x00\x00\x00" * 1024)


async def _hang_up(line: Line) -> None:
    await line.some()
    await line.hang_up()


async def _reset(line: Line) -> None:
    await line.some()
    line.reset()


_add_plain(
    "tls-stall", "is silent after the first message", Kind.TIMEOUT, play=_hang_before_handshake
)
_add_plain("tls-stall-later", "begins its answer to it", Kind.TIMEOUT, play=_hang_in_handshake)
_add_plain("tls-trickle", "answers it a byte a second", Kind.TIMEOUT, play=_trickle_handshake)
_add_plain("tls-plain", "speaks plain HTTP where TLS belongs", Kind.TLS, play=_answer_in_plain_text)
_add_plain("tls-noise", "answers the handshake with noise", Kind.TLS, play=_send_noise)
_add_plain(
    "tls-flood",
    "sends requests for a handshake without end",
    Kind.TLS,
    Kind.TIMEOUT,
    play=_flood_handshake,
)
_add_plain("tls-close", "closes within the handshake", *BROKEN, play=_hang_up)
_add_plain("tls-reset", "resets within the handshake", *BROKEN, play=_reset)


def _add_break(name: str, does: str, *endings: Ending, half: bytes, cut: bool = False) -> None:
    """Add a behaviour: send `half` of an answer over TLS, then drop the connection."""

    async def play(line: Line) -> None:
        await line.send(half)
        line.drop()

    TLS.put(
        Behaviour(
            name=name,
            does=does,
            endings=frozenset(endings),
            play=play,
            cut=cut,
            scheme="https",
            certificate=Certificate.GOOD,
        )
    )


_add_break("tls-cut-before-answer", "ends the stream unannounced, unanswered", *BROKEN, half=b"")
_add_break(
    "tls-cut-mid-head",
    "ends the stream unannounced, within the headers",
    *BROKEN,
    Kind.PROTOCOL,
    half=OK,
)
_add_break(
    "tls-cut-mid-body",
    "ends the stream unannounced, within the body",
    200,
    half=OK + b"content-length: 6\r\n\r\nsec",
    cut=True,
)
_add_break(
    "tls-cut-ends-body",
    "ends the stream unannounced, and with it a body without a length",
    200,
    half=OK + b"connection: close\r\n\r\nsec",
)


async def _answer_slowly(line: Line) -> None:
    await line.trickle(OK + b"content-length: 6\r\n\r\nsecret")


async def _endless(line: Line) -> None:
    await line.send(OK + b"\r\n")
    await line.flood(b"x" * 16 * 1024)


TLS.put(
    Behaviour(
        name="tls-slow-head",
        does="sends the head a byte a second, in a record each",
        endings=frozenset({Kind.TIMEOUT}),
        play=_answer_slowly,
        scheme="https",
        certificate=Certificate.GOOD,
    )
)
TLS.put(
    Behaviour(
        name="tls-endless-body",
        does="sends a body without an end",
        endings=frozenset({200}),
        play=_endless,
        cut=True,
        scheme="https",
        certificate=Certificate.GOOD,
    )
)
