"""Which bodies can be sent twice."""

import os
from collections.abc import AsyncIterator, Iterator
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile

import pytest

from tarry.call.http.body import Rewound, rewind_of


@pytest.mark.parametrize("body", [None, b"", b"bytes", "text", bytearray(b"x"), [b"a"], (b"a",)])
def test_what_is_the_same_every_time_needs_nothing(body: object) -> None:
    assert Rewound(rewind_of(body)).replayable


def test_a_file_goes_back_to_where_it_stood(tmp_path: Path) -> None:
    path = tmp_path / "body"
    path.write_bytes(b"head body")
    with path.open("rb") as file:
        file.seek(5)
        body = Rewound(rewind_of(file))
        assert body.replayable
        assert file.read() == b"body"
        body.rewind()
        assert file.read() == b"body"


def test_a_file_that_does_not_say_whether_it_can_go_back_is_asked_where_it_stands() -> None:
    class Old:
        def __init__(self) -> None:
            self._inner = BytesIO(b"body")
            self.seek = self._inner.seek
            self.tell = self._inner.tell
            self.read = self._inner.read

    file = Old()
    body = Rewound(rewind_of(file))
    file.read()
    body.rewind()
    assert file.read() == b"body"


def test_a_spooled_file_goes_back() -> None:
    with SpooledTemporaryFile() as file:
        file.write(b"body")
        file.seek(0)
        body = Rewound(rewind_of(file))
        file.read()
        body.rewind()
        assert file.read() == b"body"


def test_a_pipe_can_be_read_only_once() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as file:
        os.close(writing)
        assert not Rewound(rewind_of(file)).replayable


def test_a_file_that_fails_to_say_where_it_stands_can_be_read_only_once() -> None:
    class Broken(BytesIO):
        def tell(self) -> int:
            raise OSError

    assert rewind_of(Broken()) is None


def test_a_closed_file_cannot_go_back() -> None:
    file = BytesIO(b"body")
    file.close()
    assert rewind_of(file) is None


def test_what_is_not_known_can_be_read_only_once() -> None:
    def pieces() -> Iterator[bytes]:
        yield b"a"

    async def async_pieces() -> AsyncIterator[bytes]:
        yield b"a"

    for body in (pieces(), async_pieces(), iter([b"a"]), object()):
        assert rewind_of(body) is None
        Rewound(None).rewind()  # nothing to do, and no reason to fail


def test_an_async_file_is_not_taken_for_a_plain_one() -> None:
    class AsyncFile:
        def __aiter__(self) -> AsyncIterator[bytes]:
            raise NotImplementedError

        async def seek(self, place: int) -> int:
            raise NotImplementedError

        async def tell(self) -> int:
            raise NotImplementedError

    assert rewind_of(AsyncFile()) is None
