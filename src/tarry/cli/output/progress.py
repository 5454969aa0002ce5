"""A progress bar for work that takes longer than a second, on a terminal only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SHOWN_AFTER_SECONDS = 1.0
"""Show the bar after this many seconds."""


@contextmanager
def progress(description: str, steps: int, console: Console) -> Iterator[Callable[[], None]]:
    """Yield a function to call after each step; the bar disappears at the end."""
    if not console.is_terminal:
        yield lambda: None
        return
    columns = (TextColumn(description), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(description, total=steps)
    later = Timer(SHOWN_AFTER_SECONDS, bar.start)
    later.daemon = True
    later.start()
    try:
        yield lambda: bar.advance(task)
    finally:
        later.cancel()
        later.join()  # it may be just about to start the bar
        bar.stop()
