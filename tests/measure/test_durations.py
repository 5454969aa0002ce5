"""The minutes of ./dev test are those of its last whole run."""

import json
from pathlib import Path

import pytest

from tests.measure.durations import commit_of, minutes_of_tests


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A folder with the runs of two folders."""

    def run(ended_at: float, minutes: float, commit: str, *failed: str, amount: str) -> str:
        values = {"ended_at": ended_at, "seconds": minutes * 60, "commit": commit}
        return json.dumps({**values, "amount": amount, "failed": failed}) + "\n"

    runs = {
        "test-1": [run(1, 9, "a", amount="usual"), run(4, 1, "b", amount="quick")],
        "test-2": [run(2, 9.25, "a", amount="usual"), run(3, 8, "b", "sim", amount="usual")],
    }
    for name, lines in runs.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "durations.jsonl").write_text("".join(lines))
    return tmp_path


def test_the_last_whole_run_counts_and_tells_what_failed(build: Path) -> None:
    assert minutes_of_tests(build) == "8.0 (failed: sim)"


def test_an_earlier_revision_has_the_last_run_of_its_commit(build: Path) -> None:
    assert minutes_of_tests(build, "a") == "9.2"
    assert minutes_of_tests(build, "c") == "-"


def test_a_checkout_without_runs_has_none(tmp_path: Path) -> None:
    assert minutes_of_tests(tmp_path) == "-"


def test_a_revision_is_found_by_its_commit() -> None:
    assert len(commit_of("HEAD")) == 40
    assert commit_of("no-such-revision") == "no-such-revision"
