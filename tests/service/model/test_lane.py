"""What a lane's row says."""

import pytest

from tarry.service.model.lane import Known, LaneRow, Lease
from tarry.testing.samples import an_application, an_endpoint


def test_a_lane_has_the_number_of_its_endpoint() -> None:
    application = an_application()
    row = LaneRow(endpoint=an_endpoint(application, lane=7), application=application)
    assert row.lane == 7
    assert row.known == Known()


@pytest.mark.parametrize(("added", "ended", "waiting"), [(0, 0, 0), (5, 2, 3), (5, 5, 0)])
def test_what_was_added_and_has_not_ended_waits(added: int, ended: int, waiting: int) -> None:
    application = an_application()
    row = LaneRow(
        endpoint=an_endpoint(application), application=application, added=added, ended=ended
    )
    assert row.waiting == waiting


def test_leases_of_another_epoch_or_worker_are_not_the_same() -> None:
    lease = Lease(3, 1, "a")
    assert lease == Lease(3, 1, "a")
    assert lease not in {Lease(3, 2, "a"), Lease(3, 1, "b")}
