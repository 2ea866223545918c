"""What the allocator holds, the allocations that failed, and the places of allocations, as tables."""

from collections.abc import Iterator
from pathlib import PurePath

import pandas as pd

from tracegraph.base.units import format_bytes
from tracegraph.ingest.companions.memory.pools import ALL
from tracegraph.ingest.companions.memory.stacks import CALLED
from tracegraph.workbench.sections.blocks import Block, Column, Table
from tracegraph.workbench.text.text import format_share

NOT_RECORDED = "not recorded"
"""What stands for a place that no stack tells."""
_POOLS = (
    Column("pool", "pool"),
    Column("reserved_bytes", "reserved", "bytes"),
    Column("allocated_bytes", "allocated", "bytes"),
    Column("requested_bytes", "requested", "bytes"),
    Column("rounding_bytes", "rounding", "bytes", roomy=True),
    Column("free_segment_bytes", "cached whole", "bytes"),
    Column("split_free_bytes", "split free", "bytes"),
    Column("largest_free_bytes", "largest free", "bytes"),
)
_FAILED = (
    Column("bytes", "asked for", "bytes"),
    Column("device_free_bytes", "free on the device", "bytes"),
    Column("used_bytes", "in use", "bytes"),
    Column("cached_bytes", "cached", "bytes"),
    Column("largest_class", "most of it"),
    Column("largest_class_bytes", "bytes", "bytes"),
    Column("_place", "asked at"),
)


def places(rows: pd.DataFrame) -> list[str]:
    """Name file, line and function of each row, and the class of the innermost module where that is known."""
    modules = rows["module"] if "module" in rows else [None] * len(rows)
    columns = zip(rows["file"], rows["line"], rows["function"], modules, strict=True)
    return [_place(*one) for one in columns]


def _place(file: object, line: object, function: object, module: object) -> str:
    if not isinstance(function, str):
        return NOT_RECORDED
    place = f"{PurePath(file).name}:{line} {function}" if isinstance(file, str) else function
    innermost = module.rpartition(CALLED)[2] if isinstance(module, str) else ""
    # A snapshot has the lines that called modules instead.
    return f"{place} in {innermost}" if innermost and ":" not in innermost else place


def pool_blocks(rows: pd.DataFrame) -> Iterator[Block]:
    """Show what the allocator holds, in the columns of `memory_pools`."""
    if rows.empty:
        return
    whole = rows[rows["pool"] == ALL].iloc[0]
    note = (
        f"{format_share(float(whole['unused_share']))} of what is reserved is not allocated; most of that is "
        f"cached, and can be used again. Lost to fragmentation are the free parts of segments in use: "
        f"{format_share(float(whole['fragmentation']))}."
    )
    if whole["split_free_bytes"] and not whole["expandable"]:
        note += (
            f" PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets larger blocks use those "
            f"{format_bytes(int(whole['split_free_bytes']))}, too."
        )
    yield Table(rows, _POOLS, "What the allocator holds at the end:", note=note)


def failure_blocks(rows: pd.DataFrame) -> Iterator[Block]:
    """Show the allocations that failed, in the columns of `failures_of`."""
    if not rows.empty:
        yield Table(rows.assign(_place=places(rows)), _FAILED, "Allocations that failed for want of memory:")
