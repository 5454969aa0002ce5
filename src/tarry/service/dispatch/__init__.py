"""Delivers the messages that wait in a store: see "The dispatcher" in ARCHITECTURE.md.

- `dispatcher.py`: starts and stops the loops.
- `work.py`: the lists between lanes and loops, the loops' signals, and how a loop repeats its step.
- `notice_text.py`: the log line of a notice.
- `context.py`: what all lanes share, with counters; `clock.py`: time; `gauges.py`: metrics.
- `ownership/`: which shards this process owns, and the lanes loaded for them.
- `lane/`: one endpoint's deliveries: sending, answers, outcomes, phases.
- `buffer/`: the rows of a lane that are in memory; `sparse.py`: dicts that are mostly empty.
- `limits/` and `origins/`: gates, rates and slots that a request has to wait for.
- `outcomes/`: what an answer means. Pure.
- `settling/`: writes outcomes, and lets lanes sleep.
- `upkeep/`: all work other than deliveries.
"""
