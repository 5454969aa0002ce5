"""Receivers that redirect: a sender of webhooks must not follow."""

from tarry.testing.zoo.behaviour import Family
from tarry.testing.zoo.line import Line

REDIRECTS = Family()

ELSEWHERE = {
    "to-https": "https://localhost:1/",
    "to-file": "file:///etc/passwd",
    "to-gopher": "gopher://127.0.0.1:6379/_FLUSHALL",
    "to-ftp": "ftp://127.0.0.1/",
    "to-metadata": "http://169.254.169.254/latest/meta-data/",
    "to-any-scheme": "//127.0.0.1/trap",
    "to-nowhere": "",
    "to-nonsense": "http://[::1",
    "very-long": "/trap?" + "a" * 20_000,
}


def _add_redirect(name: str, does: str, status: int, location: str) -> None:
    """Add a behaviour: answer with a redirect to this location."""

    @REDIRECTS.add(name, does, status)
    async def redirect(line: Line) -> None:
        target = (
            line.url.removesuffix("/hook") + location
            if location in {"/trap", "/hook"}
            else location
        )
        await line.send(
            b"HTTP/1.1 %d Elsewhere\r\nlocation: %b\r\ncontent-length: 0\r\n\r\n"
            % (status, target.encode())
        )


for _status in (300, 301, 302, 303, 307, 308):
    _add_redirect(
        f"redirect-{_status}", f"answers {_status} with a place on itself", _status, "/trap"
    )
_add_redirect("redirect-loop", "points to itself", 302, "/hook")
for _name, _place in ELSEWHERE.items():
    _add_redirect(f"redirect-{_name}", f"answers 307 and points to {_place[:40]!r}", 307, _place)

REDIRECTS.says(
    "refresh",
    "answers 200 with a Refresh header, which browsers follow",
    200,
    answer=b"HTTP/1.1 200 OK\r\nrefresh: 0; url=/trap\r\ncontent-length: 0\r\n\r\n",
)
REDIRECTS.says(
    "redirect-without-a-place",
    "answers 302 and does not say where to",
    302,
    answer=b"HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n",
)
