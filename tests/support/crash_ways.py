"""The ways of storing and removing a run that are crashed, on copies of prepared workspaces."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from commands import Command
from crash_java import runs_java
from crash_steps import Plan, Step, Trial, read_steps
from storing_runs import store_small_run
from tiny_job import rows_of_rank, write_trace

from tracegraph.store.session import start_server, stop_server
from tracegraph.store.workspace import open_workspace

TRACE = Path(__file__).parents[2] / "examples" / "traces" / "simulated_gpu.json.gz"
FIRST, SECOND, SCENARIO = "first", "second", "scenario"
LIMIT_S = 240
"""A command that was disturbed ends before."""
JOB = "JOB"
"""Stands in a command for the folder with the traces of a job of two ranks."""
_READER = """
import sys
from pathlib import Path
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.session import open_database
from tracegraph.store.workspace import open_workspace
with open_database(open_workspace(Path(sys.argv[1])), ConnectionSettings()) as database:
    print("reads", flush=True)
    while True:
        database.read("MATCH (n) RETURN count(n.name) AS nodes")
"""
_DRIVER = Path(__file__).with_name("crash_driver.py")
_INGEST = ("ingest", str(TRACE), "--run", SECOND, "--load")
_INGEST_JOB = ("ingest", JOB, "--run", SECOND, "--load")
_KEEP = ("what-if", "--run", SECOND, "--scale", "0.5", "category=kernel", "--keep", SCENARIO)
_NONE, _ONE, _TWO = frozenset[str](), frozenset({FIRST}), frozenset({FIRST, SECOND})
_THREE = frozenset({FIRST, SECOND, SCENARIO})


@dataclass(frozen=True)
class Way:
    """A command in a workspace that holds the runs `before`; undisturbed it leaves the runs `after`.

    `between`: what else a kill may leave. `wasteful`: see `Plan`. `repeated`: the command that completes what
    a kill left; none where a run was removed. `beside`: a server that is kept, and another command that asks
    it over and over.
    """

    arguments: tuple[str, ...]
    before: frozenset[str]
    after: frozenset[str]
    between: frozenset[str] | None = None
    wasteful: bool = False
    repeated: tuple[str, ...] = ()
    beside: bool = False

    @property
    def allowed(self) -> set[frozenset[str]]:
        """The sets of visible runs that may be found after a kill."""
        return {self.before, self.after, self.before if self.between is None else self.between}


def _ingest(
    load: str, before: frozenset[str], after: frozenset[str], between: frozenset[str] | None = None
) -> Way:
    return Way((*_INGEST, load), before, after, between, repeated=(*_INGEST, "bolt"))


WAYS: Mapping[str, Way] = {
    "first, imported": _ingest("bulk", _NONE, frozenset({SECOND})),
    "first over Bolt": _ingest("bolt", _NONE, frozenset({SECOND})),
    "appended over Bolt": _ingest("bolt", _ONE, _TWO),
    "replaced over Bolt": _ingest("bolt", _TWO, _TWO, between=_ONE),
    "rebuilt with one more": _ingest("bulk", _ONE, _TWO),
    "rebuilt replacing one": _ingest("bulk", _TWO, _TWO),
    "deleted": Way(("runs", "delete", SECOND), _TWO, _ONE),
    "deleted and compacted": Way(("runs", "delete", SECOND), _TWO, _ONE, wasteful=True),
    "deleted as the last": Way(("runs", "delete", FIRST), _ONE, _NONE, wasteful=True),
    "compacted": Way(("db", "compact"), _TWO, _TWO),
    "two ranks, first": Way(
        (*_INGEST_JOB, "bulk"), _NONE, frozenset({SECOND}), repeated=(*_INGEST_JOB, "bolt")
    ),
    "two ranks, appended": Way((*_INGEST_JOB, "bolt"), _ONE, _TWO, repeated=(*_INGEST_JOB, "bolt")),
    "scenario kept": Way(_KEEP, _TWO, _THREE, repeated=_KEEP),
    "scenario deleted": Way(("runs", "delete", SCENARIO), _THREE, _TWO),
    "compacted with a scenario": Way(("db", "compact"), _THREE, _THREE),
    "appended beside a reader": replace(_ingest("bolt", _ONE, _TWO), beside=True),
    "replaced beside a reader": replace(_ingest("bolt", _TWO, _TWO, between=_ONE), beside=True),
    "deleted beside a reader": Way(("runs", "delete", SECOND), _TWO, _ONE, beside=True),
}


class Prepared:
    """Workspaces that hold some of the runs, made when they are asked for, and copies of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def copy(self, runs: frozenset[str], target: Path) -> Path:
        """Make `target` a workspace that holds these runs."""
        source = self._folder / f"holds{len(runs)}"
        if not source.exists():
            half = source.with_suffix(".half")  # a kill cut the making off
            shutil.rmtree(half, ignore_errors=True)
            self._make(half, runs)
            half.rename(source)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        return target

    def _make(self, source: Path, runs: frozenset[str]) -> None:
        if not runs:
            source.mkdir(parents=True)
            return
        workspace = open_workspace(source)
        store_small_run(workspace, FIRST)
        for name, command in ((SECOND, (*_INGEST, "bolt")), (SCENARIO, _KEEP)):
            if name in runs:
                assert Command(source, *command).end()[0] == 0
        stop_server(workspace)


def job_of(root: Path) -> Path:
    """The folder with the traces of a job of two ranks, beside the workspace `root`."""
    folder = root.with_suffix(".job")
    if not folder.exists():
        folder.mkdir()
        for rank, work_us in enumerate((100.0, 300.0)):
            write_trace(folder / f"rank{rank}.json", rows_of_rank(work_us), rank)
    return folder


def record(way: Way, root: Path) -> list[Step]:
    """All steps of a way, in a workspace made for it."""
    log = root.with_suffix(".steps")
    with _beside(way, root):
        ended = _run(way, Plan(str(root), str(log), wasteful=way.wasteful))
    assert ended.returncode == 0, ended.stderr
    if way.beside:
        stop_server(open_workspace(root))
    assert not runs_java(str(root)), "an undisturbed command leaves Java behind"
    return read_steps(log)


@dataclass(frozen=True)
class Outcome:
    """How a disturbed command ended: its code, what it said on stderr, whether the step came at all."""

    code: int
    said: str
    reached: bool


def disturb(way: Way, root: Path, trial: Trial) -> Outcome:
    """Run a way with a kill."""
    log = root.with_suffix(".reached")
    log.unlink(missing_ok=True)
    with _beside(way, root):
        ended = _run(way, Plan(str(root), str(log), trial, way.wasteful))
    return Outcome(ended.returncode, ended.stderr, log.exists())


def arguments_of(words: Sequence[str], root: Path) -> list[str]:
    """The words of a command in the workspace `root`."""
    return [str(job_of(root)) if word == JOB else word for word in words]


@contextmanager
def _beside(way: Way, root: Path) -> Iterator[None]:
    """Where the way says so: a server that is kept, and a command that asks it over and over."""
    if not way.beside:
        yield
        return
    start_server(open_workspace(root))
    with subprocess.Popen([sys.executable, "-c", _READER, str(root)], stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        try:
            assert reader.stdout.readline(), "the reader ended"
            yield
        finally:
            reader.kill()


def _run(way: Way, plan: Plan) -> subprocess.CompletedProcess[str]:
    root = Path(plan.root)
    path = root.with_suffix(".plan")
    plan.save(path)
    command = [sys.executable, str(_DRIVER), str(path), *arguments_of(way.arguments, root)]
    return subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False
    )
