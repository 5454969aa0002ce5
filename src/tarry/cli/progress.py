"""A progress bar for what takes longer than a second, and only where somebody watches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

PATIENCE = 1.0
"""After how many seconds people want to know how long it will take."""


@contextmanager
def progress(what: str, steps: int, console: Console) -> Iterator[Callable[[], None]]:
    """Give a function to call after each step; the bar goes away when all is done."""
    if not console.is_terminal:
        yield lambda: None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(what, total=steps)
    later = Timer(PATIENCE, bar.start)
    later.daemon = True
    later.start()
    try:
        yield lambda: bar.advance(task)
    finally:
        later.cancel()
        later.join()  # it may be about to start the bar
        bar.stop()
