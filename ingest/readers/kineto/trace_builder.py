"""From the batches of any document to a `TraceFile`."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.microseconds import to_ns
from tracegraph.ingest.readers.chrome_text import Batch, RawEntry, time_literals
from tracegraph.ingest.readers.growing_columns import GrowingTexts
from tracegraph.ingest.readers.kineto.device_lanes import read_device_lanes
from tracegraph.ingest.readers.kineto.document import Document
from tracegraph.ingest.readers.kineto.duration_columns import DURATIONS, DurationCollector
from tracegraph.ingest.readers.kineto.entry_decoding import Event, decode_counters, decode_events
from tracegraph.ingest.readers.kineto.event_table import build_events
from tracegraph.ingest.readers.kineto.host_layers import read_layers
from tracegraph.ingest.readers.kineto.lane_facts import foreign_rows
from tracegraph.ingest.readers.kineto.memory_rows import MemoryCollector, is_memory_row
from tracegraph.ingest.readers.kineto.thread_names import NameCollector
from tracegraph.ingest.readers.source_file import SourceFile
from tracegraph.ingest.trace import COUNTER_SCHEMA, FLOW_SCHEMA, TraceFile, table_in
from tracegraph.vocabulary.categories import SPAN, Role, spellings_of

FLOWS = ("s", "t", "f")
_RANGES = spellings_of(Role.RANGE)
_PLACES = frozenset(("device", "context", "stream", "correlation", "External id", "external id", "Ev Idx"))
"""Numbers of a range that say where it was, not what it counted."""


class FlowCollector:
    """Grows batch by batch; `finish` gives the table."""

    def __init__(self) -> None:
        self._text = {name: GrowingTexts() for name in ("kind", "id", "pid", "tid")}
        self._positions: list[int] = []
        self._start: list[bool] = []
        self._times: list[Ints] = []
        self._usable: list[Flags] = []

    def add(self, events: Sequence[Event], texts: Sequence[RawEntry], positions: Sequence[int]) -> None:
        """Append flow events; `texts` are their sources, `positions` their places in the file's list."""
        self._positions.extend(positions)
        self._text["kind"].extend([event.cat for event in events])
        self._text["id"].extend([event.id for event in events])
        self._text["pid"].extend([event.pid for event in events])
        self._text["tid"].extend([event.tid for event in events])
        self._start.extend(event.ph == "s" for event in events)
        times, usable = to_ns([event.ts for event in events], lambda k: time_literals(texts[k])[0])
        self._times.append(times)
        self._usable.append(usable)

    def finish(self, integrity: Integrity) -> pa.Table:
        """Make a table in FLOW_SCHEMA of the flows with an id and a usable time."""
        text = {name: column.column() for name, column in self._text.items()}
        times = np.concatenate(self._times) if self._times else np.empty(0, np.int64)
        usable = np.concatenate(self._usable) if self._usable else np.empty(0, np.bool_)
        keep = usable & ~text["id"].among(None)
        dropped = np.array(self._positions, dtype=np.int64)[~keep]
        what = "flow events without an id or a usable ts are dropped"
        integrity.add_places("flow_unusable", what, dropped)
        rows = np.flatnonzero(keep)
        columns: dict[str, pa.Array[Any]] = {
            name: texts.filled("").take(rows).arrow() for name, texts in text.items()
        }
        columns["is_start"] = pa.array(np.array(self._start, dtype=bool)[rows])
        columns["ts_ns"] = pa.array(times[rows])
        return table_in(FLOW_SCHEMA, columns)


class CounterCollector:
    """Grows batch by batch; `finish` gives the table."""

    def __init__(self) -> None:
        self._positions: list[int] = []
        self._names = GrowingTexts()
        self._values: list[float] = []

    def add(self, events: Sequence[Event], positions: Sequence[int]) -> None:
        """Append the counters of those events that are ranges, with their positions in the file's list."""
        names: list[str] = []
        for event, position in zip(events, positions, strict=True):
            if event.cat not in _RANGES:
                continue
            found = {
                name: value for name, value in decode_counters(event.args).items() if name not in _PLACES
            }
            names += found
            self._values += found.values()
            self._positions += [position] * len(found)
        self._names.extend(names)

    def finish(self, longest: int) -> pa.Table:
        """Make a table in COUNTER_SCHEMA; a name of more than `longest` characters is cut there."""
        columns = {
            "source_index": pa.array(np.array(self._positions, dtype=np.int64)),
            "name": self._names.column().cut(longest)[0].arrow(),
            "value": pa.array(self._values, pa.float64()),
        }
        return table_in(COUNTER_SCHEMA, columns)


class _Collector:
    """Sorts the entries of each batch by their phase."""

    def __init__(self) -> None:
        self.durations = DurationCollector()
        self.flows = FlowCollector()
        self.memory = MemoryCollector()
        self.counters = CounterCollector()
        self.names = NameCollector()
        self.others: Counter[str] = Counter()
        self.no_objects: list[int] = []
        self.repaired: list[int] = []

    def add(self, batch: Batch) -> None:
        """Append the entries of a batch."""
        events, repaired = decode_events(batch.texts)
        self.repaired += [batch.positions[k] for k in repaired if events[k] is not None]
        durations: list[tuple[int, Event]] = []
        flows: list[tuple[int, Event]] = []
        memory: list[tuple[int, Event]] = []
        for k, event in enumerate(events):
            if event is None:
                self.no_objects.append(batch.positions[k])
            elif event.ph in DURATIONS:
                if event.cat != SPAN:
                    durations.append((k, event))
            elif event.ph in FLOWS:
                flows.append((k, event))
            elif is_memory_row(event):
                memory.append((k, event))
            else:
                self.others[event.ph or ""] += 1
                if event.ph == "M":
                    self.names.add(event)
        for column, found in ((self.durations, durations), (self.flows, flows), (self.memory, memory)):
            column.add(
                [event for _, event in found],
                [batch.texts[k] for k, _ in found],
                [batch.positions[k] for k, _ in found],
            )
        self.counters.add([event for _, event in durations], [batch.positions[k] for k, _ in durations])

    def state_repairs(self, integrity: Integrity) -> None:
        """Record the entries that were not events, or not as expected."""
        what = "entries that are no objects are skipped"
        integrity.add_places("entry_not_object", what, self.no_objects)
        what = "events hold fields of another type or text that is no UTF-8"
        integrity.add_places("event_repaired", what, self.repaired)


def build_trace(source: SourceFile, document: Document, integrity: Integrity) -> TraceFile:
    """Build the columns of a document; InputError if it holds too many entries."""
    collector = _collect(source.path, document, integrity)
    facts = document.facts()
    collector.state_repairs(integrity)
    flows = collector.flows.finish(integrity)
    durations = collector.durations.finish()
    if foreign_rows(durations).any():
        durations, flows = read_layers(durations, flows, collector.names, integrity)
        durations = read_device_lanes(durations, flows, collector.names, integrity)
    events = build_events(durations, integrity)
    longest = integrity.limits.text
    middle_ns = int(np.median(events["start_ns"])) if len(events) else 0
    return TraceFile(
        path=str(source.path),
        sha256=source.sha256,
        rank=facts.rank or 0,
        events=events,
        flows=flows,
        memory=collector.memory.finish(middle_ns, integrity),
        thread_names={lane: name[:longest] for lane, name in collector.names.threads.items()},
        process_names={pid: name[:longest] for pid, name in collector.names.processes.items()},
        devices=[name[:longest] for name in facts.devices],
        device_memory=facts.device_memory,
        versions={key: text[:longest] for key, text in facts.versions.items()},
        other_phases=dict(sorted(collector.others.items())),
        rank_stated=facts.rank is not None,
        world_size=facts.world_size,
        counters=collector.counters.finish(longest),
    )


def _without_long(batch: Batch, integrity: Integrity) -> Batch:
    """Keep the entries within the limit of length: a decoded entry takes many times its length."""
    most = integrity.limits.entry
    if max(map(len, batch.texts), default=0) <= most:
        return batch
    entries = list(zip(batch.texts, batch.positions, strict=True))
    long = [position for text, position in entries if len(text) > most]
    integrity.add_places("event_broken", f"events of over {most:,} bytes are skipped", long)
    kept = [(text, position) for text, position in entries if len(text) <= most]
    return Batch([text for text, _ in kept], [position for _, position in kept])


def _collect(path: Path, document: Document, integrity: Integrity) -> _Collector:
    """Collect the entries of all batches; on return nothing holds the text any more."""
    collector = _Collector()
    for batch in document.batches():
        if batch.positions:
            integrity.limits.check_events(path, batch.positions[-1] + 1)
        collector.add(_without_long(batch, integrity))
    return collector
