"""One cycle: a run is stored, sometimes queried, changed or replaced, and deleted; and its cost."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import psutil

from tracegraph.base.errors import InputError, StoreError
from tracegraph.store.compacting import folder_bytes
from tracegraph.store.session import find_server
from tracegraph.workbench.bench import Workbench

_NODES = "RETURN COUNT { () } AS nodes"
_REPLACED_EVERY, _REPORTED_EVERY, _CHANGED_EVERY = 3, 4, 7
"""In every third cycle the run is replaced, in every fourth reported on, in every seventh changed."""
_SCENARIO = "what if"


@dataclass(frozen=True)
class Cycle:
    """What is left after a cycle, and what its ingest took.

    `server_pid` identifies the server: one that was restarted begins small again.
    """

    trace: str
    disk_bytes: int
    server_bytes: int
    python_bytes: int
    nodes: int
    wall_s: float
    cpu_s: float
    server_pid: int


def repeat_cycles(bench: Workbench, traces: list[Path], count: int) -> Iterator[Cycle]:
    """Run `count` cycles, with the traces in turn."""
    for number in range(count):
        yield _cycle(bench, traces[number % len(traces)], number)


def _cycle(bench: Workbench, trace: Path, number: int) -> Cycle:
    name = f"cycle {number}"
    wall, cpu = perf_counter(), _cpu_s(bench)
    run = bench.ingest(trace, name)
    wall, cpu = perf_counter() - wall, _cpu_s(bench) - cpu
    if number % _REPLACED_EVERY == 0:
        bench.ingest(trace, name)
    if number % _REPORTED_EVERY == 0:
        run.report(drawn=False)
    if number % _CHANGED_EVERY == 0:
        _try_change(bench, name)
    run.delete()
    server = _server(bench)
    return Cycle(
        trace=trace.name,
        disk_bytes=folder_bytes(bench.workspace.root),
        server_bytes=server.memory_info().rss,
        python_bytes=psutil.Process().memory_info().rss,
        nodes=int(bench.cypher(_NODES)["nodes"][0]),
        wall_s=wall,
        cpu_s=cpu,
        server_pid=server.pid,
    )


def _try_change(bench: Workbench, name: str) -> None:
    """Keep a scenario of the run and delete it."""
    try:
        bench.run(name).what_if(scale=[(0.5, "category=cpu_op")]).keep(_SCENARIO).delete()
    except InputError:  # a trace without operators
        return


def _server(bench: Workbench) -> psutil.Process:
    state = find_server(bench.workspace)
    if state is None:
        raise StoreError("the server that should stay has ended", f"see {bench.workspace.neo4j_home}/logs")
    return psutil.Process(state.pid)


def _cpu_s(bench: Workbench) -> float:
    """Return the CPU seconds that this process and the server have spent."""
    times = [process.cpu_times() for process in (psutil.Process(), _server(bench))]
    return sum(time.user + time.system for time in times)
