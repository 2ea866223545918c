"""What NCCL's ranges carry in a report: the size of a message, its communicator, and how many ranks that has.

Written from NCCL's sources and from the public descriptions of the exported bytes (`nsys export
--include-blobs=true`); no report that holds them was at hand to try.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.readers.nsight.report import RANGES, Report
from tracegraph.ingest.readers.sqlite_file import Rows
from tracegraph.ingest.text_columns import TextColumn, text_column

_FIELDS = "NVTX_PAYLOAD_SCHEMA_ENTRIES"
_SIZE, _COMMUNICATOR, _RANKS = "Message size [bytes]", "NCCL communicator ID", "No. of ranks"
_HEADER = struct.Struct("<QQQQ")
"""Before the payload stand its domain, its schema, its size, and a number of the exporter's own."""
_WIDTH = {**dict.fromkeys((5, 6, 15, 16), 4), **dict.fromkeys((9, 10, 17, 18, 22), 8)}
"""Bytes of a field by its type, of integers that are as long everywhere."""
_LARGEST = 1 << 62
_BEGIN, _END = "ncclGroupStart", "ncclGroupEnd"
Schemas = Mapping[tuple[int, int], "_Layout"]


@dataclass(frozen=True)
class _Layout:
    """Where the three fields lie in payloads of a schema, by their names: first byte and width."""

    fields: Mapping[str, tuple[int, int]]

    def read(self, payload: bytes) -> dict[str, int]:
        """Read the fields; those beyond the end of the payload are left out."""
        return {
            name: int.from_bytes(payload[at : at + width], "little")
            for name, (at, width) in self.fields.items()
            if at + width <= len(payload)
        }


def read_schemas(report: Report) -> Schemas:
    """Find the payloads of which a report says where a message's size or communicator lies."""
    rows = report.database.read(_FIELDS, ("domainId", "schemaId", "idx", "type", "offset"), ("name",), "1")
    found: dict[tuple[int, int], dict[str, tuple[int, int]]] = {}
    columns = [rows[name].tolist() for name in ("domainId", "schemaId", "idx", "type", "offset")]
    for domain, schema, index, kind, offset, name in zip(
        *columns, rows.texts["name"][:].tolist(), strict=True
    ):
        # The first field lies at the begin; its offset is not written.
        at = 0 if index == 0 and offset == NONE else offset
        if name in (_SIZE, _COMMUNICATOR, _RANKS) and kind in _WIDTH and at >= 0:
            found.setdefault((domain, schema), {})[name] = (at, _WIDTH[kind])
    return {key: _Layout(fields) for key, fields in found.items()}


def read_messages(
    report: Report, schemas: Schemas, rows: Rows, text: TextColumn
) -> tuple[dict[str, Ints], dict[str, TextColumn]]:
    """Read what the ranges carry: `bytes`, `group` and `group_size`, numbers and texts for each row.

    A group of calls launches its kernels as it ends: the end of a group of one message states that message.
    `text`: the names of the ranges. Payloads that cannot be read are counted.
    """
    codes = rows.texts["binaryData"].codes
    blobs = rows.texts["binaryData"].values.tolist()
    keys, place = np.unique(np.stack([rows["domainId"], codes]), axis=1, return_inverse=True)
    found = [_decoded(blobs[code], domain, schemas) for domain, code in keys.T.tolist()]
    unknown = np.array([one is None for one in found], dtype=bool)[place.reshape(-1)]
    message = "payloads of ranges are of no kind that is read, or are cut: what they say is left out"
    report.integrity.add("payload_unknown", int(unknown.sum()) + _as_json(report), message)
    known = [one or {} for one in found]
    group_size = _group_sizes(known)
    place = _with_group_ends(rows, text, place.reshape(-1), [_SIZE in one for one in known])
    sizes = [one[_SIZE] if 0 <= one.get(_SIZE, -1) < _LARGEST else NONE for one in known]
    groups = [f"0x{one[_COMMUNICATOR]:x}" if one.get(_COMMUNICATOR) else None for one in known]
    counts = [group_size.get(one.get(_COMMUNICATOR, 0), NONE) if _SIZE in one else NONE for one in known]
    numbers = {"bytes": np.array(sizes)[place], "group_size": np.array(counts)[place]}
    return numbers, {"group": text_column(place, groups)}


def _decoded(digits: str | None, domain: int, schemas: Schemas) -> dict[str, int] | None:
    """Read the fields of a payload: none where there is no payload, None where it cannot be read."""
    if digits is None:
        return {}
    blob = bytes.fromhex(digits)
    if len(blob) < _HEADER.size:
        return None
    _, schema, size, _ = _HEADER.unpack_from(blob)
    payload = blob[_HEADER.size :]
    if (domain, schema) not in schemas or len(payload) < size:
        return None
    return schemas[domain, schema].read(payload[:size])


def _group_sizes(known: Sequence[Mapping[str, int]]) -> dict[int, int]:
    """Find how many ranks each communicator has; those whose ranges disagree are left out."""
    stated: dict[int, set[int]] = {}
    for one in known:
        if _RANKS in one and one.get(_COMMUNICATOR):
            stated.setdefault(one[_COMMUNICATOR], set()).add(one[_RANKS])
    return {communicator: min(sizes) for communicator, sizes in stated.items() if len(sizes) == 1}


def _with_group_ends(rows: Rows, text: TextColumn, place: Ints, is_message: Sequence[bool]) -> Ints:
    """Give the end of each outermost group that holds one message the payload of that message."""
    found = place.copy()
    begin, end = text.among(_BEGIN), text.among(_END)
    of_message = np.array(is_message, dtype=bool)[place]
    chosen = np.flatnonzero(begin | end | of_message)
    chosen = chosen[np.lexsort((rows["start"][chosen], rows["globalTid"][chosen]))]
    thread, depth = NONE, 0
    messages: list[int] = []
    for row in chosen.tolist():
        if rows["globalTid"][row] != thread:
            thread, depth, messages = rows["globalTid"][row], 0, []
        if begin[row]:
            messages = messages if depth else []
            depth += 1
        elif end[row]:
            depth = max(0, depth - 1)
            if not depth and len(messages) == 1:
                found[row] = place[messages[0]]
        else:
            messages.append(row)
    return found


def _as_json(report: Report) -> int:
    """Count the payloads that the export holds as JSON, whose form is not documented."""
    if not report.database.has(RANGES, "jsonText", "globalTid"):
        return 0
    query = f"SELECT count(jsonText) FROM {RANGES} WHERE {report.is_own('globalTid')}"
    return int(report.database.ask(query)[0][0])
