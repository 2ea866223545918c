"""NVTX ranges of a report as annotations; those that PyTorch's emit_nvtx makes are operators."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.readers.event_rows import EventRows, join_texts
from tracegraph.ingest.readers.nsight.payloads import read_messages, read_schemas
from tracegraph.ingest.readers.nsight.report import RANGES, Report, thread_of
from tracegraph.ingest.text_columns import TextColumn, read_texts, text_column
from tracegraph.vocabulary.categories import Role, names_of

_OF_RANGES = (59, 60, 70)
"""The eventType of ranges: pushed and popped, started and ended, and pushed and popped in newer reports."""
_MARK, _DOMAIN = 34, 75
"""The eventType of a moment, and of the row that names a domain."""
_NUMBERED = (
    r"\A(?P<name>(?s:.+?))"
    r"(?:, seq = (?P<sequence>\d{1,18})(?:, op_id = \d+)?|, op_id = \d+)"
    r"(?:, sizes = (?P<sizes>\[[\d\[\], ]*\]))?(?:, input_op_ids = .*)?\z"
)
"""What `torch.autograd.profiler.emit_nvtx` writes: a name and numbers (getNvtxStr in PyTorch's sources).

Nearly each range has a text of its own, so that Arrow reads them, whose syntax this is. An operator outside
of autograd has no sequence number. So have the user's own `record_function`, which are numbered, too, and
remain annotations.
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
    texts = pa.array(ranges.name.values, pa.string())
    parts = pc.extract_regex(texts, _NUMBERED)
    if parts.null_count == len(parts):
        return [ranges]
    told, digits, sizes = parts.flatten()
    name, shapes = _distinct(pc.coalesce(told, texts)), _distinct(sizes)
    digits = pc.if_else(pc.equal(digits, ""), pa.scalar(None, pa.string()), digits)
    sequence = pc.cast(digits, pa.int64()).fill_null(NONE).to_numpy()
    is_library = np.array([bool(_OF_LIBRARY.match(one)) for one in name.values], dtype=bool)
    backward = np.array([bool(_ENGINE.match(one)) for one in name.values], dtype=np.int64)
    made = parts.is_valid().to_numpy(zero_copy_only=False)
    codes = ranges.name.codes
    chosen = (made & ((sequence != NONE) | name.matching(is_library)))[codes]
    named = replace(ranges, name=TextColumn(name.codes[codes], name.values))
    operators = replace(
        named,
        category=_RUN,
        numbers={
            **named.numbers,
            "sequence_number": sequence[codes],
            "forward_thread": backward[name.codes[codes]],
        },
        texts={
            **named.texts,
            "shapes": text_column(
                shapes.codes[codes], [one.replace(" ", "") or None for one in shapes.values]
            ),
        },
    )
    return [named.take(~chosen), operators.take(chosen)]


def _distinct(texts: "pa.Array[Any]") -> TextColumn:
    """Make a column of texts; absent ones become empty."""
    return read_texts(pa.chunked_array([texts.dictionary_encode()]))
