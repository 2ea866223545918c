"""What a recording of memory shows: the peak, its classes and sources, the allocator, failures and fixes."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import pandas as pd

from tracegraph.base.units import format_bytes
from tracegraph.queries.shapes.frame_rows import records
from tracegraph.vocabulary.memory import TRACE
from tracegraph.workbench.memory.allocator import failure_blocks, places, pool_blocks
from tracegraph.workbench.memory.notes import class_note, label_blocks, missing_modules, place_of_peak
from tracegraph.workbench.memory.pictures import CLASS_COLOURS, segment_picture, source_tree
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table, Words
from tracegraph.workbench.text.text import format_ns, format_share

if TYPE_CHECKING:
    from tracegraph.ingest.companions.memory.fixes import MemoryFix
    from tracegraph.ingest.companions.memory.recording import Recording

Fixed = tuple["Recording", Sequence["MemoryFix"]]
"""A recording, and what lowers its peak."""
_MOST_SOURCES, _MOST_DRAWN = 20, 15
_CLASSES = (
    Column("class", "class"),
    Column("bytes", "bytes", "bytes"),
    Column("share", "of the peak", "share"),
    Column("blocks", "blocks", "count"),
    Column("evidence", "evidence", roomy=True),
    Column("_told", "how that is known"),
)
_SOURCES = (
    Column("class", "class"),
    Column("_place", "allocated at"),
    Column("bytes", "bytes", "bytes"),
    Column("share", "of the peak", "share"),
    Column("blocks", "blocks", "count"),
    Column("module", "inside calls of modules", roomy=True),
)
_FIXES = (
    Column("what", "what to do", "prose"),
    Column("peak_bytes", "peak then", "bytes"),
    Column("saved_bytes", "saves", "bytes"),
    Column("_costs", "what it costs", "prose"),
)


def of_recording(rows: pd.DataFrame | None, recording: str, device: Any) -> pd.DataFrame:
    """Keep the rows of a query that are about one device in one recording; none where nothing was asked."""
    if rows is None or rows.empty:
        return pd.DataFrame()
    same = rows["device"].isna() if pd.isna(device) else rows["device"] == device
    return rows[(rows["recording"] == recording) & same].reset_index(drop=True)


def memory_title(recording: "Recording") -> str:
    """Name the recording: its file, and its device where that is known."""
    unknown = ", CPU" if recording.kind == TRACE else ""
    device = unknown if recording.device is None else f", device {recording.device}"
    return f"Memory: {PurePath(recording.path).name}{device}"


def memory_blocks(recording: "Recording", fixes: "Sequence[MemoryFix]") -> list[Block]:
    """Make the words, tables and pictures of one recording and of what lowers its peak."""
    return [
        Words(_peak(recording)),
        *failure_blocks(recording.failed),
        *level_blocks(recording.over_time, recording.peak.bytes, recording.phases()),
        *class_blocks(recording.classes()),
        *source_blocks(recording.sources()),
        *label_blocks(recording),
        *pool_blocks(recording.pools),
        *segment_picture(recording.segments, recording.pools),
        *_fix_blocks(fixes),
        *missing_modules(recording),
    ]


def memory_row(recording: "Recording", fixes: "Sequence[MemoryFix]") -> dict[str, object]:
    """Return all numbers in the form that JSON can hold."""
    return {
        "file": recording.path,
        "sha256": recording.sha256,
        "kind": recording.kind,
        "device": recording.device,
        "peak": {**asdict(recording.peak), "step": recording.peak_step, "phase": recording.peak_phase},
        "classes": records(recording.classes()),
        "sources": records(recording.sources()),
        "labels": records(recording.labels),
        "pools": records(recording.pools),
        "segments": records(recording.segments),
        "failed": records(recording.failed),
        "fixes": [asdict(fix) for fix in fixes],
    }


def _peak(recording: "Recording") -> str:
    peak, first = recording.peak, recording.classes().iloc[0]
    when = "before the recording begins"
    known = recording.running["at_ns"].dropna()
    if peak.at_ns is not None:
        when = f"{format_ns(peak.at_ns - int(known.iloc[0]))} after the recording begins"
        when += place_of_peak(recording)
    return (
        f"Most memory is in use {when}: {format_bytes(peak.bytes)}, of which {first['class']} is "
        f"{format_share(float(first['share']))}. {class_note(recording)}"
    )


def class_blocks(rows: pd.DataFrame) -> Iterator[Block]:
    """Show what classes hold at the peak, in the columns of `Recording.classes`."""
    sure = [f" ({format_share(one)} sure)" if 0 < one < 1 else "" for one in rows["confidence"]]
    told = rows.assign(_told=rows["told_by"] + sure)
    yield Table(told, _CLASSES, "What fills the memory at its peak:")


def level_blocks(
    rows: pd.DataFrame, peak_bytes: int, phases: Sequence[tuple[str, int, int]] = ()
) -> Iterator[Block]:
    """Draw the level of each class over time, in the columns of `Recording.over_time`.

    `phases`: names, starts and ends of what is marked in it, ns.
    """
    if rows.empty:
        return
    first, last = int(rows["at_ns"].min()), int(rows["at_ns"].max())
    drawn = rows.assign(_after_ns=rows["at_ns"] - first)
    yield Plot(
        "Memory over time by class",
        drawn,
        "areas",
        Column("_after_ns", "time", "duration"),
        Column("bytes", "memory", "bytes"),
        colour="class",
        colours=CLASS_COLOURS,
        marks={"peak": peak_bytes},
        spans=[
            (name, max(start, first) - first, min(end, last) - first)
            for name, start, end in phases
            if start < last and end > first
        ],
        note="Classes are stacked. Of neighbouring changes the one with most memory is drawn.",
    )


def source_blocks(rows: pd.DataFrame) -> Iterator[Block]:
    """Show where the memory of the peak was allocated, in the columns of `Recording.sources`."""
    if rows.empty:
        yield Words(
            "The file has no call stacks: where memory was allocated is unknown. A snapshot has them."
        )
        return
    yield from source_tree(rows)
    named = rows.assign(_place=places(rows))
    yield Plot(
        "Memory of the peak by where it was allocated",
        named[named["_place"].isin(named["_place"].drop_duplicates().head(_MOST_DRAWN))],
        "bars",
        Column("_place", "allocated at"),
        Column("bytes", "memory", "bytes"),
        colour="class",
        colours=CLASS_COLOURS,
        told=(Column("module", "inside calls of modules"),),
        across=True,
    )
    yield Table(named.head(_MOST_SOURCES), _SOURCES, "Where it was allocated, the user's own line:")


def _fix_blocks(fixes: "Sequence[MemoryFix]") -> Iterator[Block]:
    if not fixes:
        yield Words("No known fix lowers the peak.")
        return
    rows = pd.DataFrame([{**asdict(fix), "_costs": _costs(fix)} for fix in fixes])
    yield Table(rows, _FIXES, "What lowers the peak, by a replay of the recording, each fix alone:")


def _costs(fix: "MemoryFix") -> str:
    return fix.costs if fix.time_ns is None else f"{fix.costs}: {format_ns(fix.time_ns)} of the host's time"


def page_sections(found: Sequence[Fixed]) -> list[tuple[str, list[Block]]]:
    """Return a title and the blocks of each recording."""
    return [(memory_title(one), memory_blocks(one, fixes)) for one, fixes in found]
