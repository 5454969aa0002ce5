"""Run the `tarry` command by `python -m tarry`."""

from tarry.cli.main import main

main()
