"""The commands of a group by name. The module of a command is imported when it is looked up."""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module

import click


class CommandTable(MutableMapping[str, click.Command]):
    """Commands by name, each in a module where it has the same name."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._commands: dict[str, click.Command | str] = dict(modules)
        """The commands that were looked up, and the modules of the others."""

    def __getitem__(self, name: str) -> click.Command:
        """Return a command; import its module first if it is the first time."""
        command = self._commands[name]
        if isinstance(command, str):
            loaded: click.Command = getattr(import_module(command), name.replace("-", "_"))
            self._commands[name] = command = loaded
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        """Add a command, or replace one."""
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        """Remove a command."""
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._commands)

    def __len__(self) -> int:
        """Return the number of commands."""
        return len(self._commands)
