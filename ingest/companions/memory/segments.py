"""The segments of the CUDA allocator at the end of a snapshot, each as parts that follow each other."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.data_frames import whole_frame
from tracegraph.vocabulary.memory import CACHED_WHOLE, IN_USE, PENDING, SPLIT_FREE, UNKNOWN

MOST_SEGMENTS = 60
"""How many segments are told, the largest. Chosen by eye, as many rows as a picture of them can show."""
MOST_PARTS = 20_000
"""How many parts of segments are told. It bounds the page, which holds all of them."""
COLUMNS = ("segment", "segment_bytes", "pool", "begin_bytes", "bytes", "state", "class", "blocks")
_STATES = {"active_allocated": IN_USE, "inactive": SPLIT_FREE}


def segment_parts(
    snapshot: Mapping[str, pa.Table], device: int | None, lasting: pd.DataFrame
) -> pd.DataFrame:
    """Return what lies in the largest segments of a device, in the order of addresses.

    Parameters
    ----------
    snapshot
        Its tables.
    device
        The index of the device.
    lasting
        address and class of the blocks that are in use at the end.

    Returns
    -------
    pandas.DataFrame
        segment (0 for the largest), segment_bytes, pool; of each part begin_bytes from the segment's start,
        bytes, state (`vocabulary.memory`), class (null where it is not in use) and blocks: neighbours of one
        state and class are one part.
    """
    segments, blocks = (whole_frame(snapshot[name]) for name in ("segments", "blocks"))
    own = segments[segments["device"] == device].sort_values(
        ["bytes", "segment"], ascending=[False, True], kind="stable"
    )
    chosen = own.head(MOST_SEGMENTS).reset_index(drop=True)
    place = pd.Series(chosen.index, index=chosen["segment"])
    found = blocks[blocks["segment"].isin(place.index) & (blocks["bytes"] > 0)]
    found = found.assign(place=found["segment"].map(place)).sort_values("place", kind="stable")
    if found.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    row = found["place"].to_numpy(dtype=np.int64)
    state = found["state"].map(_STATES).fillna(PENDING)
    in_use = (state != SPLIT_FREE).to_numpy()
    any_used = np.bincount(row, weights=in_use, minlength=len(chosen)) > 0
    state = state.mask(~any_used[row], CACHED_WHOLE)
    classes = lasting.dropna(subset="address").drop_duplicates("address", keep="last")
    told = found["address"].map(classes.set_index("address")["class"])
    size = found["bytes"].astype("int64")
    # Blocks fill their segment: without addresses, which old versions do not state, they follow each other.
    parts = pd.DataFrame(
        {
            "segment": row,
            "begin_bytes": size.groupby(row).cumsum() - size,
            "bytes": size,
            "state": state.astype(object),
            "class": told.astype(object).where(told.notna(), UNKNOWN).where(in_use, None),
        }
    )
    joined = _neighbours_joined(parts.reset_index(drop=True))
    of = joined["segment"].to_numpy()
    joined["segment_bytes"] = chosen["bytes"].astype("int64").to_numpy()[of]
    joined["pool"] = chosen["pool"].fillna(UNKNOWN).to_numpy(dtype=object)[of]
    return joined[list(COLUMNS)].head(MOST_PARTS)


def _neighbours_joined(parts: pd.DataFrame) -> pd.DataFrame:
    same = ["segment", "state", "class"]
    changes = parts[same].ne(parts[same].shift()) & ~(parts[same].isna() & parts[same].shift().isna())
    number = changes.any(axis=1).cumsum()
    return parts.groupby(number, as_index=False).agg(
        segment=("segment", "first"),
        begin_bytes=("begin_bytes", "first"),
        bytes=("bytes", "sum"),
        state=("state", "first"),
        **{"class": ("class", "first")},
        blocks=("bytes", "count"),
    )
