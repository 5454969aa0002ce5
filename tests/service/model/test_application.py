"""Where an application's lanes are."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tarry.service.model.application import SHARDS, shard_of
from tarry.service.model.ids import APPLICATION, make
from tarry.testing.samples import an_application


def test_every_process_and_version_agrees_on_a_shard() -> None:
    known = ["app_1", "app_2", "app_0VgmOYqX0000000000000000000", "Bär"]
    assert [shard_of(application) for application in known] == [13, 55, 10, 14]


@given(application=st.text())
def test_every_application_is_in_one_of_the_shards(application: str) -> None:
    assert 0 <= shard_of(application) < SHARDS


def test_applications_spread_over_the_shards() -> None:
    made = [make(APPLICATION, now=1.8e9, entropy=number.to_bytes(19)) for number in range(6400)]
    counts = Counter(map(shard_of, made))
    assert len(counts) == SHARDS
    assert max(counts.values()) < 200


def test_an_application_knows_its_shard() -> None:
    application = an_application()
    assert application.shard == shard_of(application.id)
