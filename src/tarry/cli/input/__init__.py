"""What people type: the types of options, groups of options, and policy files.

Not here: the settings of the service (`service/options.py`), and the address and key of a server
(`client/remote.py`).
"""
