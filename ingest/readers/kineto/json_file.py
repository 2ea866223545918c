"""Kineto's traces as JSON, whole or damaged."""

import re
from typing import BinaryIO

import msgspec

from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.chrome_text import ChromeDocument, ChromeText, join_text, lossy
from tracegraph.ingest.readers.kineto.document import Document
from tracegraph.ingest.readers.kineto.lenient_document import LenientDocument
from tracegraph.ingest.readers.kineto.strict_document import locate_list, parse_strict
from tracegraph.ingest.readers.kineto.trace_builder import build_trace
from tracegraph.ingest.readers.source_file import SourceFile
from tracegraph.ingest.readers.trace_format import TraceFormat
from tracegraph.ingest.trace import TraceFile

_OPENING = re.compile(rb"\s*[\[{]")
_DAMAGED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def _sniff(head: bytes) -> bool:
    return bool(_OPENING.match(head))


def _read(source: SourceFile, integrity: Integrity) -> TraceFile:
    return build_trace(source, _open(source, integrity), integrity)


def _open(source: SourceFile, integrity: Integrity) -> Document:
    text = source.take()
    try:
        document = parse_strict(source.path, text, source.limits)
    except _DAMAGED:
        return LenientDocument(source.path, text, integrity)
    message = "other lists of events stand beside the one that is read (the last); their time is unknown"
    integrity.add("list_repeated", document.count_other_lists(text), message)
    return document


def _chrome_text(source: SourceFile) -> ChromeText:
    """Return the text as it is, or, if it is damaged, a document of the entries that can be read."""
    text = source.take()
    try:
        begin, end = locate_list(text)
    except (msgspec.DecodeError, RecursionError):
        damaged = LenientDocument(source.path, text, Integrity(source.path.name))
        return join_text(ChromeDocument(source.path, b'{"traceEvents": ', damaged.batches(), b"}"))
    return ChromeText(text, begin, end - 1)


def _split(source: SourceFile) -> ChromeDocument:
    text = source.take()
    try:
        document = parse_strict(source.path, text, source.limits)
        begin, end = locate_list(text)
        head, tail = bytes(text[:begin]), bytes(text[end:])
        head.decode()
        tail.decode()
    except _DAMAGED as error:
        raise lossy(source.path, str(error)) from None
    return ChromeDocument(source.path, head, document.batches(), tail)


def _write(document: ChromeDocument, file: BinaryIO) -> int:
    entries = 0
    file.write(document.head + b"[")
    for batch in document.batches:
        file.write((b",\n" if entries else b"\n") + b",\n".join(batch.texts))
        entries += len(batch.texts)
    file.write(b"\n]" + document.tail)
    return entries


KINETO_JSON = TraceFormat(
    name="Kineto JSON",
    suffixes=(".json", ".json.gz", ".pt.trace.json", ".pt.trace.json.gz"),
    sniff=_sniff,
    read=_read,
    chrome_text=_chrome_text,
    split=_split,
    write=_write,
)
"""The format that torch.profiler and export_chrome_trace write."""
