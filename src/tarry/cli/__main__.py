"""Run the `tarry` command by `python -m tarry.cli`."""

from tarry.cli.main import main

main()
