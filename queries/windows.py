"""Windows: from when to when a critical path goes, and the chain that it ends in."""

import pandas as pd

from tracegraph.queries.inventory import steps
from tracegraph.queries.module import load
from tracegraph.store.connection import Database
from tracegraph.store.errors import InputError, StoreError


def run_window(database: Database, run: str) -> pd.DataFrame:
    """Window of a whole run in one row: start_ns, end_ns, chain of the sink.

    Raises:
        StoreError: no work ends at the window's end, so there is no such run or it is damaged.
    """
    window = load("run_window").run(database, run=run)
    if window.empty:
        raise StoreError(f"run {run!r} has no work that ends its window", "ingest its trace again")
    return window


def step_window(database: Database, run: str, number: int) -> pd.DataFrame:
    """Window of ProfilerStep#`number` in one row: start_ns, end_ns, chain of the sink.

    It goes from the annotation's start to the later of its end and the end of the GPU work launched in it.

    Raises:
        InputError: the run has no such step; the message lists those present.
        StoreError: no work ends at the window's end.
    """
    window = load("step_window").run(database, run=run, number=number)
    if not window.empty:
        return window
    present = sorted(set(steps(database, run)["number"]))
    if number in present:
        raise StoreError(f"step {number} of run {run!r} has no work that ends it", "ingest its trace again")
    listed = ", ".join(map(str, present))
    raise InputError(
        f"run {run!r} has no step {number}",
        f"present: {listed}" if listed else "its trace has no ProfilerStep",
    )
