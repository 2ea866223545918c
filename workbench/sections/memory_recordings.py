"""What fills the memory of devices, by snapshots and timelines that were given with the run."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

import pandas as pd

from tracegraph.base.units import format_bytes
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.memory.alignment import aligned_spans, alignment_words
from tracegraph.workbench.memory.allocator import failure_blocks, pool_blocks
from tracegraph.workbench.memory.content import (
    class_blocks,
    level_blocks,
    of_recording,
    source_blocks,
)
from tracegraph.workbench.memory.pictures import segment_picture
from tracegraph.workbench.sections.blocks import Block, Words
from tracegraph.workbench.sections.section import MEMORY, Parameters, Scope, Section
from tracegraph.workbench.text.text import label

_ASKED = (
    "memory_classes",
    "memory_levels",
    "memory_sources",
    "memory_pools",
    "memory_segments",
    "memory_failures",
    "memory_alignment",
)
_MARKED = ("steps", "phases")


def _content(findings: Findings) -> Sequence[Block]:
    classes = findings.answers.get("memory_classes")
    if classes is None or classes.empty:
        return []
    places = classes[["recording", "device"]].drop_duplicates()
    return [
        block
        for recording, device in places.itertuples(index=False)
        for block in _blocks(str(recording), device, findings)
    ]


def _blocks(recording: str, device: object, findings: Findings) -> Iterator[Block]:
    classes, levels, sources, pools, segments, failures, aligned = (
        of_recording(findings.answers.get(name), recording, device) for name in _ASKED
    )
    peak = int(classes["bytes"].sum())
    place = "" if pd.isna(device) else f", device {device}"  # type: ignore[call-overload]
    name = label(PurePath(recording).name, 80)
    yield Words(f"{name}{place}: {format_bytes(peak)} are in use when most is.")
    yield from alignment_words(aligned)
    yield from failure_blocks(failures)
    steps, phases = (findings.answers.get(query) for query in _MARKED)
    yield from level_blocks(levels, peak, aligned_spans(aligned, steps, phases))
    yield from class_blocks(classes)
    yield from source_blocks(sources)
    yield from pool_blocks(pools)
    yield from segment_picture(segments, pools)


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return dict.fromkeys((*_ASKED, *_MARKED), scope.whole) if scope.drawn else {}


SECTION = Section(134, "What fills the memory", _content, _asks, group=MEMORY)
