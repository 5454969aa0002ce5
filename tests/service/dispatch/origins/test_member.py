"""A lane is all that its origin asks of a member."""

from typing import get_type_hints

from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.origins.member import Member


def test_a_lane_has_everything_that_a_member_has() -> None:
    names = {name for name in vars(Member) if not name.startswith("_")}
    assert {"take_turn", "share_gate", "open_alone", "release", "gate"} <= names
    assert all(hasattr(Lane, name) for name in names)
    assert get_type_hints(Member.open_alone) == get_type_hints(Lane.open_alone)
