"""From the entries as stated to the table of usable events; the others are dropped and counted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.kineto.begin_end import match_pairs
from tracegraph.ingest.readers.kineto.duration_columns import Durations
from tracegraph.ingest.readers.usable_rows import find_unusable
from tracegraph.ingest.trace import EVENT_NUMBERS, EVENT_SCHEMA, table_in
from tracegraph.vocabulary.categories import GPU_WORK, ON_DEVICE, SPAN, TODAYS_SPELLING, spellings_of

ALL_STREAMS = 2**32 - 1
"""The number of a stream that stands for all streams: -1 as Kineto writes it, without a sign."""

_FOUND_HERE = ("source_index", "start_ns", "end_ns", "device", "stream")
_NUMBERS = tuple(name for name in EVENT_NUMBERS if name not in _FOUND_HERE)


def close_frames(
    start: Ints, end: Ints, process: Ints, frame: tuple[Ints, Flags], outer: tuple[Ints, Flags]
) -> Ints:
    """Find the ends of all events (ns), earlier for frames that end when the last of all frames ends.

    Such a frame returned before its caller did, and before the next frame with the same caller began.

    Parameters
    ----------
    process
        A number for the process of each event.
    frame, outer
        The number of each frame and of its caller, and where they are known. Numbers only mean something
        within one process.
    """
    framed = np.flatnonzero(frame[1])
    if not len(framed):
        return end
    last = end[framed].max()
    open_ones = framed[(end[framed] == last) & outer[1][framed]]
    open_ones = open_ones[np.argsort(start[open_ones], kind="stable")]
    wanted = outer[0][open_ones]
    following = _next_of_caller(
        start, process, outer[0], framed[outer[1][framed] & np.isin(outer[0][framed], wanted)]
    )
    callers = framed[np.isin(frame[0][framed], wanted)]
    keys = zip(process[callers].tolist(), frame[0][callers].tolist(), strict=True)
    caller_of = dict(zip(keys, callers.tolist(), strict=True))
    end = end.copy()
    for row in open_ones.tolist():
        caller = caller_of.get((int(process[row]), int(outer[0][row])), -1)
        until = int(end[caller]) if caller >= 0 and start[caller] <= start[row] else int(last)
        end[row] = max(int(start[row]), min(until, following.get(row, until)))
    return end


def _next_of_caller(start: Ints, process: Ints, outer: Ints, rows: Ints) -> dict[int, int]:
    """Find the start of the next frame with the same caller, by row."""
    order = rows[np.lexsort((start[rows], outer[rows], process[rows]))]
    same = (outer[order][1:] == outer[order][:-1]) & (process[order][1:] == process[order][:-1])
    return dict(zip(order[:-1][same].tolist(), start[order][1:][same].tolist(), strict=True))


def build_events(durations: Durations, integrity: Integrity) -> pa.Table:
    """Make a table in EVENT_SCHEMA of the entries that have a usable time, duration and place."""
    odd = durations.position[durations.odd_arguments]
    integrity.add_places("args_unusable", "events have args that are no object, read as none", odd)
    durations = _in_todays_spelling(_cut_texts(durations, integrity), integrity)
    durations, keep = match_pairs(durations, integrity)
    device, stream = _place_on_device(durations, integrity)
    keep = _drop_unusable(durations, keep & ~durations.category.among(SPAN), stream[1], integrity)
    rows = np.flatnonzero(keep)
    _note_absent(durations, rows, integrity)
    _note_frames(durations, rows, integrity)
    start = durations.start[rows]
    end = _close_frames(durations, rows, integrity)
    numbers = {"device": device, "stream": stream, **{name: durations.numbers[name] for name in _NUMBERS}}
    nothing = pa.nulls(len(rows), pa.int64())  # columns in which nothing is known share their memory
    columns: dict[str, pa.Array[Any]] = {
        "source_index": pa.array(durations.position[rows]),
        "name": durations.name.filled("").take(rows).arrow(),
        "category": durations.category.filled("").take(rows).arrow(),
        "pid": durations.pid.filled("").take(rows).arrow(),
        "tid": durations.tid.filled("").take(rows).arrow(),
        "start_ns": pa.array(start),
        "end_ns": pa.array(end),
        **{name: _nullable(column, rows, nothing) for name, column in numbers.items()},
        **{name: texts.take(rows).arrow() for name, texts in durations.texts.items()},
    }
    return table_in(EVENT_SCHEMA, columns)


def _cut_texts(durations: Durations, integrity: Integrity) -> Durations:
    """Cut each text to the limit."""
    longest = integrity.limits.text
    fields = {name: getattr(durations, name) for name in ("name", "category", "pid", "tid")}
    cut = np.zeros(len(durations.position), dtype=bool)
    for texts in (fields, others := dict(durations.texts)):
        for name, column in texts.items():
            texts[name], is_cut = column.cut(longest)
            cut |= is_cut
    what = f"events have a text of over {longest:,} characters, which is cut there"
    integrity.add_places("text_truncated", what, durations.position[cut])
    return replace(durations, **fields, texts=others)


def _in_todays_spelling(durations: Durations, integrity: Integrity) -> Durations:
    old = int(durations.category.among(*TODAYS_SPELLING).sum())
    integrity.add("category_old", old, "events have an old category (Operator, Kernel, …), read as today's")
    return replace(durations, category=durations.category.renamed(TODAYS_SPELLING))


def _drop_unusable(durations: Durations, keep: Flags, on_stream: Flags, integrity: Integrity) -> Flags:
    """Remove unusable entries from `keep`, and count each under the first reason that holds."""
    placed = ~durations.tid.among(None) | on_stream
    start, dur = (durations.start, durations.has_start), (durations.dur, durations.has_dur)
    for found in find_unusable(start, dur, placed, keep):
        integrity.add_places(found.code, found.what, durations.position[found.rows], found.share)
        keep = keep & ~found.rows
    return keep


def _note_absent(durations: Durations, rows: Ints, integrity: Integrity) -> None:
    for code, texts, what in (
        ("name_missing", durations.name, "have no name and are kept without one"),
        ("process_missing", durations.pid, "have no pid and are kept without one"),
    ):
        absent = texts.among(None)[rows]
        integrity.add_places(code, f"events {what}", durations.position[rows][absent])


def _note_frames(durations: Durations, rows: Ints, integrity: Integrity) -> None:
    """Record Python frames whose caller is not in the file."""
    frame, is_frame = durations.frames
    outer, has_outer = durations.outer_frames
    here = frame[rows][is_frame[rows]]
    inner = rows[has_outer[rows]]
    lost = inner[~np.isin(outer[inner], here)]
    what = "events of Python frames name a calling frame that is not in the file"
    integrity.add_places("frame_without_caller", what, durations.position[lost])


def _close_frames(durations: Durations, rows: Ints, integrity: Integrity) -> Ints:
    """Find the ends of the rows, as `close_frames` does, and record the frames that it closes."""
    start = durations.start[rows]
    written = start + durations.dur[rows]
    frame, outer = (
        (numbers[rows], known[rows]) for numbers, known in (durations.frames, durations.outer_frames)
    )
    process = durations.pid.codes[rows].astype(np.int64)
    end = close_frames(start, written, process, frame, outer)
    open_ones = durations.position[rows][end < written]
    what = "events of Python frames end with the recording although their callers went on"
    integrity.add_places("frame_not_closed", f"{what}; they are closed there", open_ones)
    return end


def _place_on_device(
    durations: Durations, integrity: Integrity
) -> tuple[tuple[Ints, Flags], tuple[Ints, Flags]]:
    """Find device and stream of rows on a GPU from the arguments, else from pid and tid."""
    device, has_device = durations.numbers["device"]
    stream, has_stream = durations.numbers["stream"]
    stream = np.where(has_stream & (stream == ALL_STREAMS), -1, stream)
    on_device = durations.category.among(*spellings_of(*ON_DEVICE))
    pid_number, pid_known = durations.pid.numbers()
    tid_number, tid_known = durations.tid.numbers()
    from_pid = on_device & ~has_device & pid_known
    from_tid = on_device & ~has_stream & tid_known
    work = durations.category.among(*spellings_of(*GPU_WORK))
    positions = durations.position[from_tid & work]
    what = "events of GPU work name no stream: tid is taken"
    integrity.add_places("stream_from_tid", what, positions)
    return (
        (np.where(from_pid, pid_number, device), has_device | from_pid),
        (np.where(from_tid, tid_number, stream), has_stream | from_tid),
    )


def _nullable(column: tuple[Ints, Flags], rows: Ints, nothing: "pa.Array[Any]") -> "pa.Array[Any]":
    values, known = column
    return pa.array(values[rows], mask=~known[rows]) if known.any() else nothing
