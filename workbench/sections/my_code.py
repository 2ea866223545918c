"""Where in the user's own code the path runs: its call stacks in outline, and the largest names."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tracegraph.queries.shapes.path.outline import LEAST_SHARE, MOST_ROWS
from tracegraph.vocabulary.categories import Role, names_of
from tracegraph.vocabulary.python_frames import is_library
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import TIME, Parameters, Scope, Section
from tracegraph.workbench.text.text import format_share

_NAMES = 10
"""How many of the largest names the table lists."""
_OUTLINE = (
    Column("name", "call stack", "name", indent="depth"),
    Column("duration_ns", "inside", "duration"),
    Column("share", "share", "share"),
)
_INSIDE = (
    Column("name", "name", "name"),
    Column("category", "category", roomy=True),
    Column("duration_ns", "inside", "duration"),
    Column("share", "share", "share"),
    Column("own_ns", "own work", "duration"),
    Column("gap_ns", "waits and gaps", "duration", roomy=True),
)
_METHOD = (
    "Time on the path inside each call, with the GPU work that was launched from inside it. Left out: frames "
    f"with less than {format_share(LEAST_SHARE)} of the path, those smaller than the {MOST_ROWS} listed, and "
    "those with nearly the time of one listed."
)
_LARGEST = "The names with most of the path inside them, Python functions of libraries left out:"
_NO_PYTHON = "No Python function was recorded: with_stack=True in the profiler shows your own code here."


def _content(findings: Findings) -> Sequence[Block]:
    return list(_blocks(findings)) if len(findings.answers["path_outline"]) else []


def _blocks(findings: Findings) -> Iterator[Block]:
    outline, inside = findings.answers["path_outline"], findings.answers["path_inside"]
    left_out = format_share(findings.share(int(outline["left_out_ns"].sum())))
    method = f"{_METHOD} For {left_out} of the path the innermost frame is left out, below a listed one."
    yield Table(outline, _OUTLINE, note=method)
    plumbing = [is_library(*kind) for kind in zip(inside["name"], inside["category"], strict=True)]
    largest = inside[~np.array(plumbing, dtype=bool)].head(_NAMES)
    if len(largest):
        yield Table(largest, _INSIDE, _LARGEST, folded=_LARGEST.removesuffix(":"))
    if not inside["category"].isin(names_of(Role.FRAME)).any():
        yield Words(_NO_PYTHON, "note")


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return dict.fromkeys(("path_outline", "path_inside"), scope.walked)


SECTION = Section(55, "Where in my code", _content, _asks, group=TIME)
