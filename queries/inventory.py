"""What is stored: runs, their steps and lanes, and how many dependencies of which kind."""

import pandas as pd

from tracegraph.queries.module import load
from tracegraph.store.connection import Database
from tracegraph.store.errors import InputError


def runs(database: Database) -> pd.DataFrame:
    """All runs, newest first: name, state, created, ranks, events, nodes, duration_ns."""
    return load("runs").run(database)


def run_details(database: Database, run: str) -> pd.DataFrame:
    """One row with everything that is stored about a run; no row when there is none of that name."""
    return load("run_details").run(database, run=run)


def newest_ready_run(database: Database) -> pd.DataFrame:
    """Name of the run that was ingested last and is completely stored; no row when there is none."""
    return load("newest_ready_run").run(database)


def ready_run(database: Database, run: str | None = None) -> str:
    """Name of `run`, or of the newest one, checked to be completely stored; InputError when there is none."""
    if run is None:
        newest = newest_ready_run(database)
        if newest.empty:
            raise InputError("no run is stored", "ingest a trace first: tracegraph ingest TRACE")
        return str(newest["name"].iloc[0])
    details = run_details(database, run)
    if details.empty:
        raise InputError(f"there is no run named {run!r}", "tracegraph runs lists those stored")
    if details["state"].iloc[0] != "ready":
        raise InputError(f"run {run!r} is not completely stored", "ingest its trace again")
    return run


def traces(database: Database, run: str) -> pd.DataFrame:
    """Files of a run: rank, file, sha256, clock_offset_ns, clock_drift_ppb, devices, versions (both JSON)."""
    return load("traces").run(database, run=run)


def first_rank(database: Database, run: str) -> int:
    """The lowest rank of a run: that of its file where there is one, whatever its number."""
    return int(traces(database, run)["rank"].min())


def steps(database: Database, run: str) -> pd.DataFrame:
    """Profiler steps by rank and start: rank, number, start_ns, end_ns, window_end_ns."""
    return load("steps").run(database, run=run)


def lanes(database: Database, run: str) -> pd.DataFrame:
    """CPU threads and GPU streams: lane, rank, kind, name, pid, tid, device, stream, matters."""
    return load("lanes").run(database, run=run)


def dependency_counts(database: Database, run: str) -> pd.DataFrame:
    """Dependencies by kind, mechanism and evidence: their count, the binding ones, the mean confidence."""
    return load("dependency_counts").run(database, run=run)
