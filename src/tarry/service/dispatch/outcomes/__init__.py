"""What an answer means, decided without reading a clock or the store.

`judge.py` reads the answer and decides what becomes of the delivery. `blame.py` keeps what
`core/blame.py` has to know to decide whose failure it is.
Not here: reports to the gate and the origin (`lane/answers.py`), and writing (`settling/`).
"""
