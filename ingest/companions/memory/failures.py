"""Allocations that failed: what was asked for, what was there, and what could have been freed."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.companions.memory.lives import Lives
from tracegraph.ingest.companions.memory.stacks import UNKNOWN_STACK
from tracegraph.ingest.data_frames import whole_frame

_MORE, _LESS = ("segment_alloc", "segment_map"), ("segment_free", "segment_unmap")
COLUMNS = (
    "at_ns",
    "bytes",
    "device_free_bytes",
    "used_bytes",
    "cached_bytes",
    "largest_class",
    "largest_class_bytes",
    "file",
    "line",
    "function",
)


def failures_of(lives: Lives, running: pd.DataFrame, snapshot: Mapping[str, pa.Table]) -> pd.DataFrame:
    """Return the failed allocations of a device.

    Returns
    -------
    pandas.DataFrame
        at_ns; in bytes what was asked for, what the device had free (`device_free`), what blocks used then,
        and what the allocator held without use (`cached`: free, but in parts too small or split); the class
        that used most and how much; and file, line and function of who asked. `used` and the class are null
        before the first change that is known.
    """
    events = whole_frame(snapshot["events"])
    own = events[events["device"] == lives.device].reset_index(drop=True)
    segments = snapshot["segments"].to_pandas()
    sign = np.where(own["action"].isin(_MORE), 1, np.where(own["action"].isin(_LESS), -1, 0))
    grown = (own["bytes"].fillna(0) * sign).cumsum()
    at_end = int(segments.loc[segments["device"] == lives.device, "bytes"].sum())
    rows = [_row(one, running, lives) for one in lives.failed.to_dict("records")]
    found = pd.DataFrame(rows, columns=["at", *COLUMNS])
    last = grown.iloc[-1] if len(grown) else 0
    reserved = pd.Series([at_end - int(last - grown.iloc[place]) for place in found["at"]], dtype="Int64")
    return found.assign(cached_bytes=reserved - found["used_bytes"].astype("Int64"))[list(COLUMNS)]


def _row(failed: Mapping[Hashable, Any], running: pd.DataFrame, lives: Lives) -> dict[str, object]:
    place = int(failed["at"])
    before = running.loc[:place].drop(columns="at_ns")
    stack = UNKNOWN_STACK if pd.isna(failed["stack"]) else lives.stacks[int(failed["stack"])]
    told = {
        "at": place,
        "at_ns": failed["at_ns"],
        "bytes": failed["bytes"],
        "device_free_bytes": failed["free_bytes"],
        "file": stack.file,
        "line": stack.line,
        "function": stack.function,
    }
    if before.empty:
        return told
    level = before.iloc[-1]
    return {
        **told,
        "used_bytes": int(level.sum()),
        "largest_class": str(level.idxmax()),
        "largest_class_bytes": int(level.max()),
    }
