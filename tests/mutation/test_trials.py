"""A mistake that a test looks at is noticed, another one is listed, and no file is changed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.project_files import ROOT

SHOP = """
from functools import lru_cache

class Till:
    __slots__ = ("coins",)

    def __init__(self):
        self.coins = 0

    @property
    def empty(self):
        return self.coins == 0

    async def pay(self, coins):
        self.coins += coins

@lru_cache
def price(number):
    return number * 3

def count(most):
    while most > 0:
        most -= 1

def unseen():
    return 5
"""
TESTS = """
import asyncio, shop

def test_a_till_is_empty_until_somebody_pays():
    till = shop.Till()
    assert till.empty
    asyncio.run(till.pay(2))
    assert till.coins == 2
    assert not till.empty

def test_a_price():
    assert shop.price(1) == 3

def test_a_count():
    shop.count(2)

def test_that_fails_anyway():
    assert shop.price(1) == 4
"""
INTERRUPTING = """
import os, pathlib, shop, signal, time

def test_that_interrupts_when_the_price_is_wrong_for_the_second_time():
    before = pathlib.Path(__file__).with_name("before")
    if shop.price(1) != 3:
        while before.exists():  # Python loses an interruption of os.fork
            os.kill(os.getppid(), signal.SIGINT)
            time.sleep(5)
        before.touch()
        assert False
"""
PROGRAM = """
import sys
from pathlib import Path
from tests.mutation import trials
from tests.mutation.__main__ import main

folder = Path(sys.argv[1])
sys.path.insert(0, sys.argv[1])
trials.PATIENCE = float(sys.argv[2])
package = trials.Package("shop", folder / "shop", (folder / "test_shop.py",))
sys.exit(main(["--all", "--seed", "1"], {"shop": package}))
"""


def try_all(
    folder: Path, source: str, tests: str, *, patience: float = 100.0
) -> tuple[int, list[str]]:
    """Try all mutants of a source; return the exit code and what was printed."""
    (folder / "shop").mkdir()
    (folder / "shop/__init__.py").write_text(source)
    (folder / "test_shop.py").write_text(tests)
    (folder / "pytest.ini").touch()
    command = [sys.executable, "-c", PROGRAM, str(folder), str(patience)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (folder / "shop/__init__.py").read_text() == source
    printed = result.stdout.replace(f"{folder}/", "").splitlines()
    return result.returncode, [line for line in printed if line]


@pytest.mark.slow
def test_each_mutant_is_noticed_or_listed(tmp_path: Path) -> None:
    code, printed = try_all(tmp_path, SHOP, TESTS, patience=2.0)
    assert printed == [
        "16 mutants, --seed 1",
        "not used, for it fails without a mistake too: test_shop.py::test_that_fails_anyway",
        "shop: 75.0% of 16 noticed (10 by a failure, 2 by a timeout), 4 survived",
        "  survived: shop/__init__.py:22: 0 -> 1 (tests that run this line: 1)",
        "  survived: shop/__init__.py:22: most > 0 -> most >= 0 (tests that run this line: 1)",
        "  survived: shop/__init__.py:23: 1 -> 2 (tests that run this line: 1)",
        "  survived: shop/__init__.py:26: 5 -> 6 (no test runs this line)",
    ]
    assert code == 1


@pytest.mark.slow
def test_the_figures_so_far_are_printed_when_somebody_interrupts(tmp_path: Path) -> None:
    code, printed = try_all(tmp_path, "def price(number): return number * 3", INTERRUPTING)
    assert printed == [
        "3 mutants, --seed 1",
        "shop: 100.0% of 1 noticed (1 by a failure, 0 by a timeout), 0 survived",
    ]
    assert code == 130


@pytest.mark.slow
def test_enough_is_nine_of_ten(tmp_path: Path) -> None:
    tests = "import shop\ndef test_a_price(): assert shop.price(2) == 6"
    code, printed = try_all(tmp_path, "def price(number): return number * 3", tests)
    assert printed[1:] == [
        "shop: 100.0% of 3 noticed (3 by a failure, 0 by a timeout), 0 survived",
    ]
    assert code == 0
