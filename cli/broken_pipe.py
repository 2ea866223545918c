"""What to do where the reader of the output is gone, such as `head` after its last line."""

import os
import select
import sys


def drop_output() -> None:
    """Let nothing more be written, not even when Python ends and flushes what it still holds."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_output_gone() -> bool:
    """Whether nobody reads standard output; only then is a broken pipe that of the output."""
    output = select.poll()
    output.register(sys.stdout.fileno(), 0)
    return any(found & select.POLLERR for _, found in output.poll(0))
