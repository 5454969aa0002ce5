"""How commands print: tables and JSON, numbers, progress bars, and files.

`tables.py` shows a server's responses; `safe_text.py` keeps foreign text from controlling the
terminal. Not here: how the results of a simulation are shown (`storm/results.py` and
`storm/recommendation.py`).
"""
