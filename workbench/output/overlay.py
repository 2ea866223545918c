"""overlay.json.gz: the input trace unchanged, plus the path as flow events, and counter tracks."""

import re
from collections.abc import Collection, Hashable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import pandas as pd
from msgspec import Raw

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.microseconds import literal_of_ns
from tracegraph.ingest.readers.chrome_text import ChromeText
from tracegraph.ingest.readers.registry import format_of
from tracegraph.ingest.readers.source_file import open_source
from tracegraph.ingest.readers.unpacking import pack_into
from tracegraph.ingest.sources.fetch import local_copy
from tracegraph.ingest.sources.source import as_source
from tracegraph.vocabulary.lane_kinds import STREAM
from tracegraph.workbench.findings.findings import Findings, Source
from tracegraph.workbench.output.counters import Place, counter_entries
from tracegraph.workbench.output.uncorrected_times import on_file_clock

CATEGORY = "critical_path"
_NAME = "critical path"
_FIRST_ID = 1 << 40  # beyond the ids that profilers write, exact in a double
_INSIDE_NS = 1_000
"""How far before the end of an event a flow leaves it: half of the event, but at most this many ns."""
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_QUOTED_ID = re.compile(rb'"([pt]id)"\s*:\s*"([^"\\]*)"')
_LEVEL = 1
"""The level of gzip: the fastest one."""
_NO_EVENTS = memoryview(b"[]")
_Quoted = Collection[tuple[str, str]]


def write_overlay(findings: Findings, source: Source, target: BinaryIO) -> None:
    """Write the trace with one flow (ph `s` and `f`) for each change of lane of the path in it, as gzip.

    The entries of the trace keep their text, order and positions; the flows follow, then counters of what is
    queued and copied (ph `C`).

    Raises
    ------
    InputError
        The file is gone, or is not the one that was ingested, or the run is a scenario.
    """
    if findings.details.scenario_of is not None:
        raise InputError(f"{findings.details.name} is a scenario: its times are no file's")
    trace = _open(source)
    text, end = trace.text, trace.end
    quoted = {(key.decode(), name.decode(errors="replace")) for key, name in _QUOTED_ID.findall(text)}
    with pack_into(target, _LEVEL) as packed:
        packed.write(text[:end])
        for entry in flow_entries(findings, source, quoted, trace.entries):
            packed.write(b",\n" + entry)
        for entry in counter_entries(findings, source, _places(findings, quoted)):
            packed.write(b",\n" + entry)
        packed.write(text[end:])


def flow_entries(
    findings: Findings, source: Source, quoted: _Quoted = frozenset(), events: memoryview = _NO_EVENTS
) -> list[bytes]:
    """Return the JSON texts of the flow events at the file's times, a start and an end for each flow.

    `quoted`: pids and tids that the trace writes as text, as ("pid", text) and ("tid", text). `events`: the
    text of its list of events.
    """
    places = _places(findings, quoted)
    streams = findings.lanes.loc[findings.lanes["kind"].eq(STREAM), "lane"].tolist()
    entries: list[bytes] = []
    path = findings.path[findings.path["rank"] == source.rank]
    hops = _hops(on_file_clock(path, streams, source, events))
    for number, hop in enumerate(hops.to_dict("records")):
        common = {"cat": CATEGORY, "name": _NAME, "id": _FIRST_ID + number}
        why = {"dependency": hop["dependency"], "mechanism": hop["mechanism"]}
        leave = {**places[hop["cause_lane"]], "ts": _literal(hop["leave_ns"])}
        enter = {**places[hop["lane"]], "ts": _literal(hop["enter_ns"])}
        entries.append(msgspec.json.encode({"ph": "s", **common, **leave, "args": why}))
        entries.append(msgspec.json.encode({"ph": "f", "bp": "e", **common, **enter, "args": why}))
    return entries


def _places(findings: Findings, quoted: _Quoted) -> dict[int, Place]:
    """Find pid and tid of each lane, in the terms of the file."""
    rows = findings.lanes.to_dict("records")
    return {int(row["lane"]): {key: _as_written(key, row, quoted) for key in ("pid", "tid")} for row in rows}


def _literal(ns: int) -> Raw:
    return Raw(literal_of_ns(ns).encode())


def _hops(path: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each change of lane: cause_lane, leave_ns, lane, enter_ns, dependency, mechanism.

    A flow needs an open event at both ends: it leaves within the last event before the change and enters
    the first one after it. Where a lane is only waited on, the gap's own times serve.
    """
    lane, start, end = (path[name].to_numpy("int64") for name in ("lane", "start_ns", "end_ns"))
    changes = np.flatnonzero(lane[1:] != lane[:-1]) + 1
    begins, ends = np.append(0, changes), np.append(changes, len(path)) - 1  # the path's stays on one lane
    events = np.flatnonzero(path["source_index"].notna())
    first = np.append(events, len(path))[np.searchsorted(events, begins)]
    last = np.append(-1, events)[np.searchsorted(events, ends, "right")]
    is_open = first <= ends  # an event, during that stay
    entered, left = np.where(is_open, first, begins)[1:], np.where(is_open, last, ends)[:-1]
    inside = np.where(is_open[:-1], np.minimum((end - start)[left] // 2, _INSIDE_NS), 0)
    why = path[["dependency", "mechanism"]].iloc[begins[1:]].reset_index(drop=True)
    return why.assign(
        cause_lane=lane[begins[:-1]],
        leave_ns=end[left] - inside,
        lane=lane[begins[1:]],
        enter_ns=start[entered],
    )


def _as_written(key: str, lane: Mapping[Hashable, Any], quoted: _Quoted) -> int | str:
    """Return a lane's pid or tid as the number or the text that the trace holds."""
    text = str(lane[key])
    return int(text) if _INTEGER.fullmatch(text) and (key, text) not in quoted else text


def _open(source: Source) -> ChromeText:
    place = as_source(source.file)
    if not place.is_remote and not Path(source.file).exists():
        raise InputError(f"the source file is gone since it was ingested: {source.file}")
    integrity = Integrity(place.name)
    with local_copy(place, integrity) as path:
        opened = open_source(path, integrity, sha256=source.sha256)
        form = format_of(opened)
        if form.chrome_text is None:
            raise InputError(f"nothing can be drawn into a file of the format {form.name}")
        return form.chrome_text(opened)
