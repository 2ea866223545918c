"""The critical path of a trace: from the columns in memory, or through the command line and the database."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import click
import pandas as pd

from tracegraph.cli.main import main
from tracegraph.ingest.events import Events, Lanes, read_events
from tracegraph.ingest.integrity import Integrity
from tracegraph.ingest.model import Model, build_model
from tracegraph.ingest.path_rows import path_rows
from tracegraph.ingest.readers import read_trace

_NULLABLE = {"margin_ns": "Int64", "source_index": "Int64"}
_COLUMNS = ["source_index", "start_ns", "end_ns", "margin_ns"]


def read_columns(trace: Path) -> tuple[Events, Lanes, Integrity]:
    """The events of a trace, their lanes, and what was odd in the file."""
    integrity = Integrity(trace.name)
    return *read_events(read_trace(trace, integrity)), integrity


def read_model(trace: Path) -> tuple[Model, Integrity]:
    """The causal model of a trace, and what was odd in the file."""
    events, lanes, integrity = read_columns(trace)
    return build_model(events, lanes, integrity), integrity


def path_in_columns(trace: Path) -> pd.DataFrame:
    """The path's rows, without a database: source_index (-1: gap), start_ns, end_ns, margin_ns (nullable)."""
    return path_rows(read_model(trace)[0])[_COLUMNS]


@dataclass(frozen=True)
class CommandLine:
    """`tracegraph` in a workspace whose server runs."""

    workspace: Path

    def run(self, *arguments: str | Path) -> None:
        """Run one command in this process; its own message ends the benchmark where it fails."""
        words = ["--workspace", self.workspace, "--quiet", *arguments]
        with redirect_stdout(io.StringIO()):
            code = main([str(word) for word in words])
        if code:
            raise click.ClickException(f"tracegraph {arguments[0]} failed: its message stands above")

    def path(self, trace: Path) -> pd.DataFrame:
        """The rows of the stored run's path, as `path_in_columns` gives them; the run is deleted."""
        output = self.workspace / f"{trace.stem}.csv"
        self.run("ingest", trace, "--run", trace.stem)
        self.run("query", "critical_path", "-p", f"run={trace.stem}", "--format", "csv", "-o", output)
        rows = pd.read_csv(output, dtype=_NULLABLE)
        self.run("runs", "delete", trace.stem)
        output.unlink()
        return rows.assign(source_index=rows["source_index"].fillna(-1))[_COLUMNS]


@contextmanager
def one_server(workspace: Path) -> Iterator[CommandLine]:
    """Start one server for all commands, and stop it at the end."""
    commands = CommandLine(workspace)
    commands.run("db", "start")
    try:
        yield commands
    finally:
        commands.run("db", "stop")
