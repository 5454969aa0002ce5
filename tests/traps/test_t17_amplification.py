"""T17: amplification.

Elsewhere three attempts around three attempts made nine requests.
"""

import asyncio

import pytest

import tarry
from tarry import Fixed, Policy
from tarry.call.scope import called_by

THREE = Policy(backoff=Fixed(0), attempts=3)


class Server:
    """Always down; counts the requests."""

    def __init__(self) -> None:
        self.requests = 0

    def get(self) -> None:
        self.requests += 1
        raise ConnectionError


@pytest.fixture
def server() -> Server:
    return Server()


def test_three_around_three_are_three(server: Server) -> None:
    retried = tarry.retry(THREE, on=ConnectionError)
    with pytest.raises(ConnectionError):
        retried(retried(server.get))()
    assert server.requests == 3


def test_six_layers_are_three(server: Server) -> None:
    function = server.get
    for _ in range(6):
        function = tarry.retry(THREE, on=ConnectionError)(function)
    with pytest.raises(ConnectionError):
        function()
    assert server.requests == 3


def test_likewise_across_every_kind_of_call_and_block(server: Server) -> None:
    def block() -> None:
        for attempt in tarry.attempts(THREE, on=ConnectionError):
            with attempt:
                THREE.call(server.get, on=ConnectionError)

    async def awaited() -> None:
        await asyncio.to_thread(block)

    async def main() -> None:
        await THREE.acall(awaited, on=ConnectionError)

    with pytest.raises(ConnectionError):
        asyncio.run(main())
    assert server.requests == 3


def test_likewise_in_another_process_that_is_told_of_the_attempt(server: Server) -> None:
    with called_by(2), pytest.raises(ConnectionError):
        THREE.call(server.get, on=ConnectionError)
    assert server.requests == 1


def test_who_means_it_can_have_nine(server: Server) -> None:
    with pytest.raises(ConnectionError):
        THREE.call(
            lambda: THREE.replace(nested=True).call(server.get, on=ConnectionError),
            on=ConnectionError,
        )
    assert server.requests == 9


def test_the_outer_retry_has_the_last_word_on_the_error(server: Server) -> None:
    retried = tarry.retry(THREE, on=ConnectionError)
    with pytest.raises(ConnectionError) as caught:
        retried(retried(server.get))()
    assert len(caught.value.__notes__) == 1
    assert "gave up after 3 attempts" in caught.value.__notes__[0]
