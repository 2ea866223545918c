"""The critical path of a trace: from the columns in memory, or through the command line and the database."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import pandas as pd

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
        """Run one command; its own message ends this one where it fails."""
        program = "from tracegraph.cli.main import main; raise SystemExit(main())"
        command = [sys.executable, "-c", program, "--workspace", self.workspace, "--quiet", *arguments]
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:
            raise click.ClickException(f"tracegraph {arguments[0]} failed: its message stands above")

    def path(self, trace: Path) -> pd.DataFrame:
        """The rows that `tracegraph report` writes, as `path_in_columns` gives them; the run is deleted."""
        output = self.workspace / "reports" / trace.stem
        self.run("report", trace, "-o", output, "--run", trace.stem)
        rows = pd.read_csv(output / "critical_path.csv", dtype=_NULLABLE)
        self.run("runs", "delete", trace.stem)
        shutil.rmtree(output)
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
