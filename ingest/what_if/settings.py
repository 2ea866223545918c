"""What a person may say about a fix beside the work that it is made for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Options of a fix beside the selector: batches ahead, and threads that make them.

    `number`: what a fix is given that takes a number instead of a selector.
    """

    depth: int = 2
    workers: int = 1
    number: float = 0.0
