"""The functions that drive lanes, in one value: sending, answers and phases.

A lane does not import these files, since they import it.
"""

from tarry.service.dispatch.lane import answers, phases, sending
from tarry.service.dispatch.lane.lane import Driver

DRIVER = Driver(
    pump=sending.pump,
    take_turn=sending.take_turn,
    answered=answers.take_answer,
    tick=phases.tick,
    shared=phases.shared,
    origin_turned=phases.origin_turned,
    alone=phases.alone,
    released=phases.released,
)
