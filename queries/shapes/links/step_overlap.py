"""How much of their communication the steps of each rank hide behind computing, by unions of intervals."""

import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.peak.missing_inputs import WAITS_INSIDE
from tracegraph.queries.shapes.peak.step_windows import step_windows
from tracegraph.queries.shapes.peak.time_sums import Ints, Union, unfolded
from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION

OVERLAP_COLUMNS = (
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("step", "INTEGER", True, "number of the step, null for the whole window where there are no steps"),
    Column("step_ns", "INTEGER", False, "length of the step's window, its GPU work included, ns"),
    Column("computing_ns", "INTEGER", False, "time in which computation runs, overlaps counted once, ns"),
    Column("communication_ns", "INTEGER", False, "time in which communication runs, counted once, ns"),
    Column("overlap_ns", "INTEGER", False, "time in which both run, ns"),
    Column(
        "overlap_efficiency",
        "FLOAT",
        True,
        "overlap as a share of the shorter of both, the most there can be, 0..1; null where one is missing",
    ),
    Column("hidden_share", "FLOAT", True, "overlap as a share of the communication, 0..1"),
    Column("exposed_ns", "INTEGER", False, "how much of the communication no computation hides, ns"),
    Column(
        "lacks", "STRING", True, "what must be known to read it: of one file of several, waits for others"
    ),
)
"""Columns of `step_overlap`."""


def step_overlap(
    values: Values, work: pd.DataFrame, steps: pd.DataFrame, files: pd.DataFrame
) -> pd.DataFrame:
    """Measure the overlap in the window of each step, from the rows of `busy_stretches`, `steps`, `traces`.

    The efficiency is not derived from the length of the step, as 1 - (T - max) / (sum - max): where GPUs are
    idle that is negative.
    """
    rows = []
    for rank, own in step_windows(values, steps, work["rank"]).groupby("rank"):
        start, end = (own[name].to_numpy("int64") for name in ("start_ns", "end_ns"))
        mine = work[work["rank"].eq(rank)]
        computing, talking = (_union(mine, what) for what in (COMPUTATION, COMMUNICATION))
        either = computing.joined(talking.begin, talking.end).inside(start, end)
        computes, talks = computing.inside(start, end), talking.inside(start, end)
        rows.append(_rows(own, computes, talks, computes + talks - either))
    if not rows:
        return pd.DataFrame(columns=[column.name for column in OVERLAP_COLUMNS])
    found = pd.concat(rows, ignore_index=True).assign(lacks=WAITS_INSIDE if len(files) == 1 else None)
    return found[found["communication_ns"] > 0].reset_index(drop=True)


def _union(work: pd.DataFrame, what: str) -> Union:
    rows = work[work["what"].eq(what)]
    return Union(unfolded(rows["begin_ns"]), unfolded(rows["end_ns"]))


def _rows(windows: pd.DataFrame, computes: Ints, talks: Ints, both: Ints) -> pd.DataFrame:
    found = pd.DataFrame(
        {
            "rank": windows["rank"].to_numpy(),
            "step": windows["step"].array,
            "step_ns": (windows["end_ns"] - windows["start_ns"]).to_numpy(),
            "computing_ns": computes,
            "communication_ns": talks,
            "overlap_ns": both,
            "exposed_ns": talks - both,
        }
    )
    shorter = found[["computing_ns", "communication_ns"]].min(axis=1)
    efficiency = (found["overlap_ns"] / shorter.where(shorter > 0)).astype("Float64")
    hidden = (found["overlap_ns"] / found["communication_ns"].where(talks > 0)).astype("Float64")
    return found.assign(overlap_efficiency=efficiency, hidden_share=hidden)
