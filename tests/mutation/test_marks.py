"""Each statement that runs is marked, and only that."""

from pathlib import Path
from typing import Any

from tests.mutation.marks import Marks

SHOP = '''
def price(number):
    """Say what it costs."""
    if number > 5:
        return number * 2
    elif number:
        try:
            return number * (
                3
            )
        finally:
            number += 1

    def nothing():
        return 0

    return nothing()
'''


def test_the_statements_that_ran_are_told_once_by_their_first_lines(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(SHOP)
    names: dict[str, Any] = {}
    exec(compile(SHOP, str(file), "exec"), names)  # noqa: S102 - the lines above
    marks = Marks(file, {(str(file), 2, "price"): [names["price"]]})
    assert names["price"](6) == 12
    assert list(marks.reached()) == [3, 4, 5]
    assert names["price"](1) == 3
    assert list(marks.reached()) == [3, 4, 6, 7, 8, 12]
    assert names["price"](0) == 0
    assert list(marks.reached()) == [3, 4, 6, 14, 15, 17]
    assert not list(marks.reached())
