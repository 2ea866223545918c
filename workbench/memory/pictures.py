"""Pictures of memory that stand beside its tables: the peak by source, and the allocator's segments."""

from collections.abc import Iterator
from pathlib import PurePath

import pandas as pd

from tracegraph.base.units import format_bytes
from tracegraph.ingest.companions.memory.pools import ALL
from tracegraph.vocabulary.memory import (
    ACTIVATION,
    AUTOGRAD,
    CACHED_WHOLE,
    FROM_BEFORE,
    GRADIENT,
    IN_OPTIMIZER,
    INPUT,
    MEMORY_CLASSES,
    OPTIMIZER_STATE,
    PARAMETER,
    PENDING,
    SPLIT_FREE,
    TEMPORARY,
)
from tracegraph.workbench.memory.allocator import NOT_RECORDED, places
from tracegraph.workbench.sections.blocks import Block, Column, Plot
from tracegraph.workbench.text.text import plural

_COLOURS = {
    PARAMETER: "#4878a8",
    OPTIMIZER_STATE: "#7a6fd0",
    GRADIENT: "#b0578d",
    ACTIVATION: "#e8871e",
    AUTOGRAD: "#d9a441",
    TEMPORARY: "#2f9e8f",
    INPUT: "#8a6d3b",
    IN_OPTIMIZER: "#c94f4f",
    FROM_BEFORE: "#9aa3ad",
}
_OTHER_COLOUR = "#7d8590"
CLASS_COLOURS = {name: _COLOURS.get(name, _OTHER_COLOUR) for name in MEMORY_CLASSES}
"""The colour of each class, in the order in which pictures stack them."""
# Both kinds of free memory have one hue; what cannot be given back has the stronger one.
_PART_COLOURS = {**CLASS_COLOURS, PENDING: "#c77dd6", SPLIT_FREE: "#6fae2e", CACHED_WHOLE: "#b9d89a"}
_IN_BACKWARD = "autograd's backward"


def source_tree(rows: pd.DataFrame) -> Iterator[Block]:
    """Draw the peak by class, file and line, in the columns of `Recording.sources`."""
    if rows.empty:
        return
    named = rows.assign(_place=places(rows))
    named["_file"] = [_file(file, place) for file, place in zip(named["file"], named["_place"], strict=True)]
    yield Plot(
        "What fills the memory of the peak, by class, file and line",
        named,
        "tree",
        Column("_place", "allocated at"),
        Column("bytes", "memory", "bytes"),
        colour="class",
        colours=CLASS_COLOURS,
        told=(Column("blocks", "blocks", "count"), Column("module", "inside calls of modules")),
        within=("class", "_file"),
        note="An area is as large as the bytes that its line, file or class holds.",
    )


def segment_picture(rows: pd.DataFrame, pools: pd.DataFrame) -> Iterator[Block]:
    """Draw the largest segments with what lies in them, as `segment_parts` has it; `pools`: of all."""
    if rows.empty or pools.empty:
        return
    told = zip(rows["segment"], rows["pool"], rows["segment_bytes"], strict=True)
    named = rows.assign(
        _segment=[f"{number + 1}, {pool}, {format_bytes(int(size))}" for number, pool, size in told],
        _part=rows["class"].where(rows["class"].notna() & (rows["state"] != PENDING), rows["state"]),
    )
    yield Plot(
        "Segments of the allocator at the end, and what lies in them",
        named,
        "stretches",
        Column("_segment", "segment"),
        Column("bytes", "memory", "bytes"),
        colour="_part",
        colours=_PART_COLOURS,
        told=(Column("blocks", "blocks", "count"), Column("begin_bytes", "begins at", "bytes")),
        across=True,
        begin="begin_bytes",
        note=_segment_note(rows, pools),
    )


def _segment_note(rows: pd.DataFrame, pools: pd.DataFrame) -> str:
    whole = pools[pools["pool"] == ALL].iloc[0]
    drawn = rows.drop_duplicates("segment")
    left = int(whole["segments"]) - len(drawn)
    note = "A row is a segment that the allocator took from the device, the largest first."
    if left <= 0:
        return note
    rest = format_bytes(int(whole["reserved_bytes"]) - int(drawn["segment_bytes"].sum()))
    return f"{note} Not drawn: {plural(left, 'other segment')}, together {rest}."


def _file(file: object, place: str) -> str:
    """Name the file of a place; below autograd's engine there is none."""
    if isinstance(file, str):
        return PurePath(file).name
    return place if place == NOT_RECORDED else _IN_BACKWARD
