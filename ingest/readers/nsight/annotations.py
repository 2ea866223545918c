"""NVTX ranges of a report as annotations; those that PyTorch's emit_nvtx makes are operators."""

import re
from dataclasses import replace

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.readers.event_rows import EventRows, join_texts
from tracegraph.ingest.readers.nsight.payloads import read_messages, read_schemas
from tracegraph.ingest.readers.nsight.report import RANGES, Report, thread_of
from tracegraph.ingest.text_columns import TextColumn, text_column
from tracegraph.vocabulary.categories import Role, names_of

_OF_RANGES = (59, 60, 70)
"""The eventType of ranges: pushed and popped, started and ended, and pushed and popped in newer reports."""
_MARK, _DOMAIN = 34, 75
"""The eventType of a moment, and of the row that names a domain."""
_NUMBERED = re.compile(
    r"(?:, seq = (?P<sequence>\d{1,18}))?(?:, op_id = \d+)?"
    r"(?:, sizes = (?P<sizes>\[[\d\[\], ]*\]))?(?:, input_op_ids = .*)?"
)
_NUMBER = re.compile(r", (?:seq|op_id) = \d")
"""What `torch.autograd.profiler.emit_nvtx` writes behind a name (getNvtxStr in PyTorch's sources).

An operator outside of autograd has no sequence number. So have the user's own `record_function`, which are
numbered, too, and remain annotations.
"""
_OF_LIBRARY = re.compile(r"\w+::\S")
"""How names of operators begin: with the library that registers them."""
_ENGINE = re.compile(r"autograd::engine::|\w+Backward\d*$")
"""How names of operators of the backward pass begin, or what they are."""
(_ANNOTATION,), (_RUN,) = names_of(Role.ANNOTATION), names_of(Role.OPERATOR)


def read_annotations(report: Report) -> tuple[list[EventRows], dict[str, int]]:
    """Read the ranges, and count the moments, which have no duration: {"i": their number}.

    A range of a library's domain has the domain before its name. What NCCL's ranges carry is stated with
    them. A range that ends on another thread than it began on stays on the thread that began it.
    """
    schemas = read_schemas(report)
    numbers = ("start", "end", "eventType", "globalTid", "textId", "domainId")
    rows = report.rows(RANGES, "globalTid", numbers, ("text",), ("binaryData",) if schemas else ())
    kind = rows["eventType"]
    text = _own_or_shared(rows.texts["text"], report.names(rows["textId"]), rows["textId"])
    chosen = np.isin(kind, _OF_RANGES)
    name = _with_domains(text, rows["domainId"], kind == _DOMAIN)
    pid = np.full(rows.count, report.pid)
    thread = thread_of(rows["globalTid"])
    messages = read_messages(report, schemas, rows, text) if schemas else ({}, {})
    found = EventRows(
        _ANNOTATION, name, rows["start"], rows["end"], pid, thread, *messages, open_end=True
    ).take(chosen)
    marks = int((kind == _MARK).sum())
    return _operators(found), {"i": marks} if marks else {}


def _own_or_shared(own: TextColumn, shared: TextColumn, ids: Ints) -> TextColumn:
    """Take each row's own text, else the one that its number stands for."""
    if own.among(None).all():
        return shared
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
    found = [_made_by_torch(text or "") for text in ranges.name.values]
    if not any(found):
        return [ranges]
    names = [
        text if one is None else one.string[: one.start()]
        for text, one in zip(ranges.name.values, found, strict=True)
    ]
    is_operator = [one is not None and _is_operator(one) for one in found]
    chosen = ranges.name.matching(np.array(is_operator, dtype=bool))
    codes = ranges.name.codes
    named = replace(ranges, name=text_column(codes, names))
    sequence = np.array([int(one["sequence"]) if one and one["sequence"] else NONE for one in found])
    backward = np.array([int(bool(_ENGINE.match(name or ""))) for name in names])
    shapes = [one["sizes"].replace(" ", "") if one and one["sizes"] else None for one in found]
    operators = replace(
        named,
        category=_RUN,
        numbers={
            **named.numbers,
            "sequence_number": sequence[codes],
            "forward_thread": backward[codes],
        },
        texts={**named.texts, "shapes": text_column(codes, shapes)},
    )
    return [named.take(~chosen), operators.take(chosen)]


def _made_by_torch(text: str) -> re.Match[str] | None:
    """Find what a text of emit_nvtx has behind its name; None for any other text."""
    for number in _NUMBER.finditer(text, 1):
        if found := _NUMBERED.fullmatch(text, number.start()):
            return found
    return None


def _is_operator(found: re.Match[str]) -> bool:
    return bool(found["sequence"] or _OF_LIBRARY.match(found.string, 0, found.start()))
