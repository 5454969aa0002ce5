import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tarry.cli.extras import PACKAGES, NotInstalled, needed_for


@pytest.mark.parametrize(
    ("missing", "extra"),
    [("numpy", "sim"), ("numpy.random", "sim"), ("matplotlib.figure", "plots")],
)
def test_what_is_missing_is_told_with_the_extra_that_brings_it(missing: str, extra: str) -> None:
    with pytest.raises(NotInstalled) as caught, needed_for("the simulator"):
        raise ModuleNotFoundError(name=missing)
    assert caught.value.message == f"the simulator needs: pip install 'tarry[{extra}]'"
    assert caught.value.exit_code == 2


def test_what_an_extra_brings_is_known() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    for extra in set(PACKAGES.values()):
        brought = {re.split("[^a-z0-9-]", one)[0].replace("-", "_") for one in extras[extra]}
        assert {PACKAGES.get(package) for package in brought - {"tarry"}} == {extra}


@pytest.mark.parametrize("missing", ["tarry.sim.study", None])
def test_a_hole_in_tarry_itself_is_not_blamed_on_an_extra(missing: str | None) -> None:
    with pytest.raises(ModuleNotFoundError), needed_for("the simulator"):
        raise ModuleNotFoundError(name=missing)


@pytest.mark.parametrize(
    "typed", [["run", "brief-blip"], ["compare", "brief-blip", "full"], ["list"], ["show", "x"]]
)
def test_a_storm_without_numpy_says_what_to_install(typed: list[str]) -> None:
    program = "import sys; sys.modules['numpy'] = None\nfrom tarry.cli.main import main\nmain()\n"
    ended = subprocess.run(
        [sys.executable, "-c", program, "storm", *typed],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "Error: the simulator needs: pip install 'tarry[sim]'\n"


def test_the_other_commands_do_without_numpy() -> None:
    program = "import sys; sys.modules['numpy'] = None\nfrom tarry.cli.main import main\nmain()\n"
    ended = subprocess.run(
        [sys.executable, "-c", program, "schema"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("package", "extra", "typed"),
    [
        ("msgspec", "service", "key list --db sqlite:///hooks.db"),
        ("uvicorn", "service", "serve --listen 127.0.0.1:0 --db memory:"),
        ("asyncpg", "postgres", "migrate status --db postgresql://127.0.0.1:1/hooks"),
    ],
)
def test_the_service_without_a_package_says_what_to_install(
    package: str, extra: str, typed: str
) -> None:
    program = (
        f"import sys; sys.modules[{package!r}] = None\nfrom tarry.cli.main import main\nmain()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, *typed.split()], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.endswith(f": pip install 'tarry[{extra}]'")
