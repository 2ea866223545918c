"""Which events the file's flows join, for what no id in their arguments joins."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.text_columns import read_texts
from tracegraph.ingest.trace import LAUNCH_FLOWS

_KEYS = ["pid", "tid", "ts"]
_ID = ["kind", "id"]
_BACKWARD_FLOWS = re.compile(r"fwdbwd|forward_backward")


def follow_launches(events: pa.Table, flows: pa.Table, causes: Sequence[Flags], wanted: Flags) -> Ints:
    """For each `wanted` GPU activity the event whose flow ends at its start, -1 for none and all others.

    `causes`: which events may be that, the first choice first.
    """
    found = np.full(events.num_rows, -1, dtype=np.int64)
    for allowed in causes:
        left = wanted & (found < 0)
        found = np.where(found < 0, _follow(events, flows, LAUNCH_FLOWS, allowed, left), found)
    return found


def follow_backward(events: pa.Table, flows: pa.Table, operators: Flags) -> Ints:
    """For each operator the forward operator whose flow ends at its start, -1 for none."""
    return _follow(events, flows, _BACKWARD_FLOWS, operators, operators)


def _follow(events: pa.Table, flows: pa.Table, kinds: re.Pattern[str], causes: Flags, effects: Flags) -> Ints:
    """The cause of each effect. An id that several causes share tells nothing, so it is left out before the
    ends are looked up: no table has more rows than there are flows."""
    found = np.full(events.num_rows, -1, dtype=np.int64)
    if not effects.any() or not causes.any() or not flows.num_rows:
        return found
    kind = read_texts(flows["kind"])
    meant = kind.matching(np.array([kinds.fullmatch(str(text)) is not None for text in kind.values]))
    frame = flows.filter(pa.array(meant)).to_pandas().rename(columns={"ts_ns": "ts"})
    frame[_ID] = frame[_ID].astype(str)
    begins = frame[frame["is_start"]].merge(_starts(events, causes), on=_KEYS)
    begins = begins.drop_duplicates([*_ID, "event"]).drop_duplicates(_ID, keep=False)
    ends = (
        frame[~frame["is_start"]].merge(_starts(events, effects), on=_KEYS).drop_duplicates([*_ID, "event"])
    )
    joined = ends.merge(begins, on=_ID, suffixes=("", "_of_cause"), validate="many_to_one")
    joined = joined[joined["event"] != joined["event_of_cause"]]
    # An effect that several ids join with different causes has none that is known.
    joined = joined.drop_duplicates(["event", "event_of_cause"]).drop_duplicates("event", keep=False)
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
