"""The ways of storing and removing a run that are crashed, on copies of prepared workspaces."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from commands import Command
from crash_java import runs_java
from crash_steps import Plan, Step, Trial, read_steps
from storing_runs import store_small_run

from tracegraph.store.session import stop_server
from tracegraph.store.workspace import open_workspace

TRACE = Path(__file__).parents[2] / "examples" / "traces" / "simulated_gpu.json.gz"
FIRST, SECOND = "first", "second"
LIMIT_S = 120
"""A command that was disturbed ends before."""
_DRIVER = Path(__file__).with_name("crash_driver.py")
_INGEST = ("ingest", str(TRACE), "--run", SECOND, "--load")
_NONE, _ONE, _TWO = frozenset[str](), frozenset({FIRST}), frozenset({FIRST, SECOND})


@dataclass(frozen=True)
class Way:
    """A command in a workspace that holds the runs `before`; undisturbed it leaves the runs `after`.

    `between`: what else a kill may leave. `wasteful`: see `Plan`. `exchanges`: the kept tables of the run
    change a moment before the database does.
    """

    arguments: tuple[str, ...]
    before: frozenset[str]
    after: frozenset[str]
    between: frozenset[str] | None = None
    wasteful: bool = False
    exchanges: bool = False

    @property
    def repeated(self) -> tuple[str, ...]:
        """The command that completes what a kill left: none where a run was removed."""
        return (*_INGEST, "bolt") if self.arguments[0] == "ingest" else ()

    @property
    def allowed(self) -> set[frozenset[str]]:
        """The sets of visible runs that may be found after a kill."""
        return {self.before, self.after, self.before if self.between is None else self.between}


WAYS: Mapping[str, Way] = {
    "first, imported": Way((*_INGEST, "bulk"), _NONE, frozenset({SECOND})),
    "first over Bolt": Way((*_INGEST, "bolt"), _NONE, frozenset({SECOND})),
    "appended over Bolt": Way((*_INGEST, "bolt"), _ONE, _TWO),
    "replaced over Bolt": Way((*_INGEST, "bolt"), _TWO, _TWO, between=_ONE),
    "rebuilt with one more": Way((*_INGEST, "bulk"), _ONE, _TWO),
    "rebuilt replacing one": Way((*_INGEST, "bulk"), _TWO, _TWO, exchanges=True),
    "deleted": Way(("runs", "delete", SECOND), _TWO, _ONE),
    "deleted and compacted": Way(("runs", "delete", SECOND), _TWO, _ONE, wasteful=True),
    "deleted as the last": Way(("runs", "delete", FIRST), _ONE, _NONE, wasteful=True),
    "compacted": Way(("db", "compact"), _TWO, _TWO),
}


class Prepared:
    """Workspaces that hold no run, `first`, or both, made when they are asked for, and copies of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def copy(self, runs: frozenset[str], target: Path) -> Path:
        """Make `target` a workspace that holds these runs."""
        source = self._folder / f"holds{len(runs)}"
        if not source.exists():
            self._make(source, runs)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        return target

    def _make(self, source: Path, runs: frozenset[str]) -> None:
        if not runs:
            source.mkdir()
            return
        workspace = open_workspace(source)
        store_small_run(workspace, FIRST)
        if SECOND in runs:
            assert Command(source, *_INGEST, "bolt").end()[0] == 0
        stop_server(workspace)


def record(way: Way, root: Path) -> list[Step]:
    """All steps of a way, in a workspace made for it."""
    log = root.with_suffix(".steps")
    ended = _run(way, Plan(str(root), str(log), wasteful=way.wasteful))
    assert ended.returncode == 0, ended.stderr
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
    ended = _run(way, Plan(str(root), str(log), trial, way.wasteful))
    return Outcome(ended.returncode, ended.stderr, log.exists())


def _run(way: Way, plan: Plan) -> subprocess.CompletedProcess[str]:
    path = Path(plan.root).with_suffix(".plan")
    plan.save(path)
    command = [sys.executable, str(_DRIVER), str(path), *way.arguments]
    return subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False
    )
