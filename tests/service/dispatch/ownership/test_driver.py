"""A lane is moved by the functions of the files that know what to do."""

from tarry.service.dispatch.lane import answers, phases, sending
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.ownership.lane_loader import DRIVER


def test_each_verb_of_a_lane_has_its_function() -> None:
    functions = {name: getattr(DRIVER, name) for name in DRIVER.__struct_fields__}
    assert functions == {
        "pump": sending.pump,
        "take_turn": sending.take_turn,
        "answered": answers.take_answer,
        "tick": phases.tick,
        "share_gate": phases.share_gate,
        "origin_changed": phases.origin_changed,
        "open_alone": phases.open_alone,
        "release": phases.release,
    }
    assert all(hasattr(Lane, name) for name in functions.keys() - {"take_turn"})
