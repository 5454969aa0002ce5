"""Draw the curves of a study, the waits of a policy, and whole reports, with matplotlib.

`chart.py` chooses the pictures of a study and `panels.py` draws them, with `scale.py`, `palette.py`
and `canvas.py`. `envelope.py` draws the waits of a policy. `report.py` is a study as an HTML page,
built with `page.py` and `report.css`. Not here: tables for the terminal (`tarry.cli.storm`).
"""
