"""The command line interface: the `tarry` command and its subcommands."""
