from hypothesis import given
from hypothesis import strategies as st

from tarry.service.store.postgres import rows
from tarry.testing.samples import NOON, an_application, an_endpoint

WORDS = st.dictionaries(st.text(), st.text(), max_size=3)


@given(WORDS)
def test_metadata_comes_back_as_it_went_in(metadata: dict[str, str]) -> None:
    application = an_application(metadata=metadata, uid="acme", rate=2.5, most_waiting=7)
    names = ("id", "environment", "uid", "name", "rate", "policy", "most_waiting", "metadata")
    row = dict(
        zip((*names, "created_at", "updated_at"), rows.from_application(application), strict=True)
    )
    assert rows.application(row) == application


def test_an_endpoint_comes_back_as_it_went_in() -> None:
    endpoint = an_endpoint("app_1", parked=((NOON, None), (NOON, NOON + 1)), event_types=())
    names = [
        "id",
        "application",
        "lane",
        "url",
        "uid",
        "description",
        "event_types",
        "channels",
        "rate",
        "concurrency",
        "fifo",
        "blocking",
        "policy",
        "headers",
        "secrets",
        "metadata",
        "standing",
        "parked",
        "probed_at",
        "created_at",
        "updated_at",
    ]
    row = dict(zip(names, rows.from_endpoint(endpoint), strict=True))
    assert rows.endpoint(row) == endpoint


def test_rows_become_columns_also_when_there_are_none() -> None:
    assert rows.columns([(1, "a"), (2, "b")], 2) == [[1, 2], ["a", "b"]]
    assert rows.columns([], 3) == [[], [], []]
