"""Collect the hardware counters of ranges from batches into a table."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tracegraph.ingest.readers.growing_columns import GrowingTexts
from tracegraph.ingest.readers.kineto.entry_decoding import Event, decode_counters
from tracegraph.ingest.trace import COUNTER_SCHEMA, table_in
from tracegraph.vocabulary.categories import Role, spellings_of

_RANGES = spellings_of(Role.RANGE)
_PLACES = frozenset(("device", "context", "stream", "correlation", "External id", "external id", "Ev Idx"))
"""Numbers of a range that say where it was, not what it counted."""


class CounterCollector:
    """Grows batch by batch; `finish` gives the table."""

    def __init__(self) -> None:
        self._positions: list[int] = []
        self._names = GrowingTexts()
        self._values: list[float] = []

    def add(self, events: Sequence[Event], positions: Sequence[int]) -> None:
        """Append the counters of those events that are ranges, with their positions in the file's list."""
        names: list[str] = []
        for k in [k for k, event in enumerate(events) if event.cat in _RANGES]:
            found = {
                name: value for name, value in decode_counters(events[k].args).items() if name not in _PLACES
            }
            names += found
            self._values += found.values()
            self._positions += [positions[k]] * len(found)
        self._names.extend(names)

    def append(self, other: "CounterCollector") -> None:
        """Append the counters of another collector."""
        self._positions += other._positions
        self._names.append(other._names)
        self._values += other._values

    def finish(self, longest: int) -> pa.Table:
        """Make a table in COUNTER_SCHEMA; a name of more than `longest` characters is cut there."""
        columns = {
            "source_index": pa.array(np.array(self._positions, dtype=np.int64)),
            "name": self._names.column().cut(longest)[0].arrow(),
            "value": pa.array(self._values, pa.float64()),
        }
        return table_in(COUNTER_SCHEMA, columns)
