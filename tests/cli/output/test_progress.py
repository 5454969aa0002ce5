from io import StringIO
from threading import Event

import pytest
from rich.console import Console
from rich.progress import Progress

from tarry.cli.output import progress as module
from tarry.cli.output.progress import progress


def watched() -> tuple[Console, StringIO]:
    out = StringIO()
    return Console(file=out, force_terminal=True, width=80), out


def test_nobody_sees_a_bar_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHOWN_AFTER_SECONDS", 0.0)
    out = StringIO()
    with progress("storm", 3, Console(file=out)) as step:
        step()
    assert out.getvalue() == ""


def test_what_is_quick_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHOWN_AFTER_SECONDS", 60.0)  # it is, on a busy machine too
    console, out = watched()
    with progress("storm", 3, console) as step:
        for _ in range(3):
            step()
    assert out.getvalue().strip() == ""


def test_what_takes_long_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = Event()

    class Told(Progress):
        def start(self) -> None:
            super().start()
            begun.set()

    monkeypatch.setattr(module, "SHOWN_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(module, "Progress", Told)
    console, out = watched()
    with progress("storm", 3, console) as step:
        step()
        assert begun.wait(20)
        step()
    assert "storm" in out.getvalue()
    assert "2/3" in out.getvalue()


def test_the_bar_goes_away_when_the_work_breaks_off() -> None:
    console, out = watched()
    with pytest.raises(ZeroDivisionError), progress("storm", 3, console):
        raise ZeroDivisionError
    assert out.getvalue().strip() == ""
