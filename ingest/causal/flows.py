"""Which events the file's flows join, for what no id in their arguments joins."""

import numpy as np
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints

_KEYS = ["pid", "tid", "ts"]
_LAUNCH_FLOWS = ("ac2g", "async", "async_cpu_to_gpu")
_BACKWARD_FLOWS = ("fwdbwd", "forward_backward")


def follow_launches(events: pa.Table, flows: pa.Table, calls: Flags, wanted: Flags) -> Ints:
    """For each `wanted` GPU activity the call whose flow ends at its start, -1 for none and all others."""
    return _follow(events, flows, _LAUNCH_FLOWS, calls, wanted)


def follow_backward(events: pa.Table, flows: pa.Table, operators: Flags) -> Ints:
    """For each operator the forward operator whose flow ends at its start, -1 for none."""
    return _follow(events, flows, _BACKWARD_FLOWS, operators, operators)


def _follow(events: pa.Table, flows: pa.Table, kinds: tuple[str, ...], causes: Flags, effects: Flags) -> Ints:
    found = np.full(events.num_rows, -1, dtype=np.int64)
    if not effects.any() or not flows.num_rows:
        return found
    frame = flows.to_pandas().rename(columns={"ts_ns": "ts"})
    frame = frame[frame["kind"].isin(kinds)]
    ends = frame[~frame["is_start"]].merge(_starts(events, effects), on=_KEYS)
    begins = frame[frame["is_start"]].merge(_starts(events, causes), on=_KEYS)
    joined = ends.merge(begins, on=["kind", "id"], suffixes=("", "_of_cause"))
    joined = joined[joined["event"] != joined["event_of_cause"]]
    # A flow id that several pairs share tells nothing.
    joined = joined.drop_duplicates("event", keep=False)
    found[joined["event"].to_numpy(np.int64)] = joined["event_of_cause"].to_numpy(np.int64)
    return found


def _starts(events: pa.Table, chosen: Flags) -> pd.DataFrame:
    """pid, tid, ts and index of the chosen events, of those that start together on a thread the longest."""
    index = np.flatnonzero(chosen)
    rows = events.select(["pid", "tid", "start_ns", "end_ns"]).take(index).to_pandas()
    rows = rows.rename(columns={"start_ns": "ts"}).assign(event=index)
    rows = rows.astype({"pid": object, "tid": object}).sort_values("end_ns", ascending=False, kind="stable")
    distinct: pd.DataFrame = rows.drop_duplicates(_KEYS).drop(columns="end_ns")
    return distinct
