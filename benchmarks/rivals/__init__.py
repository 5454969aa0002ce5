"""What a Python user would pick instead: task queues that do tarry's durable job, one file each.

The job: take N messages (id, 1 KB payload, secret) and keep them durably; then, in workers, sign
each by Standard Webhooks, POST it to one sink over connections that stay open, and keep the result
as well as the stack can. What each keeps, its file says. The sink takes everything, so nothing is
tried again; and none of them knows of endpoints, to pace or to keep apart: what is compared is the
least that they all do.

    PYTHONPATH=benchmarks .venv-bench/bin/python -m rivals.run [--deliveries N] [--json] [NAME ...]
"""
