"""The interface through which long-running work reports its progress."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with the stage's text, the amount done and the total, in one unit; a total of 0 is unknown."""


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""
