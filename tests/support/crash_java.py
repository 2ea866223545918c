"""The Java processes of one workspace: whether some run, and their end by `kill -9`."""

import time
from collections.abc import Iterator
from pathlib import Path

import psutil

_POLL_S = 0.005


def runs_java(root: str) -> bool:
    """Whether a server or an import of the workspace runs."""
    return any(_java_of(root))


def kill_java(root: str) -> None:
    """Kill each Java of the workspace, and return when they are gone.

    Whoever started one still finds out how it ended: it is not waited for as a child.
    """
    for process in list(_java_of(root)):
        process.kill()
        while _lives(process):
            time.sleep(_POLL_S)


def _java_of(root: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
        except psutil.Error:
            continue
        is_java = bool(command) and Path(command[0]).name == "java"
        if is_java and any(word.partition("=")[2].startswith(f"{root}/") for word in command):
            yield process


def _lives(process: psutil.Process) -> bool:
    try:
        # A process is called a zombie from the end of its first thread on.
        return process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1
    except psutil.Error:
        return False
