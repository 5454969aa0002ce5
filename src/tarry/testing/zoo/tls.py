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


def _shows(name: str, does: str, certificate: Certificate, *endings: Ending) -> None:
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


_shows("tls", "is in order", Certificate.GOOD, 200)
for _certificate in (
    Certificate.EXPIRED,
    Certificate.NOT_YET,
    Certificate.WRONG_NAME,
    Certificate.SELF_SIGNED,
    Certificate.UNKNOWN_AUTHORITY,
    Certificate.NOT_AN_AUTHORITY,
):
    _name = _certificate.name.lower().replace("_", "-")
    _shows(f"tls-{_name}", f"shows a certificate {_certificate.value}", _certificate, Kind.TLS)
_shows("tls-old-version", "speaks TLS 1.1 at most", Certificate.OLD_VERSION, *BROKEN)
_shows("tls-wants-one-too", "wants a certificate of the sender", Certificate.WANTS_ONE_TOO, *BROKEN)


def _without_handshake(name: str, does: str, *endings: Ending, play: Play) -> None:
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


async def _stall(line: Line) -> None:
    await line.some()
    await line.hang()


async def _stall_later(line: Line) -> None:
    await line.some()
    await line.send(SERVER_HELLO)
    await line.hang()


async def _trickle(line: Line) -> None:
    await line.some()
    await line.trickle(SERVER_HELLO + bytes(600))


async def _plain(line: Line) -> None:
    await line.some()
    await line.send(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
    await line.hang_up()


async def _noise(line: Line) -> None:
    await line.some()
    await line.send(bytes(range(256)))
    await line.hang_up()


async def _flood(line: Line) -> None:
    await line.some()
    await line.flood(b"\x16\x03\x03\x00\x04\x00\x00\x00\x00" * 1024)


async def _hang_up(line: Line) -> None:
    await line.some()
    await line.hang_up()


async def _reset(line: Line) -> None:
    await line.some()
    line.reset()


_without_handshake("tls-stall", "is silent after the first message", Kind.TIMEOUT, play=_stall)
_without_handshake("tls-stall-later", "begins its answer to it", Kind.TIMEOUT, play=_stall_later)
_without_handshake("tls-trickle", "answers it a byte a second", Kind.TIMEOUT, play=_trickle)
_without_handshake("tls-plain", "speaks plain HTTP where TLS belongs", Kind.TLS, play=_plain)
_without_handshake("tls-noise", "answers the handshake with noise", Kind.TLS, play=_noise)
_without_handshake(
    "tls-flood", "sends requests for a handshake without end", Kind.TLS, Kind.TIMEOUT, play=_flood
)
_without_handshake("tls-close", "closes within the handshake", *BROKEN, play=_hang_up)
_without_handshake("tls-reset", "resets within the handshake", *BROKEN, play=_reset)


def _breaks_off(name: str, does: str, *endings: Ending, half: bytes, cut: bool = False) -> None:
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


_breaks_off("tls-cut-before-answer", "ends the stream unannounced, unanswered", *BROKEN, half=b"")
_breaks_off(
    "tls-cut-mid-head",
    "ends the stream unannounced, within the headers",
    *BROKEN,
    Kind.PROTOCOL,
    half=OK,
)
_breaks_off(
    "tls-cut-mid-body",
    "ends the stream unannounced, within the body",
    200,
    half=OK + b"content-length: 6\r\n\r\nsec",
    cut=True,
)
_breaks_off(
    "tls-cut-ends-body",
    "ends the stream unannounced, and with it a body without a length",
    200,
    half=OK + b"connection: close\r\n\r\nsec",
)


async def _slow(line: Line) -> None:
    await line.trickle(OK + b"content-length: 6\r\n\r\nsecret")


async def _endless(line: Line) -> None:
    await line.send(OK + b"\r\n")
    await line.flood(b"x" * 16 * 1024)


TLS.put(
    Behaviour(
        name="tls-slow-head",
        does="sends the head a byte a second, in a record each",
        endings=frozenset({Kind.TIMEOUT}),
        play=_slow,
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
