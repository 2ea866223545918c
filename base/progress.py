"""How long-running work tells what it is doing."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with the stage's text, what is done and the total, in one unit; a total of 0 means unknown."""


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""
