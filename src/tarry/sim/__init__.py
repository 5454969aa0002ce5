"""The storm simulator: see what a policy does to a service before it ships.

It has four models (`Contention`, `Timeline`, `Server`, `Backlog`). They simulate contestants:
policies with their guards. A study (`tarry.sim.study`) summarizes several runs. The simulator needs
`tarry[sim]`.

`server/` and `backlog/` have the two larger models, `scenario/` reads scenario files, `recommend/`
finds a policy, and `picture/` draws. Not here: the commands (`tarry.cli.storm`).
"""

from tarry.core.breaker import BreakerRule
from tarry.core.budget import QuotaRule, RatioRule
from tarry.sim.backlog.model import Backlog
from tarry.sim.chance import Chance
from tarry.sim.contention import Contention
from tarry.sim.estimate import Estimate
from tarry.sim.run import Contestant, Curve, Measure, Run, Scenario
from tarry.sim.scenario.reader import load
from tarry.sim.scenario.storm import Storm
from tarry.sim.server.model import Server
from tarry.sim.study import Result, Study
from tarry.sim.timeline import Timeline

__all__ = [
    "Backlog",
    "BreakerRule",
    "Chance",
    "Contention",
    "Contestant",
    "Curve",
    "Estimate",
    "Measure",
    "QuotaRule",
    "RatioRule",
    "Result",
    "Run",
    "Scenario",
    "Server",
    "Storm",
    "Study",
    "Timeline",
    "load",
]
