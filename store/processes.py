"""Processes known by their command lines: found, ended, waited for."""

import time
from collections.abc import Callable
from contextlib import suppress

import psutil

_STOP_GRACE_S = 15.0
_POLL_S = 0.02

IsMeant = Callable[[list[str]], bool]


def runs(process: psutil.Process, is_meant: IsMeant) -> bool:
    """Whether a process is alive and its command line is meant."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE and is_meant(process.cmdline())
    except psutil.Error:
        return False


def end(process: psutil.Process, grace_s: float = _STOP_GRACE_S) -> None:
    """Tell a process to end, kill it after `grace_s`, and return when it holds no file any more."""
    with suppress(psutil.NoSuchProcess):
        process.terminate()
        if not _has_ended(process, grace_s):
            process.kill()
            _has_ended(process, _STOP_GRACE_S)


def end_all(is_meant: IsMeant) -> None:
    """End every process whose command line is meant."""
    for process in psutil.process_iter():
        if runs(process, is_meant):
            end(process)


def _has_ended(process: psutil.Process, limit_s: float) -> bool:
    # Not Process.wait: a container's first process may leave the dead unburied, which it waits for.
    limit = time.monotonic() + limit_s
    while process.is_running() and runs(process, lambda _: True):
        if time.monotonic() > limit:
            return False
        time.sleep(_POLL_S)
    return True
