"""A process that reads ranks for another one: `python -m tracegraph.ingest.ranks.worker`, with pipes.

It reads tasks from standard input and writes what they find, or the errors, to standard output. If the input
ends, the process ends at once, in the midst of a task too: nobody waits for it any more.
"""

import os
import sys
import threading
from dataclasses import dataclass
from queue import SimpleQueue
from typing import BinaryIO, Protocol, TypeVar

from tracegraph.base.copies import leave_cores
from tracegraph.base.malloc_settings import give_back_memory, reuse_dropped_columns
from tracegraph.base.pipe_objects import receive, send
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.ranks.rank_part import Part, read_all_parts
from tracegraph.ingest.sources.source import Source

Result = TypeVar("Result")
"""What reading a file finds."""
Found_co = TypeVar("Found_co", covariant=True)


class AnyTask(Protocol[Found_co]):
    """A file to read, and what to find out about it."""

    @property
    def source(self) -> Source:
        """The file."""

    def outcome(self) -> Found_co | Exception:
        """Read the file, and return what was found or the exception that was raised."""


@dataclass(frozen=True)
class Task:
    """A file to read, with its limits, the policies between threads, and the marker of its steps.

    `in_short`: whether only what other ranks need to know of it is wanted.
    """

    source: Source
    options: IngestOptions
    in_short: bool = False

    def outcome(self) -> "Outcome":
        """Read the parts in the file, and return them or the exception that was raised."""
        try:
            return read_all_parts(self.source, self.options, in_short=self.in_short)
        except Exception as error:  # it is raised where the task came from
            return error


Outcome = list[Part] | Exception
"""The ranks in a file, or why it cannot be used."""


def main() -> None:
    """Do tasks until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    reuse_dropped_columns()
    leave_cores()
    tasks: SimpleQueue[Task] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, tasks), daemon=True).start()
    while True:
        send(answers, tasks.get().outcome())
        give_back_memory()


def _listen(requests: BinaryIO, tasks: "SimpleQueue[Task]") -> None:
    try:
        while True:
            tasks.put(receive(requests))
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
