import os
import time

import pytest

from tarry.cli.bench.cost import cpu_seconds, megabytes


def test_cpu_time_is_what_the_process_itself_measures() -> None:
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    assert cpu_seconds(os.getpid()) == pytest.approx(time.process_time(), abs=0.1)


def test_memory_grows_with_what_is_kept() -> None:
    before = megabytes(os.getpid())
    kept = b"x" * 50_000_000
    assert megabytes(os.getpid()) - before == pytest.approx(len(kept) / 1e6, abs=10)
