"""`tarry bench`: measure the service on this machine, and compare it with a floor.

`deliver.py` measures deliveries, with `drain.py` and the floor in `floor.py`; `ingest.py` measures
accepted messages, with the servers in `front.py` and the floor in `bare.py`. `job.py` is the
webhook that all of them send, `sink.py` its receiver, and `cost.py` reads CPU time and memory. Not
here: the comparisons with other programs, which are in the project's `benchmarks/`.
"""
