"""What fills the memory of devices, by snapshots and timelines that were given with the run."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

import pandas as pd

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.memory.alignment import alignment_words
from tracegraph.workbench.memory.allocator import failure_blocks, pool_blocks
from tracegraph.workbench.memory.content import (
    class_blocks,
    level_blocks,
    source_blocks,
)
from tracegraph.workbench.memory.pictures import segment_picture
from tracegraph.workbench.sections.blocks import Block, Words
from tracegraph.workbench.sections.section import MEMORY, Parameters, Scope, Section
from tracegraph.workbench.text.text import format_bytes, label

_ASKED = (
    "memory_classes",
    "memory_levels",
    "memory_sources",
    "memory_pools",
    "memory_segments",
    "memory_failures",
    "memory_alignment",
)


def _content(findings: Findings) -> Sequence[Block]:
    answers = [findings.answers.get(name) for name in _ASKED]
    classes = answers[0]
    if classes is None or classes.empty:
        return []
    places = classes[["recording", "device"]].drop_duplicates()
    return [
        block
        for recording, device in places.itertuples(index=False)
        for block in _blocks(str(recording), device, answers)
    ]


def _blocks(recording: str, device: object, answers: Sequence[pd.DataFrame | None]) -> Iterator[Block]:
    classes, levels, sources, pools, segments, failures, aligned = (
        _of(rows, recording, device) for rows in answers
    )
    peak = int(classes["bytes"].sum())
    place = "" if pd.isna(device) else f", device {device}"  # type: ignore[call-overload]
    name = label(PurePath(recording).name, 80)
    yield Words(f"{name}{place}: {format_bytes(peak)} are in use when most is.")
    yield from alignment_words(aligned)
    yield from failure_blocks(failures)
    yield from level_blocks(levels, peak)
    yield from class_blocks(classes)
    yield from source_blocks(sources)
    yield from pool_blocks(pools)
    yield from segment_picture(segments, pools)


def _of(rows: pd.DataFrame | None, recording: str, device: object) -> pd.DataFrame:
    if rows is None or rows.empty:
        return pd.DataFrame()
    same = rows["device"].isna() if pd.isna(device) else rows["device"] == device  # type: ignore[call-overload]
    return rows[(rows["recording"] == recording) & same].reset_index(drop=True)


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return dict.fromkeys(_ASKED, scope.whole) if scope.drawn else {}


SECTION = Section(134, "What fills the memory", _content, _asks, group=MEMORY)
