"""Processes that are recognised by their command lines: found, ended, waited for."""

import os
import time
from collections.abc import Callable
from contextlib import suppress

import psutil

_STOP_GRACE_S = 15.0
"""How long a process may take to end before it is killed."""
_POLL_S = 0.02
"""The pause between two looks at whether it has ended."""

IsMeant = Callable[[list[str]], bool]
"""Tells whether a process with this command line is meant."""


def runs(process: psutil.Process, is_meant: IsMeant) -> bool:
    """Tell whether a process is alive and its command line is meant."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE and is_meant(process.cmdline())
    except psutil.Error:
        return False


def end(process: psutil.Process, grace_s: float = _STOP_GRACE_S) -> None:
    """Tell a process to end, kill it after `grace_s`, and return when it holds no files any more."""
    with suppress(psutil.NoSuchProcess):
        process.terminate()
        if not _has_ended(process, grace_s):
            process.kill()
            _has_ended(process, _STOP_GRACE_S)
    with suppress(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)  # if it was a child of ours


def end_all(is_meant: IsMeant) -> None:
    """End every process whose command line is meant."""
    for process in psutil.process_iter():
        if runs(process, is_meant):
            end(process)


def _has_ended(process: psutil.Process, limit_s: float) -> bool:
    limit = time.monotonic() + limit_s
    while _holds_files(process):
        if time.monotonic() > limit:
            return False
        time.sleep(_POLL_S)
    return True


def _holds_files(process: psutil.Process) -> bool:
    # Not Process.wait: to it, a dead process lives until its parent buries it, which some never do (the first
    # process of many containers). A process is called a zombie from the end of its first thread on.
    try:
        return process.is_running() and (
            process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1
        )
    except psutil.Error:
        return False
