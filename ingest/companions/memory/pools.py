"""What the allocator holds at the end of a snapshot: used, lost to rounding, cached whole, and split."""

from collections.abc import Mapping

import pandas as pd
import pyarrow as pa

from tracegraph.vocabulary.memory import UNKNOWN

ALL = "all"
"""The pool of all segments of a device together."""
COLUMNS = (
    "device",
    "pool",
    "segments",
    "reserved_bytes",
    "allocated_bytes",
    "pending_bytes",
    "requested_bytes",
    "rounding_bytes",
    "free_segment_bytes",
    "split_free_bytes",
    "largest_free_bytes",
    "unused_share",
    "fragmentation",
    "expandable",
)
_ALLOCATED, _FREE = "active_allocated", "inactive"


def memory_pools(snapshot: Mapping[str, pa.Table]) -> pd.DataFrame:
    """Sum up the segments of each device, by the allocator's pools and together.

    Returns
    -------
    pandas.DataFrame
        In bytes: `reserved` by the allocator; of it `allocated`, and `pending`, which is freed as soon as a
        stream is done with it; `requested`, what the program asked for of both, and `rounding`, what the
        allocator added; `free_segment`, segments without any block in use, which it can give back; and
        `split_free`, free parts beside blocks in use, which it cannot; `largest_free` block. Then
        `unused_share` = 1 - allocated / reserved, most of which is only cached, and `fragmentation` =
        split_free / reserved. `expandable`: some segments can grow, as `expandable_segments:True` makes them.
    """
    segments, blocks = snapshot["segments"].to_pandas(), snapshot["blocks"].to_pandas()
    known = blocks.merge(segments[["segment"]], on="segment")
    size = known["bytes"]
    free, allocated = known["state"] == _FREE, known["state"] == _ALLOCATED
    parts = pd.DataFrame(
        {
            "segment": known["segment"],
            "allocated_bytes": size.where(allocated, 0),
            "pending_bytes": size.where(~free & ~allocated, 0),
            "requested_bytes": known["requested"].where(~free, 0),
            "free_bytes": size.where(free, 0),
        }
    )
    sums = parts.groupby("segment").sum().reindex(segments["segment"], fill_value=0).reset_index()
    largest = size.where(free, 0).groupby(known["segment"]).max()
    told = segments[["segment", "device", "pool", "bytes"]].merge(sums, on="segment")
    used = told["allocated_bytes"] + told["pending_bytes"] > 0
    told = told.assign(
        pool=told["pool"].fillna(UNKNOWN),
        reserved_bytes=told["bytes"],
        free_segment_bytes=told["bytes"].where(~used, 0),
        split_free_bytes=told["free_bytes"].where(used, 0),
        largest_free_bytes=told["segment"].map(largest).fillna(0).astype("int64"),
        segments=1,
    )
    told["expandable"] = segments["expandable"].fillna(False).astype(bool)
    both = pd.concat([told, told.assign(pool=ALL)])
    most = both.groupby(["device", "pool"])["largest_free_bytes"].max()
    rows = both.groupby(["device", "pool"]).sum(numeric_only=True).assign(largest_free_bytes=most)
    rows["rounding_bytes"] = rows["allocated_bytes"] + rows["pending_bytes"] - rows["requested_bytes"]
    rows["unused_share"] = 1 - rows["allocated_bytes"] / rows["reserved_bytes"]
    rows["expandable"] = both.groupby(["device", "pool"])["expandable"].any()
    rows["fragmentation"] = rows["split_free_bytes"] / rows["reserved_bytes"]
    told = rows.reset_index()
    return pd.DataFrame({name: told[name] for name in COLUMNS})
