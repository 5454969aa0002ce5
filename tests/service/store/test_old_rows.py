import pytest

from tarry.service.store.old_rows import ROWS_READ_PER_KEY, OldRows

pytestmark = pytest.mark.anyio

LIMIT = 2
PIECE = LIMIT * ROWS_READ_PER_KEY


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Things:
    """Numbers with instants, of which some may be removed; counts how many were read."""

    def __init__(self, many: int) -> None:
        self.over = dict.fromkeys(range(many), False)
        self.seen = 0

    async def __call__(self, at: float, key: int, limit: int) -> list[tuple[float, int, bool]]:
        behind = [
            (n // 3 + 0.0, n, over) for n, over in self.over.items() if (n // 3, n) > (at, key)
        ]
        self.seen += len(behind[:limit])
        return behind[:limit]


async def sweep(old_rows: OldRows[int], things: Things) -> list[int]:
    keys = await old_rows.removable(things, limit=LIMIT)
    for key in keys:
        del things.over[key]
    return keys


async def test_all_that_may_go_is_found_in_pieces() -> None:
    things, old_rows = Things(5), OldRows(-1)
    things.over = dict.fromkeys(things.over, True)
    assert [await sweep(old_rows, things) for _ in range(4)] == [[0, 1], [2, 3], [4], []]


async def test_what_may_go_later_is_found_on_the_next_round() -> None:
    things, old_rows = Things(6), OldRows(-1)
    things.over |= {3: True, 4: True}
    assert await sweep(old_rows, things) == [3, 4]
    things.over |= {0: True, 5: True}
    assert await sweep(old_rows, things) == [5, 0]
    assert await sweep(old_rows, things) == []


async def test_nothing_is_found_twice_where_two_rounds_meet() -> None:
    things, old_rows = Things(6), OldRows(-1)
    things.over |= {1: True, 2: True, 5: True}
    assert await old_rows.removable(things, limit=LIMIT) == [1, 2]
    del things.over[1], things.over[2]
    assert await old_rows.removable(things, limit=LIMIT) == [5]


async def test_each_look_is_bounded_and_goes_on_where_the_last_one_ended() -> None:
    things, old_rows = Things(PIECE * 5 + 1), OldRows(-1)
    things.over[PIECE * 5] = True
    looks = 1
    while not await sweep(old_rows, things):
        looks += 1
        assert things.seen <= PIECE * looks
    assert looks == 6


async def test_where_all_may_go_no_more_is_looked_at_than_goes() -> None:
    things, old_rows = Things(PIECE), OldRows(-1)
    things.over = dict.fromkeys(things.over, True)
    assert await sweep(old_rows, things) == [0, 1]
    assert things.seen == LIMIT
