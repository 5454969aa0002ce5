"""The command line interface: the `tarry` command and its subcommands.

`main.py` is the entry point, and `commands.py` the table of commands with the groups of the help.
`storm/` has the commands of the simulator, `service/` those that run a service or work on its
database, `resources/` those that call a server, through `client/`. `listen/`, `doctor/` and
`bench/` have one command each. `input/` reads what people type, `output/` prints. `exit_codes.py`,
`extras.py` (missing packages) and `completion.py` are about all commands.
"""
