"""A delivery is followed from the call of `send` to the commit of its outcome."""

import sys

import pytest

from tests.measure.delivery import SOURCES, Tracer
from tests.measure.house import files_of_a_delivery
from tests.project_files import ROOT


@pytest.mark.slow
def test_a_delivery_passes_store_dispatcher_and_client_and_nothing_of_start_or_stop() -> None:
    files = files_of_a_delivery(ROOT)
    assert {
        "service/messages.py",
        "service/dispatch/lane/sending.py",
        "service/wire/client.py",
        "service/dispatch/settling/writer.py",
    } <= set(files)
    assert all((SOURCES / file).exists() for file in files)
    assert files == files_of_a_delivery(ROOT)
    assert not {"service/build.py", "service/hooks.py", "service/store/migrate.py"} & set(files)


def test_only_functions_count_and_only_while_the_tracer_is_on() -> None:
    tracer = Tracer()
    code = compile("def f(): pass\nf()", "traced.py", "exec")
    sys.setprofile(tracer)
    try:
        exec(code, {})  # noqa: S102  the code is above
        assert tracer.files == set()
        tracer.on = True
        exec(compile("x = 1", "module.py", "exec"), {})  # noqa: S102  likewise
        exec(code, {})  # noqa: S102  likewise
        tracer.on = False
    finally:
        sys.setprofile(None)
    assert tracer.files == {"traced.py"}
