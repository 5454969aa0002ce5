"""The commands that run a service, or work on its database without a server.

`serve.py` and `worker.py` run it; `migrate.py`, `backup.py`, `key.py` and `seal.py` work on the
database; `openapi.py` prints the API's document. `options.py` has the options and settings that
they share. Not here: `tarry doctor` (`doctor/`), `tarry bench` (`bench/`), and the commands that
call a server (`resources/`).
"""
