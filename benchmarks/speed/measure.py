"""Stages in fresh processes, with a watch on the server of their workspace meanwhile."""

import json
import shutil
import statistics
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import click
import psutil

from benchmarks.speed.inputs import SIZES, Trace
from tracegraph.store.managed.java import java
from tracegraph.store.managed.server.server import running
from tracegraph.store.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]
ALONE = ("decode", "read", "model", "what_if", "tables", "import_only")
"""Stages that leave nothing behind."""
FLOOR = "import_only"
"""The stage that is measured before and after what it is compared with, as a machine may change its speed."""
ON_SERVER = ("report", "queries", "bolt")
"""Stages on a stored run whose server is up."""
_BRIEF = ("decode", "tables", "import_only", "report")
"""The stages of the largest traces."""
_MOST_BOLT_EVENTS, _MOST_EVENTS = 200_000, 2_000_000
"""With more events a trace is not loaded over Bolt, or only the stages in `_BRIEF` are timed."""
_PAUSE_S = 0.1
"""The pause between two samples of the server's memory."""
Facts = dict[str, float]


@dataclass
class Watch:
    """The Java processes of a workspace: their largest memory in bytes, and the CPU seconds they spent."""

    home: Path
    peak: int = 0
    cpu_s: dict[int, float] = field(default_factory=dict)

    def look(self) -> None:
        """Take one sample."""
        for process in psutil.process_iter(["cmdline", "pid"]):
            if java.is_server(process.info["cmdline"] or (), self.home):
                try:
                    times = process.cpu_times()
                    self.cpu_s[process.pid] = times.user + times.system
                    self.peak = max(self.peak, process.memory_info().rss)
                except psutil.Error:
                    continue  # it ended just now


def run_stage(stage: str, trace: Path, place: Path) -> Facts:
    """Run one stage in a process of its own and return its facts; end the command if the stage fails."""
    workspace = Workspace(place)
    state = running(workspace)
    watch = Watch(workspace.neo4j_home)
    watch.look()
    before = sum(watch.cpu_s.values()) if state is not None else 0.0
    done = threading.Event()
    watcher = threading.Thread(target=lambda: _keep_looking(watch, done))
    watcher.start()
    try:
        command: list[str | Path] = [sys.executable, "-m", "benchmarks.speed.stages", stage, trace, place]
        ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if running(workspace) is not None:
            watch.look()
    finally:
        done.set()
        watcher.join()
    if ended.returncode:
        raise click.ClickException(f"stage {stage} of {trace.name} failed: its message stands above")
    facts: Facts = json.loads(ended.stdout.rstrip().rpartition("\n")[2])
    return facts | {"server_peak": watch.peak, "server_cpu_s": sum(watch.cpu_s.values()) - before}


def _keep_looking(watch: Watch, done: threading.Event) -> None:
    while not done.wait(_PAUSE_S):
        watch.look()


def measure(trace: Trace, place: Path, repeat: int) -> dict[str, Facts]:
    """Measure the stages of one trace, as medians by stage; the workspaces are removed.

    The floor also has its `drift`: how many times as long it took after the whole way as before.
    """
    found, stages = {}, _stages(SIZES[trace.size])
    for stage in (name for name in ALONE if name in stages):
        runs = [_alone(stage, trace, place) for _ in range(repeat)]
        found[stage] = medians(runs)
        click.echo(f"{trace.name}: {stage} {found[stage]['cpu_s']:.2f} s of CPU", err=True)
    before, after = found[FLOOR], []
    kept: dict[str, list[Facts]] = {stage: [] for stage in ("all_files", "whole_way", *ON_SERVER)}
    for _ in range(repeat):
        kept["all_files"].append(run_stage("all_files", trace.path, fresh(place / "whole")))
        tracegraph(place / "whole", "stop")
        workspace = fresh(place / "whole")
        whole = run_stage("whole_way", trace.path, workspace)
        kept["whole_way"].append(whole | {"disk": disk_bytes(workspace)})
        after.append(_alone(FLOOR, trace, place))
        tracegraph(workspace, "start")
        try:
            for stage in (name for name in ON_SERVER if name in stages):
                kept[stage].append(run_stage(stage, trace.path, workspace))
        finally:
            tracegraph(workspace, "stop")
        files = kept["all_files"][-1]["wall_s"]
        click.echo(f"{trace.name}: whole way {whole['wall_s']:.1f} s, with all files {files:.1f} s", err=True)
    shutil.rmtree(place / "whole")
    drift = medians(after)["wall_s"] / before["wall_s"]
    found[FLOOR] = medians([before, medians(after)]) | {"drift": drift}
    return found | {stage: medians(runs) for stage, runs in kept.items() if runs}


def _alone(stage: str, trace: Trace, place: Path) -> Facts:
    return run_stage(stage, trace.path, fresh(place / "alone"))


def _stages(events: int) -> tuple[str, ...]:
    """Choose the stages that are worth their time beside the whole way."""
    if events > _MOST_EVENTS:
        return _BRIEF
    return (*ALONE, *ON_SERVER) if events < _MOST_BOLT_EVENTS else (*ALONE, *ON_SERVER[:-1])


def disk_bytes(folder: Path) -> int:
    """Sum the sizes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def fresh(place: Path) -> Path:
    """Remove a folder with all that is in it, and return its path."""
    shutil.rmtree(place, ignore_errors=True)
    return place


def tracegraph(workspace: Path, verb: str) -> None:
    """Start or stop the server of a workspace."""
    program = "from tracegraph.cli.main import main; raise SystemExit(main())"
    command: list[str | Path] = [
        sys.executable,
        "-c",
        program,
        "--workspace",
        workspace,
        "--quiet",
        "db",
        verb,
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def medians(runs: list[Facts]) -> Facts:
    """Find the median of each fact of several runs."""
    return {name: statistics.median(run[name] for run in runs if name in run) for name in runs[0]}
