"""The command line finds the sources and their tests, and chooses the same mutants for a seed."""

from pathlib import Path

import pytest

from tests.mutation.__main__ import PACKAGES, choose, find
from tests.mutation.trials import Package
from tests.project_files import ROOT


@pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES)
def test_a_package_has_sources_and_tests(package: Package) -> None:
    assert find(package.name, PACKAGES) is package
    assert package.source.is_dir()
    assert all(tests.exists() for tests in package.tests)


@pytest.mark.parametrize(
    ("place", "tests"),
    [
        ("src/tarry/core/decide.py", "tests/core/test_decide.py"),
        ("src/tarry/service/dispatch/lane", "tests/service/dispatch/lane"),
    ],
)
def test_a_file_or_folder_has_its_own_tests(
    place: str, tests: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert find(place, PACKAGES) == Package(place, ROOT / place, (ROOT / tests,))


@pytest.mark.parametrize("place", ["tests/core", "src/tarry/nothing.py", "cores"])
def test_another_place_is_refused(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit, match=f"{place} is neither core nor dispatch nor a path"):
        find(place, PACKAGES)


@pytest.fixture
def shop(tmp_path: Path) -> Package:
    source = tmp_path / "shop.py"
    source.write_text("".join(f"def price_{number}(): return {number}\n" for number in range(50)))
    return Package("shop", source, (tmp_path / "test_shop.py",))


def changes(package: Package, most: int | None, seed: int) -> list[str]:
    return [str(mutant) for _, mutant in choose([package], most, seed)]


def test_a_seed_chooses_the_same_mutants_again(shop: Package) -> None:
    assert changes(shop, 10, 1) == changes(shop, 10, 1)
    assert changes(shop, 10, 1) != changes(shop, 10, 2)
    assert len({*changes(shop, 10, 1)}) == 10


def test_all_mutants_come_in_an_order_by_chance(shop: Package) -> None:
    everything = changes(shop, None, 1)
    assert len({*everything}) == 50
    assert everything != sorted(everything)
