"""Collect flow entries (ph s, t, f) from batches into a table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.microseconds import to_ns
from tracegraph.ingest.readers.chrome_text import RawEntry, time_literals
from tracegraph.ingest.readers.growing_columns import GrowingTexts
from tracegraph.ingest.readers.kineto.entry_decoding import Event
from tracegraph.ingest.trace import FLOW_SCHEMA, table_in

FLOWS = ("s", "t", "f")


class FlowCollector:
    """Grows batch by batch; `finish` gives the table."""

    def __init__(self) -> None:
        self._text = {name: GrowingTexts() for name in ("kind", "id", "pid", "tid")}
        self._positions: list[Ints] = []
        self._start: list[Flags] = []
        self._times: list[Ints] = []
        self._usable: list[Flags] = []

    def add(self, events: Sequence[Event], texts: Sequence[RawEntry], positions: Sequence[int]) -> None:
        """Append flow events; `texts` are their sources, `positions` their places in the file's list."""
        self._positions.append(np.array(positions, dtype=np.int64))
        self._text["kind"].extend([event.cat for event in events])
        self._text["id"].extend([event.id for event in events])
        self._text["pid"].extend([event.pid for event in events])
        self._text["tid"].extend([event.tid for event in events])
        self._start.append(np.array([event.ph == "s" for event in events], dtype=bool))
        times, usable = to_ns([event.ts for event in events], lambda k: time_literals(texts[k])[0])
        self._times.append(times)
        self._usable.append(usable)

    def append(self, other: "FlowCollector") -> None:
        """Append the flows of another collector."""
        for name, texts in self._text.items():
            texts.append(other._text[name])
        self._positions += other._positions
        self._start += other._start
        self._times += other._times
        self._usable += other._usable

    def finish(self, integrity: Integrity) -> pa.Table:
        """Make a table in FLOW_SCHEMA of the flows with an id and a usable time."""
        text = {name: column.column() for name, column in self._text.items()}
        if not self._times:
            return FLOW_SCHEMA.empty_table()
        times, usable = np.concatenate(self._times), np.concatenate(self._usable)
        keep = usable & ~text["id"].among(None)
        dropped = np.concatenate(self._positions)[~keep]
        what = "flow events without an id or a usable ts are dropped"
        integrity.add_places("flow_unusable", what, dropped)
        rows = np.flatnonzero(keep)
        columns: dict[str, pa.Array[Any]] = {
            name: texts.filled("").take(rows).arrow() for name, texts in text.items()
        }
        columns["is_start"] = pa.array(np.concatenate(self._start)[rows])
        columns["ts_ns"] = pa.array(times[rows])
        return table_in(FLOW_SCHEMA, columns)
