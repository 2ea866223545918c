"""The critical path of a trace, from the columns in memory or through command line and database."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pandas as pd

from tracegraph.cli.main import main
from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.graph.model import Model, build_model
from tracegraph.ingest.causal.graph.path_rows import path_rows
from tracegraph.ingest.integrity.diagnosis import diagnose
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.trace import TraceFile
from tracegraph.ingest.what_if.predictions.what_next import find_what_next

_NULLABLE = {"margin_ns": "Int64", "source_index": "Int64"}
_COLUMNS = ["source_index", "start_ns", "end_ns", "margin_ns", "evidence", "confidence"]


@dataclass(frozen=True)
class Answer:
    """What is said of a trace: the path's rows, `what_next`, and the codes of warnings and errors."""

    path: pd.DataFrame
    what_next: list[dict[str, Any]]
    codes: frozenset[str] = frozenset()


def read_columns(trace: Path) -> tuple[Events, Lanes, Integrity]:
    """Read the events of a trace, their lanes, and what was odd in the file."""
    integrity = Integrity(trace.name)
    return *read_events(read_trace(trace, integrity)), integrity


def read_model(trace: Path) -> tuple[Model, Integrity]:
    """Build the causal model of a trace, and return it with what was odd in the file."""
    events, lanes, integrity = read_columns(trace)
    return build_model(events, lanes, integrity), integrity


def path_in_columns(trace: Path) -> pd.DataFrame:
    """Return the path's rows, without a database.

    The columns are source_index (-1: gap), start_ns, end_ns, margin_ns (nullable), evidence and confidence.
    """
    return path_rows(read_model(trace)[0])[_COLUMNS]


def answer_in_columns(trace: Path) -> Answer:
    """Find path, what-if and warnings, without a database."""
    integrity = Integrity(trace.name)
    return answer_of(read_trace(trace, integrity), integrity)


def answer_of(file: TraceFile, integrity: Integrity) -> Answer:
    """Find path, what-if and warnings of a trace that was read; `integrity` holds what was odd in it."""
    model = build_model(*read_events(file), integrity)
    diagnose(model, integrity)
    codes = frozenset(finding.code for finding in integrity if finding.level != "info")
    return Answer(path_rows(model)[_COLUMNS], find_what_next(model), codes)


@dataclass(frozen=True)
class CommandLine:
    """`tracegraph` in a workspace whose server runs."""

    workspace: Path

    def run(self, *arguments: str | Path) -> str:
        """Run one command in this process, return what it prints; a failure ends the benchmark."""
        words = ["--workspace", self.workspace, "--quiet", *arguments]
        with redirect_stdout(io.StringIO()) as out:
            code = main([str(word) for word in words])
        if code:
            raise click.ClickException(f"tracegraph {arguments[0]} failed: its message stands above")
        return out.getvalue()

    def diff(self, a: Path, *others: Path) -> list[str]:
        """Store runs, return as JSON what differs from A to each of the others, and delete them."""
        for trace in (a, *others):
            self.run("ingest", trace, "--run", trace.stem)
        said = [self.run("diff", a.stem, b.stem, "--format", "json") for b in others]
        for trace in (a, *others):
            self.run("runs", "delete", trace.stem)
        return said

    def path(self, trace: Path) -> pd.DataFrame:
        """Store a run, read the rows of its path as `path_in_columns` gives them, and delete it."""
        return self.answer(trace).path

    def answer(self, trace: Path) -> Answer:
        """Store a run, read its path and what-if, without the warnings, and delete it."""
        self.run("ingest", trace, "--run", trace.stem)
        path = self._query("critical_path", trace.stem, dtype=_NULLABLE)
        details = self._query("run_details", trace.stem)
        self.run("runs", "delete", trace.stem)
        path = path.assign(source_index=path["source_index"].fillna(-1))
        return Answer(path[_COLUMNS], json.loads(details["what_next"].iloc[0]))

    def _query(self, name: str, run: str, **reading: Any) -> pd.DataFrame:
        output = self.workspace / f"{name}.csv"
        self.run("query", name, "-p", f"run={run}", "--format", "csv", "-o", output)
        rows: pd.DataFrame = pd.read_csv(output, **reading)
        output.unlink()
        return rows


@contextmanager
def one_server(workspace: Path) -> Iterator[CommandLine]:
    """Start one server for all commands, and stop it at the end."""
    commands = CommandLine(workspace)
    commands.run("db", "start")
    try:
        yield commands
    finally:
        commands.run("db", "stop")
