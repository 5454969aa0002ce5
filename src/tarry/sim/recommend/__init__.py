"""Find a policy for a wish by simulating many, and explain the choice.

`wish.py` is the input. `search.py` simulates the `candidates.py` on the backlog model, at a smaller
size if need be (`miniature.py`). `recommendation.py` is the whole, step by step, with `limits.py`,
`pauses.py` and a comparison with the pacer (`coordinated.py`). `advice.py` puts it into sentences.
Not here: the models themselves (`sim/backlog/`).
"""
