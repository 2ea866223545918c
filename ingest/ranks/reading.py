"""Read the files of all ranks, at the same time if that pays."""

import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

from tracegraph.base.errors import InputError
from tracegraph.base.machine import cores, free_memory_bytes
from tracegraph.base.parallel import run_all
from tracegraph.base.pipe_objects import receive, send
from tracegraph.base.progress import Progress, silent
from tracegraph.ingest.limits import MEMORY_OF_A_BYTE
from tracegraph.ingest.options import DEFAULT_OPTIONS, IngestOptions
from tracegraph.ingest.ranks.rank_part import Part
from tracegraph.ingest.ranks.worker import AnyTask, Outcome, Result, Task
from tracegraph.ingest.sources.source import Source

_COMMAND = [sys.executable, "-m", "tracegraph.ingest.ranks.worker"]
_APART = {"PYTHONSAFEPATH": "1"}
"""Keeps Python from importing modules from the folder in which a user happens to be."""
_PACKED = (".gz", ".parquet")
_PACKING = 15
"""How many bytes of text a byte of a packed file usually unpacks to."""
_REMOTE_BYTES = 128 << 20
"""The size that is assumed for a file of unknown size, in bytes of text."""
_OWN_BYTES = 200 << 20
"""Bytes of memory that a process takes before it reads anything."""
_WORTH_BYTES = 64 << 20
"""Bytes of text in all files from which on other processes pay.

This process reads 30 MiB of text a second; with less, it is done before two others, each of which takes
0.7 s of CPU to begin.
"""
_FILE_BYTES = 3 << 20
"""Bytes of text that are read in the .1 s that a file takes however small it is."""
_OWN_FOLDERS = ("/dev/", "/proc/")
Outcomes = Generator[tuple[int, Outcome], None, None]
ReadAll = Callable[[Sequence[Task]], Outcomes]
"""Does tasks and yields, as they end, the place of each and its outcome; closing it ends the rest."""
_READING = "reading the files of all ranks"


class Workers:
    """A number of processes, each of which does one task at a time; one that is killed is replaced."""

    def __init__(self, count: int) -> None:
        self._all = [self._start() for _ in range(count)]
        self._no_more = False
        self._starting = Lock()
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

    def do(self, task: AnyTask[Result]) -> Result | Exception:
        """Do a task in a process once one is free, and return what it found, or what was raised.

        If the process is killed, another one does the task once more: memory may have been short only then.
        """
        process = self._idle.get()
        try:
            try:
                return _done_in(process, task)
            except (OSError, EOFError):
                process = self._replaced(process)
                return _done_in(process, task)
        except (OSError, EOFError):
            return _ended(task, process.wait())
        finally:
            self._idle.put(process)

    def _replaced(self, ended: "subprocess.Popen[bytes]") -> "subprocess.Popen[bytes]":
        """Start a process instead of one that has ended, unless all are to end: then return that one."""
        with self._starting:
            if not self._no_more:
                self._all.append(self._start())
            return ended if self._no_more else self._all[-1]

    def kill(self) -> None:
        """End all processes now; a thread that waits for one of them gets an error."""
        with self._starting:
            self._no_more = True
        for process in self._all:
            process.kill()

    def close(self) -> None:
        """End all processes, and return when they have ended."""
        self.kill()
        for process in self._all:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with suppress(OSError):  # data in the pipe that was never sent
                    pipe.close()


@contextmanager
def open_workers(count: int) -> Iterator[Workers]:
    """Keep `count` processes for the block."""
    workers = Workers(count)
    try:
        yield workers
    finally:
        workers.close()


def _done_in(process: "subprocess.Popen[bytes]", task: AnyTask[Result]) -> Result | Exception:
    """Have a process do a task; OSError or EOFError if it ends before."""
    assert process.stdin is not None
    assert process.stdout is not None
    send(process.stdin, task)  # type: ignore[arg-type]
    answer: Result | Exception = receive(process.stdout)  # type: ignore[arg-type]
    return answer


def _ended(task: AnyTask[object], code: int) -> InputError:
    how = f"signal {-code}" if code < 0 else f"code {code}"
    return InputError(
        f"two processes that read {task.source.shown} ended, the last one with {how}",
        "there may be too little memory: close other programs, or give fewer or shorter files",
    )


def text_bytes(source: Source) -> int:
    """Estimate how many bytes of text a source holds; 0 if that cannot be known."""
    if source.is_remote:
        return _REMOTE_BYTES
    try:
        size = Path(source.given).stat().st_size
    except OSError:
        return 0
    return size * (_PACKING if source.given.endswith(_PACKED) else 1)


def count_workers(sources: Sequence[Source]) -> int:
    """Choose how many processes read the sources; 0 if this one is faster, or only this one can."""
    sizes = [text_bytes(source) for source in sources]
    most = min(cores(), len(sources))
    work = sum(sizes) + _FILE_BYTES * len(sizes)
    if most < 2 or work < _WORTH_BYTES or not all(map(_is_seen_elsewhere, sources)):
        return 0
    room = int(free_memory_bytes() // (_OWN_BYTES + MEMORY_OF_A_BYTE * max(sizes)))
    return min(most, room) if room > 1 else 0


def _is_seen_elsewhere(source: Source) -> bool:
    """Tell whether another process finds the source.

    It does not find a pipe, a descriptor or a file in this process's memory.
    """
    url = source.url
    if url is not None:
        return url.protocol != "memory"
    return os.path.isfile(source.given) and not source.given.startswith(_OWN_FOLDERS)


def read_here(tasks: Sequence[AnyTask[Result]]) -> Generator[tuple[int, Result | Exception], None, None]:
    """Read on this machine: in several processes if that is faster, else one file after the other."""
    count = count_workers([task.source for task in tasks])
    if not count:
        yield from ((k, task.outcome()) for k, task in enumerate(tasks))
        return
    largest_first = sorted(range(len(tasks)), key=lambda k: -text_bytes(tasks[k].source))
    with (
        open_workers(count) as workers,
        closing(run_all(lambda k: (k, workers.do(tasks[k])), largest_first, count, workers.kill)) as outcomes,
    ):
        try:
            for outcome in outcomes:  # noqa: UP028 (`yield from` would wait for what still runs)
                yield outcome
        except BaseException:
            workers.kill()
            raise


def read_parts(
    sources: Sequence[Source],
    options: IngestOptions = DEFAULT_OPTIONS,
    progress: Progress = silent,
    read_all: ReadAll = read_here,
    *,
    in_short: bool = False,
) -> list[Part]:
    """Read the parts of all sources in their order, as `read_all_parts` makes them.

    Raises
    ------
    InputError
        If a file cannot be used; the first error ends the reading of the rest.
    """
    found: dict[int, list[Part]] = {}
    progress(_READING, 0, len(sources))
    with closing(read_all([Task(source, options, in_short) for source in sources])) as outcomes:
        for place, outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
            found[place] = outcome
            progress(_READING, len(found), len(sources))
    return [part for place in range(len(sources)) for part in found[place]]


def try_parts(
    sources: Sequence[Source],
    options: IngestOptions = DEFAULT_OPTIONS,
    progress: Progress = silent,
) -> list[list[Part] | InputError]:
    """Read as `read_parts` does, but return the parts of each file, or the error for which it has none."""
    found: dict[int, list[Part] | InputError] = {}
    progress(_READING, 0, len(sources))
    for place, outcome in read_here([Task(source, options) for source in sources]):
        if isinstance(outcome, Exception) and not isinstance(outcome, InputError):
            raise outcome
        found[place] = outcome
        progress(_READING, len(found), len(sources))
    return [found[place] for place in range(len(sources))]
