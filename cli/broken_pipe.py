"""What to do if the reader of the output is gone, such as `head` after its last line."""

import os
import select
import sys


def drop_output() -> None:
    """Discard all further output, also what Python flushes when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_output_gone() -> bool:
    """Tell whether nobody reads standard output; only then is a broken pipe that of the output."""
    output = select.poll()
    output.register(sys.stdout.fileno(), 0)
    return any(found & select.POLLERR for _, found in output.poll(0))
