import mmap
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
    # A bytes object could lie in memory that an earlier test has freed: the process would not grow.
    with mmap.mmap(-1, 50_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as kept:
        before = megabytes(os.getpid())
        for page in range(0, len(kept), mmap.PAGESIZE):
            kept[page] = 1
        assert megabytes(os.getpid()) - before == pytest.approx(50, abs=10)
