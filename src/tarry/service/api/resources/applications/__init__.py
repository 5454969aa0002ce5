"""Applications, their quotas, and the portal tokens of their users.

`applications.py` has the operations on one application, and `application_list.py` the list with its
filters. Not here: an application's endpoints (`endpoints/`) and its retry policy
(`endpoints/policies.py`).
"""
