"""T18: generator restart.

Elsewhere a generator that failed once after two items delivered 1, 2, 1, 2, 3. The rule: retry
only before the first item.
"""

from collections.abc import AsyncIterator, Iterator

import pytest

import tarry
from tarry import Fixed, Policy

FIVE = Policy(backoff=Fixed(0), attempts=5)


@pytest.mark.parametrize(
    ("fails_after", "delivered", "begun"), [(0, [1, 2, 3], 2), (1, [1], 1), (2, [1, 2], 1)]
)
def test_no_item_is_delivered_twice(fails_after: int, delivered: list[int], begun: int) -> None:
    starts, seen = list[int](), list[int]()

    @tarry.retry(FIVE, on=ConnectionError)
    def numbers() -> Iterator[int]:
        starts.append(1)
        for number in range(3):
            if number == fails_after and len(starts) == 1:
                raise ConnectionError
            yield number + 1

    def consume() -> None:
        for number in numbers():
            seen.append(number)

    if fails_after:
        with pytest.raises(ConnectionError):
            consume()
    else:
        consume()
    assert seen == delivered
    assert len(starts) == begun


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("fails_after", "delivered", "begun"), [(0, [1, 2, 3], 2), (1, [1], 1), (2, [1, 2], 1)]
)
async def test_no_item_of_an_async_generator_is_delivered_twice(
    fails_after: int, delivered: list[int], begun: int
) -> None:
    starts, seen = list[int](), list[int]()

    @tarry.retry(FIVE, on=ConnectionError)
    async def numbers() -> AsyncIterator[int]:
        starts.append(1)
        for number in range(3):
            if number == fails_after and len(starts) == 1:
                raise ConnectionError
            yield number + 1

    async def consume() -> None:
        async for number in numbers():
            seen.append(number)

    if fails_after:
        with pytest.raises(ConnectionError):
            await consume()
    else:
        await consume()
    assert seen == delivered
    assert len(starts) == begun
