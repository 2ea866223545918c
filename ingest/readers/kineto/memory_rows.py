"""Collect memory rows ([memory] instants) from batches into a table."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.microseconds import to_ns
from tracegraph.ingest.readers.chrome_text import RawEntry, time_literals
from tracegraph.ingest.readers.growing_columns import GrowingNumbers, GrowingTexts
from tracegraph.ingest.readers.kineto.entry_decoding import Event, decode_memory
from tracegraph.ingest.readers.usable_rows import MAX_SPAN_NS, usable_sizes
from tracegraph.ingest.text_columns import distinct_pairs
from tracegraph.ingest.trace import MEMORY_SCHEMA, table_in

_INSTANTS, _NAME = ("i", "I"), "[memory]"
_NEEDED = ("bytes", "device_type", "device")
_NUMBERS = (*_NEEDED, "allocated", "reserved", "address")


def is_memory_row(event: Event) -> bool:
    """Tell whether an entry states memory that is allocated or freed."""
    return event.name == _NAME and event.ph in _INSTANTS


class MemoryCollector:
    """Grows batch by batch; `finish` gives the table."""

    def __init__(self) -> None:
        self._text = {name: GrowingTexts() for name in ("pid", "tid")}
        self._number = {name: GrowingNumbers() for name in _NUMBERS}
        self._positions: list[Ints] = []
        self._times: list[Ints] = []
        self._timed: list[Flags] = []
        self._length = 0

    def add(self, events: Sequence[Event], texts: Sequence[RawEntry], positions: Sequence[int]) -> None:
        """Append memory rows; `texts` are their sources, `positions` their places in the file's list."""
        self._positions.append(np.array(positions, dtype=np.int64))
        self._text["pid"].extend([event.pid for event in events])
        self._text["tid"].extend([event.tid for event in events])
        times, usable = to_ns([event.ts for event in events], lambda k: time_literals(texts[k])[0])
        self._times.append(times)
        self._timed.append(usable)
        arguments = [decode_memory(event.args) for event in events]
        rows = np.arange(self._length, self._length + len(events))
        for name, column in self._number.items():
            column.extend(rows, list(map(attrgetter(name), arguments)))
        self._length += len(events)

    def append(self, other: "MemoryCollector") -> None:
        """Append the rows of another collector."""
        for name, texts in self._text.items():
            texts.append(other._text[name])
        for name, numbers in self._number.items():
            numbers.append(other._number[name], self._length)
        self._positions += other._positions
        self._times += other._times
        self._timed += other._timed
        self._length += other._length

    def finish(self, near_ns: int, integrity: Integrity) -> pa.Table:
        """Make a table in MEMORY_SCHEMA of the usable rows; `near_ns`: a time amid the recording."""
        if not self._length:
            return MEMORY_SCHEMA.empty_table()
        position, at = np.concatenate(self._positions), np.concatenate(self._times)
        numbers = {name: column.dense(self._length) for name, column in self._number.items()}
        text = {name: column.column() for name, column in self._text.items()}
        size = numbers["bytes"][0]
        usable = (
            np.concatenate(self._timed) & (np.abs(at - near_ns) <= MAX_SPAN_NS) & ~text["tid"].among(None)
        )
        usable &= np.logical_and.reduce([numbers[name][1] for name in _NEEDED])
        usable &= ~_lacks_total(usable, numbers)
        usable = usable_sizes(size, usable)
        what = "memory rows ([memory]) without a usable ts, tid, device, size or total are left out"
        integrity.add_places("memory_row_broken", what, position[~usable])
        rows = np.flatnonzero(usable)
        rows = rows[np.lexsort((position[rows], at[rows]))]
        columns: dict[str, pa.Array[Any]] = {
            "source_index": pa.array(position[rows]),
            "at_ns": pa.array(at[rows]),
            **{name: column.filled("").take(rows).arrow() for name, column in text.items()},
            **{name: pa.array(known[0][rows], mask=~known[1][rows]) for name, known in numbers.items()},
        }
        return table_in(MEMORY_SCHEMA, columns)


def _lacks_total(usable: Flags, numbers: dict[str, tuple[Ints, Flags]]) -> Flags:
    """Flag rows that do not state what is allocated on their device although others of it do."""
    devices, place = distinct_pairs(numbers["device_type"][0], numbers["device"][0])
    stated = numbers["allocated"][1]
    states = np.zeros(len(devices), dtype=bool)
    states[place[usable & stated]] = True
    lacks: Flags = states[place] & ~stated
    return lacks
