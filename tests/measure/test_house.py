"""The figures are those of the files, counted on a small project."""

from pathlib import Path

import pytest

from tests.measure import house
from tests.measure.house import (
    NoDeliveryError,
    contract_methods,
    duplicates_at,
    figures,
    files_of_a_delivery,
    folders,
    noqa_comments,
    uses_of_any,
)

FILES = {
    "pyproject.toml": "[[tool.importlinter.contracts]]\n[[tool.importlinter.contracts]]\n",
    "src/tarry/errors.py": "# why\ndef fail():\n    return 1\n",
    "src/tarry/service/store/contract.py": "class Store(Protocol):\n    def add(self): ...\n",
    "src/tarry/service/store/sqlite/a.sql": "select 1;\n",
    "src/tarry/service/dispatch/lane.py": "import tarry.service.dispatch.feed\n"
    "def load(lane):\n    lane.rows = 1\n    return lane\n",
    "src/tarry/service/dispatch/feed.py": "from tarry.service.dispatch import lane\nx: Any\n",
    "tests/test_a.py": "import os  # noqa: F401  an example\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_every_figure_is_counted(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "wheel_size", lambda _: 12_345)
    assert figures(project) == {
        "files in src": 5,
        "lines in src": 12,
        "code lines in src": 11,
        "files in src/service": 4,
        "lines in src/service": 9,
        "code lines in src/service": 9,
        "files in src/service/dispatch": 2,
        "lines in src/service/dispatch": 6,
        "files in src/service/store": 2,
        "lines in src/service/store": 3,
        "files in src/service/store/sqlite": 1,
        "lines in src/service/store/sqlite": 1,
        "longest file of src": "4 service/dispatch/lane.py",
        "longest function of src": "2 service.dispatch.lane.load",
        "methods of the store contract": 1,
        "import contracts": 2,
        "uses of Any in src": 1,
        "noqa comments in src": 0,
        "uses of Any in tests": 0,
        "noqa comments in tests": 1,
        "modules in import cycles": 2,
        "fields of dispatch written from outside": 1,
        "classes split over files": 0,
        "duplicate blocks of src": 0,
        "wheel in kB": 12,
    }


def test_duplicates_are_looked_for_in_the_whole_package(project: Path) -> None:
    for name in ("errors", "copy"):
        lines = [f"x{number} = {number}\n" for number in range(6)]
        (project / f"src/tarry/{name}.py").write_text("".join(lines))
    assert [f"{one} ~ {other}" for one, other in duplicates_at(project)] == [
        "copy.py:1-6 ~ errors.py:1-6"
    ]


def test_a_revision_without_a_store_contract_has_no_such_figure() -> None:
    assert contract_methods({}) == house.NONE


def test_the_folders_of_stores_count_by_themselves() -> None:
    path = Path("service/store/sqlite/queue/lanes.py")
    wanted = ["src", "src/service", "src/service/store", "src/service/store/sqlite"]
    assert list(folders(path)) == wanted
    assert list(folders(Path("core/decide.py"))) == ["src", "src/core"]


def test_words_count_where_python_reads_them() -> None:
    assert uses_of_any("from typing import Any\ndef f(x: Any) -> list[Any]: 'Any'") == 2
    assert noqa_comments("'noqa'\nx = 1  # noqa: E741  short\n# noqabout\n") == 1


def test_sources_that_cannot_deliver_are_reported(tmp_path: Path) -> None:
    (tmp_path / "src/tarry").mkdir(parents=True)
    (tmp_path / "src/tarry/__init__.py").touch()
    with pytest.raises(NoDeliveryError, match=r"^ModuleNotFoundError: No module named 'tarry\."):
        files_of_a_delivery(tmp_path)


def test_a_delivery_that_does_not_end_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house, "TRACER_SECONDS", 0.0)
    with pytest.raises(NoDeliveryError, match="did not end within 0 s"):
        files_of_a_delivery(tmp_path)
