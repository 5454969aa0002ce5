"""Pages of names are cut in the order of the list."""

import pytest

from tarry.service.model.listing import Cut
from tarry.service.store.memory.registry import _names_of_page


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("descending", [False, True])
def test_pages_one_after_the_other_are_the_whole_list(*, descending: bool, back: bool) -> None:
    names = ["a", "b", "c", "d", "e"]
    listed: list[str] = []
    mark = ""
    while page := _names_of_page(reversed(names), Cut(2, mark, back, descending)):
        listed = [*page, *listed] if back else [*listed, *page]
        mark = page[0] if back else page[-1]
    assert listed == (names[::-1] if descending else names)
