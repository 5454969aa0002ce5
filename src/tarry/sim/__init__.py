"""The storm simulator: what a policy does to a service, before it ships.

Four models (`Contention`, `Timeline`, `Server`, `Backlog`), the contestants that are put through
them, and what a study (`tarry.sim.study`) says of several runs. It needs `tarry[sim]`.
"""

from tarry.sim.backlog import Backlog
from tarry.sim.chance import Chance
from tarry.sim.contention import Contention
from tarry.sim.estimate import Estimate
from tarry.sim.run import Contestant, Curve, Measure, Run, Scenario
from tarry.sim.scenario import load
from tarry.sim.server import Server
from tarry.sim.storm import Storm
from tarry.sim.study import Result, Study
from tarry.sim.timeline import Timeline

__all__ = [
    "Backlog",
    "Chance",
    "Contention",
    "Contestant",
    "Curve",
    "Estimate",
    "Measure",
    "Result",
    "Run",
    "Scenario",
    "Server",
    "Storm",
    "Study",
    "Timeline",
    "load",
]
