"""Writes outcomes of attempts to the store, and lets lanes sleep.

`writer.py` writes many outcomes in one commit, and finds the one that the store refuses. `sleep.py`
asks the store whether a lane has nothing more to read.
`outcomes/` decides the outcome of a delivery. `lane/answers.py` has what a lane does once the
outcome was written.
"""
