"""When rows of a path lie in their file: before the corrections of its GPU's and of its rank's clock."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import pandas as pd
from msgspec import Raw

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.workbench.findings.findings import Source

_ROUNDED_NS = 2
"""By how many ns an undone correction may miss the time as written, due to rounding."""


def on_file_clock(
    path: pd.DataFrame, streams: Sequence[int], source: Source, events: memoryview
) -> pd.DataFrame:
    """Return the rows of one rank with those on `streams` (lanes) at the file's own times.

    `events` is the text of the file's list of events. Times of a whole event are those written at its
    `source_index`; gaps, and events that a window cuts, have the corrections taken back.
    """
    of_rank, of_gpu = _corrections(source)
    on_gpu = path["lane"].isin(streams).to_numpy(dtype=bool)
    moved = np.full(len(path), of_rank.moves) | (on_gpu & of_gpu.moves)
    if not moved.any():
        return path
    # Imported here: the counters of a report need only what follows, and this imports all readers.
    from tracegraph.ingest.readers.chrome_text import written_span  # noqa: PLC0415

    start, end = (
        times_on_file_clock(path[name].to_numpy(np.int64), on_gpu, source) for name in ("start_ns", "end_ns")
    )
    rows = np.flatnonzero(moved & path["source_index"].notna().to_numpy(dtype=bool))
    texts = msgspec.json.decode(events, type=list[Raw])
    for row, index in zip(
        rows.tolist(), path["source_index"].iloc[rows].astype("int64").tolist(), strict=True
    ):
        written = written_span(texts[index]) if index < len(texts) else None
        if written is not None:
            start[row], end[row] = _snap(int(start[row]), written[0]), _snap(int(end[row]), written[1])
    return path.assign(start_ns=start, end_ns=end)


def times_on_file_clock(times: Ints, on_gpu: Flags, source: Source) -> Ints:
    """Undo the corrections of times of a rank, to 2 ns; `on_gpu` marks those of GPU rows."""
    of_rank, of_gpu = _corrections(source)
    found = of_rank.taken_back(times)
    return np.where(on_gpu, of_gpu.taken_back(found), found)


def _corrections(source: Source) -> tuple["_Correction", "_Correction"]:
    """Return the correction of all rows of a rank, and the earlier one of the rows of its GPUs."""
    of_rank = _Correction(source.rank_offset_ns, source.rank_drift_ppb, source.window_start_ns)
    since = int(of_rank.taken_back(np.array([source.window_start_ns]))[0])
    return of_rank, _Correction(source.clock_offset_ns, source.clock_drift_ppb, since)


@dataclass(frozen=True)
class _Correction:
    """A correction of times: an offset at `since_ns`, and a drift from then on."""

    offset_ns: int
    drift_ppb: int
    since_ns: int

    @property
    def moves(self) -> bool:
        return bool(self.offset_ns or self.drift_ppb)

    def taken_back(self, times: Ints) -> Ints:
        if not self.moves:
            return times
        since = times - self.offset_ns - self.since_ns
        found: Ints = self.since_ns + np.rint(since / (1 + self.drift_ppb * 1e-9)).astype(np.int64)
        return found


def _snap(time: int, written: int) -> int:
    return written if abs(time - written) <= _ROUNDED_NS else time
