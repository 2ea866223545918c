"""How each GPU spends a window: what runs at each moment."""

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.peak.time_sums import unfolded
from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION, MEMORY

_WAIT = "wait"
"""What `gpu_work_times` calls the part of a communication in which it waits for other ranks."""
_RUNNING = (COMPUTATION, MEMORY, COMMUNICATION, _WAIT)
BUSY_COLUMNS = (
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("device", "INTEGER", True, "GPU index"),
    Column(
        "busy_ns",
        "INTEGER",
        False,
        "time in which at least one activity ran, also one that waited for other ranks, ns",
    ),
    Column("busy_share", "FLOAT", False, "share of the window, 0..1"),
    Column("count", "INTEGER", False, "number of activities"),
    Column("computing_ns", "INTEGER", False, "how much of the busy time at least one computation ran, ns"),
    Column(
        "transferring_ns",
        "INTEGER",
        False,
        "how much of it copies or communication ran, but no computation, ns",
    ),
    Column(
        "waiting_ns",
        "INTEGER",
        False,
        "the rest of it: nothing ran but kernels that are known to wait for other ranks, ns",
    ),
    Column(
        "communicating_ns", "INTEGER", False, "of the transferring time: nothing ran but communication, ns"
    ),
)
"""Columns of `gpu_busy`."""


def gpu_busy(values: Values, work: pd.DataFrame) -> pd.DataFrame:
    """Return rows by rank and device, from `gpu_work_times`."""
    rows = [
        {"rank": rank, "device": device, **_spent(of_gpu, values["start_ns"], values["end_ns"])}
        for (rank, device), of_gpu in work.groupby(["rank", "device"], dropna=False)
    ]
    return pd.DataFrame(rows, columns=[column.name for column in BUSY_COLUMNS])


def _spent(work: pd.DataFrame, start_ns: int, end_ns: int) -> dict[str, float]:
    """Sum up the window of one GPU by what runs at each moment."""
    sizes = work["begin_ns"].map(len).to_numpy("int64")
    kind = np.repeat(work["what"].map(_RUNNING.index).to_numpy("int64"), sizes)
    begin, end = (np.clip(unfolded(work[name]), start_ns, end_ns) for name in ("begin_ns", "end_ns"))
    change = np.zeros((2 * len(kind), len(_RUNNING)), dtype=np.int64)
    change[np.arange(len(kind)), kind] = 1
    change[len(kind) :] = -change[: len(kind)]
    at = np.concatenate([begin, end])
    order = np.argsort(at, kind="stable")
    computing, moving, communicating, waiting = np.cumsum(change[order], axis=0)[:-1].T
    length = np.diff(at[order])
    # A wait lies inside a communication, of which it is the part that moves nothing.
    computes = computing > 0
    talks = ~computes & (moving == 0) & (communicating > waiting)
    waits = ~computes & (moving == 0) & (communicating > 0) & ~talks
    times = {
        "computing_ns": int(length[computes].sum()),
        "transferring_ns": int(length[(~computes & (moving > 0)) | talks].sum()),
        "waiting_ns": int(length[waits].sum()),
    }
    busy = sum(times.values())
    return {
        "busy_ns": busy,
        "busy_share": busy / (end_ns - start_ns),
        "count": int((kind != _RUNNING.index(_WAIT)).sum()),
        **times,
        "communicating_ns": int(length[talks].sum()),
    }
