"""`python -m tarry.cli` is `tarry`."""

from tarry.cli.main import main

main()
