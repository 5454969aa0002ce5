"""Writes outcomes of attempts to the store, and lets lanes sleep.

`writer.py` writes many outcomes in one commit, and finds the one that the store refuses. `sleep.py`
asks the store whether a lane has nothing more to read.
What becomes of a delivery is decided in `outcomes/`; what its lane does once it was written is in
`lane/answers.py`.
"""
