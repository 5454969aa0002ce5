"""A lane uses its own gate, or by its origin's while that is in trouble."""

from tarry.core.pace import Pace, Phase
from tarry.service.dispatch.lane.allowance import LaneGates
from tarry.service.dispatch.limits.gate import Gate
from tarry.service.dispatch.origins.origins import Origins
from tarry.service.dispatch.work import Signals, Work
from tarry.service.store.memory.store import MemoryStore
from tarry.testing.samples import NOON
from tests.service.dispatch.test_context import a_context

AT = "https://gw.example:443"


_USUAL = Pace()


def the_gates(own: Pace = _USUAL) -> LaneGates:
    origins = Origins(MemoryStore(clock=lambda: NOON), a_context(), Work(Signals()), "worker_1")
    return LaneGates(Gate(own, lambda: 0.5), origins.group(AT, "app_1"))


def test_it_goes_by_its_own_gate_while_its_origin_is_well() -> None:
    gates = the_gates()
    assert gates.current is gates.own
    assert gates.phase is Phase.CLOSED


def test_it_goes_by_the_shared_gate_while_its_origin_is_in_trouble() -> None:
    gates = the_gates()
    gates.group.open(NOON)
    assert gates.current is gates.shared is gates.group.gate
    assert gates.phase is Phase.OPEN


def test_one_that_goes_apart_keeps_to_its_own_gate() -> None:
    gates = the_gates()
    gates.group.open(NOON)
    gates.use_own_gate()
    assert gates.current is gates.own
    gates.use_shared_gate()
    assert gates.current is gates.shared


def test_to_join_closes_its_own_gate_and_says_whether_that_had_a_pace() -> None:
    well, open_one = the_gates(), the_gates(Pace(phase=Phase.OPEN))
    open_one.use_own_gate()
    assert not well.join()
    assert open_one.join()
    assert open_one.own.phase is Phase.CLOSED
    assert not open_one.uses_own_gate


def test_to_move_is_to_belong_to_another_group() -> None:
    gates, other = the_gates(), the_gates()
    gates.use_own_gate()
    gates.move(other.group)
    assert gates.group is other.group
    assert not gates.uses_own_gate
