"""Pictures of memory that stand beside its tables: the peak by source."""

from collections.abc import Iterator
from pathlib import PurePath

import pandas as pd

from tracegraph.vocabulary.memory import (
    ACTIVATION,
    AUTOGRAD,
    FROM_BEFORE,
    GRADIENT,
    IN_OPTIMIZER,
    INPUT,
    MEMORY_CLASSES,
    OPTIMIZER_STATE,
    PARAMETER,
    TEMPORARY,
)
from tracegraph.workbench.memory.allocator import NOT_RECORDED, places
from tracegraph.workbench.sections.blocks import Block, Column, Plot

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


def _file(file: object, place: str) -> str:
    """Name the file of a place; below autograd's engine there is none."""
    if isinstance(file, str):
        return PurePath(file).name
    return place if place == NOT_RECORDED else _IN_BACKWARD
