"""The commands that need no service: simulate storms, recommend and explain policies.

`command.py` is `tarry storm`: `scenario_file.py` and `contestants.py` read its input,
`simulation.py` runs it, `results.py` and `pictures.py` show it. `recommend.py` is
`tarry recommend`, with `policy_search.py` and `recommendation.py`. `explain.py` is `tarry explain`.
Not here: the simulator itself (`tarry.sim`).
"""
