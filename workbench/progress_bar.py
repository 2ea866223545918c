"""Shows how far a longer piece of work is: as a bar on a terminal, else as lines."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from tracegraph.base.progress import Progress

_SOON_S = 1.0
"""Work that ends within this many seconds prints no stage in a notebook or a file."""
_OFTEN_S = 5.0
"""The time between two lines of `timed_progress`, in seconds."""


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Show a bar on a terminal; elsewhere print a line for each stage, once the work lasts a second."""
    console = Console(stderr=True)
    if console.is_terminal and not console.is_jupyter:
        with bar_progress(console) as progress:
            yield progress
    else:
        yield _Lines(Console(file=sys.stderr, force_jupyter=False), after_s=_SOON_S)


@contextmanager
def bar_progress(console: Console) -> Iterator[Progress]:
    """Show a bar that disappears when the block ends."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    title = TextColumn("{task.description}", markup=False)
    with RichProgress(title, *columns, console=console, transient=True) as bar:
        yield _Bar(bar)


def line_progress(console: Console) -> Progress:
    """Print a line for each stage."""
    return _Lines(console)


@contextmanager
def timed_progress(console: Console) -> Iterator[Progress]:
    """Print a line every five seconds that says how far the work is, also while nothing is reported."""
    times, ended = _Times(console), Event()
    ticking = Thread(target=times.tell_until, args=(ended,), daemon=True)
    ticking.start()
    try:
        yield times
    finally:
        ended.set()
        ticking.join()


class _Bar:
    """Shows the current stage of a Progress as one bar."""

    def __init__(self, bar: RichProgress) -> None:
        self._bar = bar
        self._stage = ""
        self._task = bar.add_task("", total=None, visible=False)

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self._stage = stage
            self._bar.reset(self._task, description=stage, total=None, visible=True)
        self._bar.update(self._task, completed=done, total=total or None)


class _Lines:
    """Prints each stage of a Progress once, except those that begin before `after_s` seconds have passed."""

    def __init__(self, console: Console, after_s: float = 0.0) -> None:
        self._console = console
        self._begin = time.monotonic() + after_s
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage and time.monotonic() >= self._begin:
            self._stage = stage
            self._console.print(stage, markup=False, highlight=False)


class _Times:
    """Prints from time to time the stage and how much of it is done, if that has changed."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = self._line = ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        how_far = f": {done:,} of {total:,}" if total else ""
        self._line = f"{stage}{how_far}"

    def tell_until(self, ended: Event) -> None:
        """Print a line every `_OFTEN_S` seconds until the work has ended."""
        while not ended.wait(_OFTEN_S):
            if self._line != self._last:
                self._last = self._line
                self._console.print(self._last, markup=False, highlight=False)
