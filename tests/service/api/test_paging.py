import pytest

from tarry.service.api.paging import ListQuery, OrderedQuery, cut, page
from tarry.service.model.listing import Cut


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (ListQuery(), Cut(51)),
        (ListQuery(limit=2, iterator="app_1"), Cut(3, "app_1")),
        (ListQuery(limit=2, iterator="-app_1"), Cut(3, "app_1", back=True)),
        (OrderedQuery(order="descending"), Cut(51, descending=True)),
    ],
)
def test_one_more_than_is_shown_is_asked_for(query: ListQuery, wanted: Cut) -> None:
    assert cut(query) == wanted


def test_the_order_that_is_asked_for_counts_more_than_the_usual_one() -> None:
    assert cut(OrderedQuery(), descending=True).descending
    assert not cut(OrderedQuery(order="ascending"), descending=True).descending


def test_a_page_leads_on_and_back() -> None:
    told = page([1, 2, 3], ListQuery(limit=2), str, lambda one: f"n{one}")
    assert (told.data, told.done) == (["1", "2"], False)
    assert (told.iterator, told.prev_iterator) == ("n2", "-n1")
    told = page([1, 2, 3], ListQuery(limit=2, iterator="-n4"), str, lambda one: f"n{one}")
    assert (told.data, told.done) == (["2", "3"], False)
    told = page([1], ListQuery(limit=2), str, lambda one: f"n{one}")
    assert (told.data, told.done) == (["1"], True)


def test_an_empty_page_leads_nowhere() -> None:
    told = page([], ListQuery(), str, str)
    assert (told.data, told.iterator, told.prev_iterator, told.done) == ([], None, None, True)
