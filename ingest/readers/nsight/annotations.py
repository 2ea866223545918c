"""NVTX ranges of a report as annotations; those that PyTorch's emit_nvtx makes are operators."""

import re

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.readers.nsight.event_rows import EventRows, join_texts
from tracegraph.ingest.readers.nsight.report import RANGES, Report, thread_of
from tracegraph.ingest.text_columns import TextColumn, text_column
from tracegraph.vocabulary.categories import Role, names_of

_OF_RANGES = (59, 60, 70)
"""The eventType of ranges: pushed and popped, started and ended, and pushed and popped in newer reports."""
_MARK, _DOMAIN = 34, 75
"""The eventType of a moment, and of the row that names a domain."""
_OPERATOR = re.compile(
    r"(?P<name>.+?), seq = (?P<sequence>\d{1,18})(?:, op_id = \d+)?"
    r"(?:, sizes = (?P<sizes>\[[\d\[\], ]*\]))?(?:, input_op_ids = .*)?"
)
"""What `torch.autograd.profiler.emit_nvtx` writes of an operator (getNvtxStr in PyTorch's sources)."""
_ENGINE = re.compile(r"autograd::engine::|\w+Backward\d*$")
"""How names of operators of the backward pass begin, or what they are."""
(_ANNOTATION,), (_RUN,) = names_of(Role.ANNOTATION), names_of(Role.OPERATOR)


def read_annotations(report: Report) -> tuple[list[EventRows], dict[str, int]]:
    """Read the ranges, and count the moments, which have no duration: {"i": their number}.

    A range of a library's domain has the domain before its name. A range that ends on another thread than it
    began on stays on the thread that began it.
    """
    rows = report.rows(
        RANGES, "globalTid", ("start", "end", "eventType", "globalTid", "textId", "domainId"), ("text",)
    )
    kind = rows["eventType"]
    text = _own_or_shared(rows.texts["text"], report.names(rows["textId"]), rows["textId"])
    chosen = np.isin(kind, _OF_RANGES)
    name = _with_domains(text, rows["domainId"], kind == _DOMAIN)
    pid = np.full(rows.count, report.pid)
    found = EventRows(
        _ANNOTATION, name, rows["start"], rows["end"], pid, thread_of(rows["globalTid"]), open_end=True
    ).take(chosen)
    marks = int((kind == _MARK).sum())
    return _operators(found), {"i": marks} if marks else {}


def _own_or_shared(own: TextColumn, shared: TextColumn, ids: Ints) -> TextColumn:
    """Take each row's own text, else the one that its number stands for."""
    both = join_texts([own, shared])
    size = len(ids)
    return both.take(np.where(own.among(None) & (ids != NONE), np.arange(size) + size, np.arange(size)))


def _with_domains(text: TextColumn, domain: Ints, names: Flags) -> TextColumn:
    """Put the name of a library's domain before the names of its ranges."""
    known = dict(zip(domain[names].tolist(), text[names].tolist(), strict=True))
    known.pop(0, None)
    parts = text
    for number, label in sorted(known.items()):
        mine = (domain == number) & ~text.among(None)
        changed = text_column(parts.codes, [f"{label}: {one}" for one in parts.values])
        both = join_texts([parts, changed])
        parts = both.take(np.arange(len(text)) + np.where(mine, len(text), 0))
    return parts


def _operators(ranges: EventRows) -> list[EventRows]:
    """Read the ranges that emit_nvtx made as operators, with their sequence numbers and shapes."""
    found = [_OPERATOR.fullmatch(text or "") for text in ranges.name.values]
    chosen = ranges.name.matching(np.array([one is not None for one in found], dtype=bool))
    if not chosen.any():
        return [ranges]
    mine = ranges.take(chosen)
    codes = mine.name.codes
    names = ["" if one is None else one["name"] for one in found]
    sequence = np.array([NONE if one is None else int(one["sequence"]) for one in found])
    backward = np.array([int(bool(_ENGINE.match(name))) for name in names])
    shapes = [None if one is None or one["sizes"] is None else one["sizes"].replace(" ", "") for one in found]
    operators = EventRows(
        _RUN,
        text_column(codes, names),
        *(mine.start, mine.end, mine.outer, mine.inner),
        {"sequence_number": sequence[codes], "forward_thread": backward[codes]},
        {"shapes": text_column(codes, shapes)},
        open_end=True,
    )
    return [ranges.take(~chosen), operators]
