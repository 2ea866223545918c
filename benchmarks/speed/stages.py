"""`python -m benchmarks.speed.stages STAGE TRACE WORKSPACE`: run one stage, print its cost as JSON."""

import json
import math
import resource
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, TextIO
from unittest.mock import patch

import msgspec
from isal import isal_zlib

from benchmarks.speed.inputs import STORED, kind_of
from benchmarks.speed.lean import lean_graph
from tracegraph.base.errors import InputError
from tracegraph.base.progress import silent
from tracegraph.cli.main import main as tracegraph
from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.other_assumptions import find_alternatives
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.ranks.rank_part import build_checked
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.tables.graph import RunFacts, add_run, build_graph
from tracegraph.ingest.trace import TraceFile
from tracegraph.ingest.what_if.predictions.potential import find_potential
from tracegraph.ingest.what_if.predictions.what_next import find_what_next
from tracegraph.queries import catalog
from tracegraph.queries.runs import fill
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.load.load_run import load_run
from tracegraph.store.managed.java import java
from tracegraph.store.managed.rebuild import offline_import
from tracegraph.store.session import open_database
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace, open_workspace

Facts = dict[str, float]
_GZIP = 31
"""The window bits that select gzip."""


class _Event(msgspec.Struct, gc=False):
    """The fields without which an event cannot be used: what any reader has to decode."""

    ph: str | None = None
    cat: str | None = None
    name: str | None = None
    pid: int | str | None = None
    tid: int | str | None = None
    ts: float | None = None
    dur: float | None = None
    args: msgspec.Raw = msgspec.Raw(b"null")


class _File(msgspec.Struct, gc=False):
    traceEvents: list[_Event]


def _clock() -> tuple[float, float]:
    """Return wall seconds, and CPU seconds of this process and its ended children."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return time.perf_counter(), own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _timed(work: Callable[[], object]) -> Facts:
    wall, cpu = _clock()
    work()
    wall_after, cpu_after = _clock()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"wall_s": wall_after - wall, "cpu_s": cpu_after - cpu, "peak": peak}


def _decode(trace: Path) -> None:
    data = (
        isal_zlib.decompress(trace.read_bytes(), wbits=_GZIP) if trace.suffix == ".gz" else trace.read_bytes()
    )
    msgspec.json.decode(data, type=_File)


def _model(trace: TraceFile) -> Model:
    return build_checked(trace, Integrity(trace.path))


def _graph(trace: TraceFile, model: Model, folder: Path) -> GraphTables:
    graph = build_graph(trace, model, "speed", folder)
    add_run(graph, model, RunFacts("2000-01-01T00:00:00", "0", []))
    return graph


@contextmanager
def _made(trace: Path, workspace: Workspace) -> Iterator[GraphTables]:
    """Make the graph of a trace, and drop the model that it came from."""
    columns = read_trace(trace, Integrity(trace.name))
    with workspace.spool() as folder:
        yield _graph(columns, _model(columns), folder)


def decode(trace: Path, _: Workspace) -> Facts:
    """Measure the floor of reading: unpack and decode the typed fields, keep nothing."""
    return _timed(lambda: _decode(trace))


def read(trace: Path, _: Workspace) -> Facts:
    """Measure reading a file to columns."""
    return _timed(lambda: read_events(read_trace(trace, Integrity(trace.name))))


def model(trace: Path, _: Workspace) -> Facts:
    """Measure the way from columns to the causal graph with its path."""
    columns = read_trace(trace, Integrity(trace.name))
    return _timed(lambda: _model(columns))


def what_if(trace: Path, _: Workspace) -> Facts:
    """Measure finding the path under other assumptions, and without each hotspot."""
    found = _model(read_trace(trace, Integrity(trace.name)))
    return _timed(lambda: (find_alternatives(found), find_what_next(found), find_potential(found)))


def tables(trace: Path, workspace: Workspace) -> Facts:
    """Measure the way from the causal graph to the tables of the run."""
    columns = read_trace(trace, Integrity(trace.name))
    found = _model(columns)
    made: list[GraphTables] = []
    with workspace.spool() as folder:
        facts = _timed(lambda: made.append(_graph(columns, found, folder)))
        return facts | _sizes(made[0])


def _sizes(graph: GraphTables) -> Facts:
    kinds = (graph.nodes.values(), graph.relationships.values())
    keys = {"id", "labels", "start", "end"}
    values = sum(
        len(column) - column.null_count
        for kind in kinds
        for table in kind
        for name, column in zip(table.column_names, table.columns, strict=True)
        if name not in keys
    )
    return {
        "nodes": graph.count_nodes(),
        "relationships": sum(graph.count_relationships().values()),
        "properties": values,
        "events": graph.count_labels()["Event"],
    }


def import_only(trace: Path, workspace: Workspace) -> Facts:
    """Measure the floor of storing: only Neo4j's own offline import, of a lean graph of as many events."""
    events = len(read_events(read_trace(trace, Integrity(trace.name)))[0])
    graph = lean_graph(*(round(events * one) for one in STORED[kind_of(trace)]))
    costs: list[Facts] = []
    run_admin = java.run_admin

    def timed(home: Path, arguments: Sequence[str], *more: Any) -> str:
        printed: list[str] = []
        # As at first: a floor must not shrink because storing became faster.
        arguments = [one.replace("--multiline-fields=false", "--multiline-fields=true") for one in arguments]
        cost = _timed(lambda: printed.append(run_admin(home, arguments, *more)))
        costs.append(cost)
        return printed[0]

    with patch.object(java, "run_admin", timed):
        offline_import.build_home(workspace, [graph], silent)
    shutil.rmtree(workspace.root)
    return costs[0]


def whole_way(trace: Path, workspace: Workspace) -> Facts:
    """Measure the way from a file to a stored graph and a printed report, in a new workspace.

    `verdict_s`: when the first screen was printed; the command then builds the late indexes.
    """
    begun, heard = time.perf_counter(), _FirstWords(sys.stdout)
    with redirect_stdout(heard):
        facts = _timed(lambda: _command(workspace, "report", str(trace)))
    return facts | {"verdict_s": heard.at - begun}


def all_files(trace: Path, workspace: Workspace) -> Facts:
    """Measure the way from a file to all files of a report, `-o`, in a new workspace."""
    out = workspace.root.with_name(f"{workspace.root.name}_files")
    facts = _timed(lambda: _command(workspace, "report", str(trace), "-o", str(out)))
    shutil.rmtree(out)
    return facts


class _FirstWords(StringIO):
    """Passes text on and notes when the first came."""

    def __init__(self, out: TextIO) -> None:
        super().__init__()
        self._out, self.at = out, math.nan

    def write(self, text: str) -> int:
        if math.isnan(self.at):
            self.at = time.perf_counter()
        return self._out.write(text)


def report(_: Path, workspace: Workspace) -> Facts:
    """Measure the report on a stored run whose server is up, and the heap that the server took for it."""
    facts = _timed(lambda: _command(workspace, "report"))
    with open_database(workspace, ConnectionSettings()) as database:
        return facts | {"heap": _heap_bytes(database)}


def _heap_bytes(database: Database) -> float:
    """Return the largest sum of what the server's memory pools for objects have held, in bytes."""
    query = (
        "CALL dbms.queryJmx('java.lang:type=MemoryPool,name=*') YIELD attributes "
        "WHERE attributes.Type.value = 'HEAP' RETURN sum(attributes.PeakUsage.value.properties.used) AS used"
    )
    return float(database.read(query)["used"].iloc[0])


def bolt(trace: Path, workspace: Workspace) -> Facts:
    """Measure loading over Bolt into a server that is up, as into somebody else's."""
    with _made(trace, workspace) as graph, open_database(workspace, ConnectionSettings()) as database:
        sizes, facts = _sizes(graph), _timed(lambda: load_run(database, graph))
    return facts | {"rows_per_s": (sizes["nodes"] + sizes["relationships"]) / facts["wall_s"]}


def _command(workspace: Workspace, *arguments: str) -> None:
    sys.argv = ["tracegraph", "--workspace", str(workspace.root), "--quiet", *arguments]
    try:
        code = tracegraph()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    if code:
        raise SystemExit(code)


def queries(_: Path, workspace: Workspace) -> Facts:
    """Measure two calls of every query that needs only a run and a window: seconds, and rows."""
    costs: Facts = {}
    with open_database(workspace, ConnectionSettings()) as database:
        for name, query in catalog.queries().items():
            try:
                values = fill(catalog.asking(database), query, {})
                for call in ("wall_s", "again_s"):
                    begun = time.perf_counter()
                    costs[f"{name} rows"] = len(query.run(database, values))
                    costs[f"{name} {call}"] = time.perf_counter() - begun
            except InputError:
                continue  # it asks about one event or name
    return costs


STAGES: dict[str, Callable[[Path, Workspace], Facts]] = {
    stage.__name__: stage
    for stage in (
        *(decode, read, model, what_if, tables, import_only),
        *(all_files, whole_way, report, queries, bolt),
    )
}


if __name__ == "__main__":
    name, trace, place = sys.argv[1:]
    facts = STAGES[name](Path(trace), open_workspace(Path(place)))
    print("\n" + json.dumps(facts))
