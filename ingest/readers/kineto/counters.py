"""Collects the hardware counters that ranges of the profiler hold."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tracegraph.ingest.readers.growing_columns import GrowingTexts
from tracegraph.ingest.readers.kineto.entry_decoding import Event, decode_counters
from tracegraph.ingest.trace import COUNTER_SCHEMA, table_in
from tracegraph.vocabulary.categories import Role, spellings_of

_RANGES = spellings_of(Role.RANGE)
_PLACES = frozenset(("device", "context", "stream", "correlation", "External id", "external id", "Ev Idx"))
"""Numbers of a range that say where it was, not what was counted."""


class CounterCollector:
    """Grows batch by batch; `finish` gives the table."""

    def __init__(self) -> None:
        self._positions: list[int] = []
        self._names = GrowingTexts()
        self._values: list[float] = []

    def add(self, events: Sequence[Event], positions: Sequence[int]) -> None:
        """Append the counters of those that are ranges; `positions`: their places in the file's list."""
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
        """Table in COUNTER_SCHEMA; a name of more than `longest` characters is cut there."""
        columns = {
            "source_index": pa.array(np.array(self._positions, dtype=np.int64)),
            "name": self._names.column().cut(longest)[0].arrow(),
            "value": pa.array(self._values, pa.float64()),
        }
        return table_in(COUNTER_SCHEMA, columns)
