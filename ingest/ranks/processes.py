"""Processes of this machine that read ranks, and end with the one that began them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue

from tracegraph.base.errors import InputError
from tracegraph.ingest.ranks.messages import receive, send
from tracegraph.ingest.ranks.worker import Outcome, Task

_COMMAND = [sys.executable, "-m", "tracegraph.ingest.ranks.worker"]
_APART = {"PYTHONSAFEPATH": "1"}
"""Modules in the folder where a user happens to be are none of ours."""


class Workers:
    """Some processes, each of which does one task at a time."""

    def __init__(self, count: int) -> None:
        self._all = [self._start() for _ in range(count)]
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for process in self._all:
            self._idle.put(process)

    @staticmethod
    def _start() -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_APART},
            start_new_session=True,  # Ctrl-C at a terminal is for this process, which then closes the pipes
        )

    def do(self, task: Task) -> Outcome:
        """The part of a task, or what was raised; waits for a process that is free."""
        process = self._idle.get()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            send(process.stdin, task)  # type: ignore[arg-type]
            answer: Outcome = receive(process.stdout)  # type: ignore[arg-type]
        except (OSError, EOFError):
            return _ended(task, process.wait())
        finally:
            self._idle.put(process)
        return answer

    def kill(self) -> None:
        """End all processes now; whoever waits for one of them gets an error."""
        for process in self._all:
            process.kill()

    def close(self) -> None:
        """End all processes, and return when they have ended."""
        self.kill()
        for process in self._all:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with suppress(OSError):  # what was not sent any more
                    pipe.close()


@contextmanager
def open_workers(count: int) -> Iterator[Workers]:
    """So many processes for the block."""
    workers = Workers(count)
    try:
        yield workers
    finally:
        workers.close()


def _ended(task: Task, code: int) -> InputError:
    how = f"signal {-code}" if code < 0 else f"code {code}"
    return InputError(
        f"the process that read {task.source.shown} ended with {how}",
        "there may be too little memory: close other programs, or give fewer or shorter files",
    )
