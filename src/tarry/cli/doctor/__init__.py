"""`tarry doctor`: check, one by one, the things that delivering depends on.

`command.py` runs the checks, and `finding.py` has their results. There is a file for each thing
that is checked: the machine, rules for outgoing requests, the database with its disk and backlog, a
PostgreSQL server, and a tarry server. `endpoint_facts.py` collects what is known of endpoints. Not
here: repairs, which the doctor only suggests.
"""
