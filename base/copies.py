"""A job in a copy of this process: beside the caller's own work, on another core, whatever holds the GIL."""

import ctypes
import os
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, TypeVar

from tracegraph.base.machine import cores
from tracegraph.base.pipe_objects import receive, send

Result = TypeVar("Result")
_DIES_WITH_PARENT = 1
"""The number of PR_SET_PDEATHSIG in prctl.h."""
_PATIENCE_S = 10.0
"""How long a copy may take beyond twice the time that passed before it was asked.

A lock that another thread held for a moment stays locked in a copy. Copies need none of those that threads of
ours hold, but a program that uses tracegraph may have threads of its own.
"""
_cores_are_taken = threading.Event()


def leave_cores() -> None:
    """Make no copies from now on: other processes use the other cores."""
    _cores_are_taken.set()


def count_at_once() -> int:
    """Count the processes that can work at once on what this one holds: itself, and copies."""
    is_main = threading.current_thread() is threading.main_thread()
    return cores() if sys.platform == "linux" and is_main and not _cores_are_taken.is_set() else 1


@contextmanager
def in_copy(work: Callable[[], Result]) -> Iterator[Callable[[], Result]]:
    """Do `work` in a copy of this process during the block; the function it gets waits for the result.

    The copy shares the memory of this process, so that only the result is sent. Where it ends without one,
    because it was killed or `work` raised, where it takes far longer than what the caller did meanwhile, or
    where none can be made, that function does the work itself.
    """
    begun = time.monotonic()
    output, into = os.pipe()
    copy = _fork()
    if copy == 0:
        _answer(work, output, into)
    os.close(into)
    with open(output, "rb", buffering=0) as stream:

        def result() -> Result:
            answers, patience_s = select.poll(), _PATIENCE_S + 2 * (time.monotonic() - begun)
            answers.register(stream, select.POLLIN)
            if not answers.poll(1000 * patience_s):
                return work()
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
    """Fork this process; return 0 in the copy, and None if the system has no room for one."""
    with warnings.catch_warnings():
        # Python warns of threads: see _PATIENCE_S.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return os.fork()
        except OSError:
            return None


def _answer(work: Callable[[], object], output: int, into: int) -> NoReturn:
    """Write the result of the work and print nothing: the caller repeats what fails, and reports it."""
    try:
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
        os.close(output)
        with open(into, "wb") as stream:
            send(stream, work())
    finally:
        os._exit(0)
