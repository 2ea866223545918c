"""The picture of what fills the memory of a device, by a recording that was given with a run."""

from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import NamedTuple

import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.queries.answers import Answers
from tracegraph.workbench.memory.alignment import aligned_spans
from tracegraph.workbench.memory.content import level_blocks, of_recording
from tracegraph.workbench.memory.dot_plots import memory_dot
from tracegraph.workbench.memory.pictures import segment_picture, source_tree
from tracegraph.workbench.methods.picture_file import Picture
from tracegraph.workbench.sections.blocks import Block, Plot
from tracegraph.workbench.text.text import label

_TITLE_CELLS = 80
_Ask = Callable[[str], pd.DataFrame]
"""Returns the rows of a query about the run, or about the recording."""


class _Shown(NamedTuple):
    """A picture: its plot, and what a recording that has nothing of it lacks."""

    plot: Callable[[_Ask], Iterator[Block]]
    lacks: str


def _over_time(ask: _Ask) -> Iterator[Block]:
    peak_bytes = int(ask("memory_classes")["bytes"].sum())
    marked = aligned_spans(ask("memory_alignment"), ask("steps"), ask("phases"))
    return level_blocks(ask("memory_levels"), peak_bytes, marked)


def _sources(ask: _Ask) -> Iterator[Block]:
    return source_tree(ask("memory_sources"))


def _segments(ask: _Ask) -> Iterator[Block]:
    return segment_picture(ask("memory_segments"), ask("memory_pools"))


SHOWN = {
    "over-time": _Shown(_over_time, "has no change of memory with a time"),
    "sources": _Shown(_sources, "has no call stacks, so that where memory was allocated is unknown"),
    "segments": _Shown(_segments, "has no segments of the CUDA allocator, which a snapshot has"),
}
"""What can be drawn of a recording, by name."""


def memory(
    answers: Answers,
    run: str,
    show: str = "over-time",
    /,
    *,
    recording: str | None = None,
    device: int | None = None,
) -> Picture:
    """Draw what fills the memory of a device: `over-time` by class, `sources` of the peak, or `segments`.

    `recording` is a part of the recording's path; by default the first one is drawn, and its first device.
    """
    if show not in SHOWN:
        raise InputError(f"memory has no picture {show!r}", f"there are: {', '.join(SHOWN)}")
    path, of_device = _chosen(answers.of("memory_classes", {"run": run}), run, recording, device)

    def ask(query: str) -> pd.DataFrame:
        rows = answers.of(query, {"run": run})
        return of_recording(rows, path, of_device) if "recording" in rows else rows

    file = label(PurePath(path).name, _TITLE_CELLS)
    plot = next((block for block in SHOWN[show].plot(ask) if isinstance(block, Plot)), None)
    if plot is None:
        others = ", ".join(name for name in SHOWN if name != show)
        raise InputError(f"{file} {SHOWN[show].lacks}", f"show another picture of it: {others}")
    named = "" if of_device is None else f", device {of_device}"
    return Picture(memory_dot(f"{plot.title}: {file}{named}", plot))


def _chosen(
    classes: pd.DataFrame, run: str, recording: str | None, device: int | None
) -> tuple[str, int | None]:
    """Choose the first recording whose path has that part, and its first device or the one that is named."""
    if classes.empty:
        raise InputError(
            f"no recording of memory was given with run {run!r}", f"give it one: tracegraph attach {run} FILE"
        )
    there = classes[["recording", "device"]].drop_duplicates()
    found = there[[recording is None or recording in path for path in there["recording"]]]
    if found.empty:
        names = ", ".join(label(str(path), _TITLE_CELLS) for path in there["recording"].unique())
        raise InputError(f"run {run!r} has no recording {recording!r}", f"there are: {names}")
    of_first = found[found["recording"] == found["recording"].iloc[0]]
    own = of_first if device is None else of_first[of_first["device"] == device]
    if own.empty:
        devices = ", ".join(map(str, of_first["device"].dropna()))
        raise InputError(
            f"{label(str(of_first['recording'].iloc[0]), _TITLE_CELLS)} has no device {device}",
            f"there are: {devices}" if devices else "leave out the device: the recording names none",
        )
    chosen = own["device"].iloc[0]
    return str(own["recording"].iloc[0]), None if pd.isna(chosen) else int(chosen)
