"""The server model: a server with a queue gets into trouble, and its clients retry.

`model.py` has the settings and runs the model. `event_loop.py` simulates the server, `queueing.py`
has its queue disciplines, `layers.py` the services in front of it, `guards.py` their budgets and
breakers, and `metrics.py` the numbers and curves. Not here: the same model as a flow
(`tarry.sim.fluid`).
"""
