"""Collects what is no event: flows, names of threads and processes, counts of the rest."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tracegraph.ingest.integrity.findings import Integrity
from tracegraph.ingest.microseconds import to_ns
from tracegraph.ingest.readers.chrome_text import RawEntry, time_literals
from tracegraph.ingest.readers.columns import Flags, Ints, TextColumn
from tracegraph.ingest.readers.kineto.entry_decoding import Event, decode_label
from tracegraph.ingest.trace import FLOW_SCHEMA, table_in

FLOWS = ("s", "t", "f")


class FlowCollector:
    """Grows batch by batch; `finish` gives the table."""

    def __init__(self) -> None:
        self._text = {name: TextColumn() for name in ("kind", "id", "pid", "tid")}
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
        """Table in FLOW_SCHEMA of the flows with an id and a usable time."""
        text = {name: column.texts() for name, column in self._text.items()}
        times = np.concatenate(self._times) if self._times else np.empty(0, np.int64)
        usable = np.concatenate(self._usable) if self._usable else np.empty(0, np.bool_)
        keep = usable & ~text["id"].among((None,))
        dropped = np.flatnonzero(~keep)
        if len(dropped):
            first = self._positions[dropped[0]]
            message = (
                f"flow events without an id or a usable ts are dropped, the first at source index {first}"
            )
            integrity.add("flow_unusable", "warning", len(dropped), message)
        rows = np.flatnonzero(keep)
        columns: dict[str, pa.Array[Any]] = {
            name: texts.filled("").take(rows) for name, texts in text.items()
        }
        columns["is_start"] = pa.array(np.array(self._start, dtype=bool)[rows])
        columns["ts_ns"] = pa.array(times[rows])
        return table_in(FLOW_SCHEMA, columns)


class NameCollector:
    """Names that metadata events give to threads and processes."""

    def __init__(self) -> None:
        self.threads: dict[tuple[str, str], str] = {}
        self.processes: dict[str, str] = {}

    def add(self, event: Event) -> None:
        """Take the name in a metadata event, if it holds one."""
        if event.name not in ("thread_name", "process_name"):
            return
        label = decode_label(event.args)
        if label is None:
            return
        pid, tid = ("" if value is None else str(value) for value in (event.pid, event.tid))
        if event.name == "thread_name":
            self.threads[pid, tid] = label
        else:
            self.processes[pid] = label
