"""What an answer means, decided without reading a clock or the store.

`judge.py` reads the answer and decides the outcome of the delivery. `blame.py` keeps the facts from
which `core/blame.py` decides whose failure it is.
Not here: reports to the gate and the origin (`lane/answers.py`), and writing (`settling/`).
"""
