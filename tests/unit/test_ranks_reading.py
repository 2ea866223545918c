"""Several ranks read at once: the same parts and errors as one after the other, and no process stays."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pytest
from tiny_job import rows_of_rank, write_trace

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.rules import POLICIES
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.ranks import reading
from tracegraph.ingest.ranks.job import build_job
from tracegraph.ingest.ranks.reading import count_workers, open_workers, read_parts, try_parts
from tracegraph.ingest.ranks.worker import Task
from tracegraph.ingest.sources.source import Source

ALONE = IngestOptions(compared=False)
WAIT_S = 20.0


@pytest.fixture
def sources(tmp_path: Path) -> list[Source]:
    ranks = rows_of_rank(100), rows_of_rank(60), rows_of_rank(30)
    return [
        Source(str(write_trace(tmp_path / f"rank{rank}.json", rows, rank, 3)))
        for rank, rows in enumerate(ranks)
    ]


@pytest.fixture
def in_two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "count_workers", lambda sources: 2)


def own_workers() -> list[psutil.Process]:
    children = psutil.Process().children(recursive=True)
    return [one for one in children if "tracegraph.ingest.ranks.worker" in " ".join(one.cmdline())]


def await_true(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.05)


@pytest.mark.usefixtures("in_two_processes")
def test_processes_give_what_this_one_would(sources: list[Source], monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[int, int]] = []
    apart = read_parts(sources, progress=lambda stage, done, total: said.append((done, total)))
    assert said == [(done, 3) for done in range(4)]
    assert not own_workers()
    monkeypatch.setattr(reading, "count_workers", lambda sources: 0)
    here = read_parts(sources)
    assert [part.rank for part in apart] == [part.rank for part in here] == [0, 1, 2]
    for one, other in zip(apart, here, strict=True):
        assert (one.file, one.members, one.integrity.rows()) == (
            other.file,
            other.members,
            other.integrity.rows(),
        )
        assert one.stated.equals(other.stated)
        for policy in POLICIES:
            np.testing.assert_array_equal(one.found[policy].edges.arrival, other.found[policy].edges.arrival)
    assert build_job(apart).model.window == build_job(here).model.window


@pytest.mark.usefixtures("in_two_processes")
def test_an_error_in_a_process_is_the_same_error_here(sources: list[Source], tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"nodes": []}')
    with pytest.raises(InputError, match="execution trace") as apart:
        read_parts([*sources, Source(str(broken))], ALONE)
    assert not own_workers()
    here = Task(Source(str(broken)), ALONE).outcome()
    assert str(apart.value) == str(here)
    tried = try_parts([Source(str(broken)), sources[0]], ALONE)
    assert isinstance(tried[0], InputError)
    assert not isinstance(tried[1], InputError)
    assert [part.rank for part in tried[1]] == [0]


@pytest.mark.usefixtures("in_two_processes")
def test_an_interrupt_ends_the_processes(sources: list[Source]) -> None:
    def interrupt(stage: str, done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_parts(sources, ALONE, progress=interrupt)
    assert not own_workers()


def test_the_file_of_a_process_that_is_killed_is_read_once_more(sources: list[Source]) -> None:
    with open_workers(1) as workers:
        for killed in range(2):  # the second time one that was started for the first
            workers._all[-1].send_signal(signal.SIGKILL)
            outcome = workers.do(Task(sources[killed], ALONE))
            assert not isinstance(outcome, Exception)
            assert [part.rank for part in outcome] == [killed]
    assert not own_workers()


@dataclass(frozen=True)
class Deadly:
    """A task whose process kills itself."""

    source: Source

    def outcome(self) -> Exception:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


def test_a_file_on_which_two_processes_are_killed_is_one_line(
    sources: list[Source], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The processes find the task's class in this folder.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    monkeypatch.setattr(Deadly, "__module__", Path(__file__).stem)
    monkeypatch.setitem(sys.modules, Path(__file__).stem, sys.modules[__name__])
    with open_workers(1) as workers:
        outcome = workers.do(Deadly(sources[0]))
        assert isinstance(outcome, InputError)
        assert "two processes that read" in str(outcome)
        assert "rank0.json ended, the last one with signal 9" in str(outcome)
        assert isinstance(workers.do(Task(sources[1], ALONE)), list)
    assert not own_workers()


def test_no_process_starts_once_all_are_to_end(sources: list[Source]) -> None:
    with open_workers(1) as workers:
        workers.kill()
        assert isinstance(workers.do(Task(sources[0], ALONE)), InputError)
        assert len(workers._all) == 1


def test_processes_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from tracegraph.ingest.ranks.reading import Workers\n"
        "workers = Workers(2)\n"
        "print(*(one.pid for one in workers._all), flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert parent.stdout is not None
    workers = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
    assert len(workers) == 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    await_true(lambda: not any(map(is_alive, workers)))


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_ctrl_c_at_a_terminal_does_not_reach_the_processes() -> None:
    with open_workers(1) as workers:
        assert os.getpgid(workers._all[0].pid) != os.getpgid(0)


@pytest.mark.parametrize(
    ("sizes", "cores", "free", "expected"),
    [
        ([100 << 20] * 8, 4, 64 << 30, 4),
        ([100 << 20] * 3, 4, 64 << 30, 3),
        ([100 << 20] * 8, 1, 64 << 30, 0),
        ([100 << 20], 4, 64 << 30, 0),
        ([1 << 20] * 8, 4, 64 << 30, 0),
        ([100 << 20] * 8, 4, 2 << 30, 2),
        ([100 << 20] * 8, 4, 1 << 30, 0),
    ],
)
def test_as_many_processes_as_cores_memory_and_files_allow(
    sizes: list[int], cores: int, free: int, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = []
    for k, size in enumerate(sizes):
        files.append(tmp_path / f"rank{k}.json")
        with files[-1].open("wb") as stream:
            stream.truncate(size)
    monkeypatch.setattr(reading, "cores", lambda: cores)
    monkeypatch.setattr(reading, "free_memory_bytes", lambda: free)
    assert count_workers([Source(str(file)) for file in files]) == expected


def test_what_only_this_process_sees_is_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "cores", lambda: 4)
    monkeypatch.setattr(reading, "free_memory_bytes", lambda: 64 << 30)
    assert count_workers([Source("s3://bucket/a"), Source("s3://bucket/b")]) == 2
    assert count_workers([Source("memory://bucket/a"), Source("s3://bucket/b")]) == 0
    assert count_workers([Source("/dev/fd/0"), Source("s3://bucket/b")]) == 0


def test_modules_of_the_user_s_folder_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit('taken')")
    path = write_trace(tmp_path / "rank0.json", rows_of_rank(60), 0)
    monkeypatch.chdir(tmp_path)
    if sys.version_info >= (3, 11):
        with reading.open_workers(1) as workers:
            outcome = workers.do(Task(Source(str(path)), ALONE))
            assert not isinstance(outcome, Exception)
