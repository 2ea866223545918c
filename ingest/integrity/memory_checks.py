"""Findings about memory rows: totals that their sizes do not explain, and rows without totals."""

import pandas as pd
import pyarrow as pa

from tracegraph.ingest.findings import Integrity

_COLUMNS = ["source_index", "device_type", "device", "bytes", "allocated"]


def check_memory(memory: pa.Table, integrity: Integrity) -> None:
    """Record what of a device's memory is not known, from a table in MEMORY_SCHEMA."""
    rows = memory.select(_COLUMNS).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    before = rows.groupby(["device_type", "device"])["allocated"].shift()
    jumps = rows["source_index"][(rows["allocated"] - before - rows["bytes"]).fillna(0).ne(0)]
    what = "memory rows state a total that is not the one before with their size: rows are missing"
    integrity.add_places("memory_total_jumps", "warning", what, jumps.tolist())
    without = int(rows["allocated"].isna().sum())
    message = "memory rows state no totals: what was allocated before the recording is unknown"
    integrity.add("memory_without_totals", "info", without, message)
