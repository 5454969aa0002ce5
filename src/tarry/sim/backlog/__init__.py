"""The backlog model: a webhook endpoint comes back, and many deliveries are waiting for it.

`model.py` runs the model with the settings in `settings.py`. `endpoint.py` is the endpoint.
`uncoordinated.py` simulates deliveries that each retry by themselves, with their due times in
`due_times.py`. `lane.py` simulates the pacer, with `lane_blame.py`. `delivery_log.py` has the times
of a run and its metrics. Not here: the pacer itself (`core/pacer.py`).
"""
