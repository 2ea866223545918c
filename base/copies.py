"""A job in a copy of this process: beside the caller's own work, on another core, whatever holds the GIL."""

import ctypes
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, TypeVar

from tracegraph.base.machine import cores
from tracegraph.base.pipe_objects import receive, send

Result = TypeVar("Result")
_DIES_WITH_PARENT = 1
"""The number of PR_SET_PDEATHSIG in prctl.h."""


def count_at_once() -> int:
    """Count the processes that can work at once on what this one holds: itself, and copies.

    A lock that another thread holds would stay locked in a copy, so that a process with several has none.
    """
    return cores() if sys.platform == "linux" and threading.active_count() == 1 else 1


@contextmanager
def in_copy(work: Callable[[], Result]) -> Iterator[Callable[[], Result]]:
    """Do `work` in a copy of this process during the block; the function it gets waits for the result.

    The copy shares the memory of this process, so that only the result is sent. Where it ends without one,
    because it was killed or `work` raised, or where none can be made, that function does the work itself.
    """
    output, into = os.pipe()
    copy = _fork()
    if copy == 0:
        _answer(work, output, into)
    os.close(into)
    with open(output, "rb", buffering=0) as stream:

        def result() -> Result:
            try:
                found: Result = receive(stream)
            except EOFError:
                return work()
            return found

        try:
            yield result
        finally:
            if copy is not None:
                os.kill(copy, signal.SIGKILL)
                os.waitpid(copy, 0)


def _fork() -> int | None:
    """Copy this process; the copy gets 0, and None says that there is no room for one."""
    with warnings.catch_warnings():
        # Threads that are no threads of Python's are those of libraries, which know of copies.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return os.fork()
        except OSError:
            return None


def _answer(work: Callable[[], object], output: int, into: int) -> NoReturn:
    """Do the work and write what it finds, and nothing else: whoever waits says what goes wrong."""
    try:
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
        os.close(output)
        with open(into, "wb") as stream:
            send(stream, work())
    finally:
        os._exit(0)
