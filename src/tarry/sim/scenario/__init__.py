"""Scenario files: `load` and `from_toml` read one.

`format.py` has the keys of each model, `reader.py` reads a file, and `storm.py` is what was read.
Not here: the scenarios that come with tarry (`tarry.sim.shipped`).
"""

from tarry.sim.scenario.reader import from_toml, load

__all__ = ["from_toml", "load"]
