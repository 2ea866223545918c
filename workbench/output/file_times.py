"""When GPU rows of a path stand in the file: before the correction of the GPU's clock."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pandas as pd
from msgspec import Raw

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.readers.chrome_text import written_span
from tracegraph.workbench.report.findings import Source

_ROUNDED_NS = 2
"""By how much a correction taken back may miss the time as written."""


def on_file_clock(
    path: pd.DataFrame, streams: Sequence[int], source: Source, events: memoryview
) -> pd.DataFrame:
    """Return the rows of one rank with those on `streams` (lanes) at the file's own times.

    `events` is the text of the file's list of events. Times of a whole event are those written at its
    `source_index`; gaps, and events that a window cuts, have the correction taken back.
    """
    if not source.clock_offset_ns and not source.clock_drift_ppb:
        return path
    moved = path["lane"].isin(streams).to_numpy(dtype=bool)
    start, end = (path[name].to_numpy(dtype=np.int64, copy=True) for name in ("start_ns", "end_ns"))
    start[moved], end[moved] = _taken_back(start[moved], source), _taken_back(end[moved], source)
    rows = np.flatnonzero(moved & path["source_index"].notna().to_numpy(dtype=bool))
    texts = msgspec.json.decode(events, type=list[Raw])
    for row, index in zip(
        rows.tolist(), path["source_index"].iloc[rows].astype("int64").tolist(), strict=True
    ):
        written = written_span(texts[index]) if index < len(texts) else None
        if written is not None:
            start[row], end[row] = _snap(int(start[row]), written[0]), _snap(int(end[row]), written[1])
    return path.assign(start_ns=start, end_ns=end)


def _taken_back(times: Ints, source: Source) -> Ints:
    drift = source.clock_drift_ppb * 1e-9
    since = times - source.clock_offset_ns - source.window_start_ns
    found: Ints = source.window_start_ns + np.rint(since / (1 + drift)).astype(np.int64)
    return found


def _snap(time: int, written: int) -> int:
    return written if abs(time - written) <= _ROUNDED_NS else time
