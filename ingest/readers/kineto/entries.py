"""Collect the entries of a document by what they are: durations, flows, memory rows, names, and others."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import compress
from pathlib import Path

import numpy as np

from tracegraph.base.copies import count_at_once, in_copy
from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.readers.chrome_text import Batch, RawEntry
from tracegraph.ingest.readers.kineto.counter_rows import CounterCollector
from tracegraph.ingest.readers.kineto.document import Document
from tracegraph.ingest.readers.kineto.duration_columns import DURATIONS, DurationCollector
from tracegraph.ingest.readers.kineto.entry_decoding import Event, decode_events
from tracegraph.ingest.readers.kineto.flow_rows import FLOWS, FlowCollector
from tracegraph.ingest.readers.kineto.memory_rows import MemoryCollector, is_memory_row
from tracegraph.ingest.readers.kineto.thread_names import NameCollector
from tracegraph.vocabulary.categories import SPAN

_NO_OBJECT, _DURATION, _SPAN, _FLOW, _MEMORY, _OTHER = range(6)
_OF_PHASE = {**dict.fromkeys(DURATIONS, _DURATION), **dict.fromkeys(FLOWS, _FLOW)}
_LEAST = 2
"""Batches from which on a process of its own pays."""
_MOST = 4
"""Processes of which more gain nothing: what they found has to come back to one."""


class EntryCollector:
    """Grows batch by batch, or by all that another one holds."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.durations = DurationCollector()
        self.flows = FlowCollector()
        self.memory = MemoryCollector()
        self.counters = CounterCollector()
        self.names = NameCollector()
        self.others: Counter[str] = Counter()
        self._odd: dict[str, list[int]] = {"long": [], "repaired": [], "no object": []}

    def add(self, batch: Batch) -> None:
        """Append the entries of a batch."""
        batch = self._without_long(batch)
        events, repaired = decode_events(batch.texts)
        self._odd["repaired"] += [batch.positions[k] for k in repaired if events[k] is not None]
        kinds = np.fromiter(map(_kind, events), np.int8, len(events))
        self._odd["no object"] += [batch.positions[k] for k in np.flatnonzero(kinds == _NO_OBJECT).tolist()]
        durations = _chosen(batch, events, kinds == _DURATION)
        self.durations.add(*durations)
        self.counters.add(durations[0], durations[2])
        self.flows.add(*_chosen(batch, events, kinds == _FLOW))
        self.memory.add(*_chosen(batch, events, kinds == _MEMORY))
        for event in _chosen(batch, events, kinds == _OTHER)[0]:
            self.others[event.ph or ""] += 1
            if event.ph == "M":
                self.names.add(event)

    def append(self, other: "EntryCollector") -> None:
        """Append the entries of another collector."""
        self.durations.append(other.durations)
        self.flows.append(other.flows)
        self.memory.append(other.memory)
        self.counters.append(other.counters)
        self.names.append(other.names)
        self.others.update(other.others)
        for name, positions in self._odd.items():
            positions.extend(other._odd[name])

    def _without_long(self, batch: Batch) -> Batch:
        """Keep the entries within the limit of length: a decoded entry takes many times its length."""
        most = self._limits.entry
        if max(map(len, batch.texts), default=0) <= most:
            return batch
        entries = list(zip(batch.texts, batch.positions, strict=True))
        self._odd["long"] += [position for text, position in entries if len(text) > most]
        kept = [(text, position) for text, position in entries if len(text) <= most]
        return Batch([text for text, _ in kept], [position for _, position in kept])

    def state_odd(self, integrity: Integrity) -> None:
        """Record the entries that were too long, no events, or not as expected."""
        what = f"events of over {self._limits.entry:,} bytes are skipped"
        integrity.add_places("event_broken", what, self._odd["long"])
        what = "entries that are no objects are skipped"
        integrity.add_places("entry_not_object", what, self._odd["no object"])
        what = "events hold fields of another type or text that is no UTF-8"
        integrity.add_places("event_repaired", what, self._odd["repaired"])


def _kind(event: Event | None) -> int:
    if event is None:
        return _NO_OBJECT
    kind = _OF_PHASE.get(event.ph or "")
    if kind is None:
        return _MEMORY if is_memory_row(event) else _OTHER
    return _SPAN if kind == _DURATION and event.cat == SPAN else kind


def _chosen(
    batch: Batch, events: Sequence[Event | None], rows: Flags
) -> tuple[list[Event], list[RawEntry], list[int]]:
    """Return the flagged entries: decoded, their sources, and their places in the file's list."""
    chosen = rows.tolist()
    return (
        [event for event in compress(events, chosen) if event is not None],
        list(compress(batch.texts, chosen)),
        list(compress(batch.positions, chosen)),
    )


def collect_entries(path: Path, document: Document, limits: Limits) -> EntryCollector:
    """Collect the entries of all batches; on return nothing holds the text any more.

    Raises
    ------
    InputError
        There are more entries than the limits allow.
    """
    batches = document.batches()
    shares = min(count_at_once(), _MOST, len(batches) // _LEAST) if isinstance(batches, Sequence) else 1
    if shares < 2 or not isinstance(batches, Sequence):
        return _collected(path, batches, limits)

    # Entries of one category stand together, and take longer than others: each process gets some of all.
    def share(number: int) -> list[EntryCollector]:
        return [_collected(path, [batch], limits) for batch in batches[number::shares]]

    with ExitStack() as stack:
        copies = [stack.enter_context(in_copy(partial(share, number))) for number in range(1, shares)]
        found = [share(0), *(copy() for copy in copies)]
    collector = EntryCollector(limits)
    for number in range(len(batches)):
        collector.append(found[number % shares][number // shares])
    return collector


def _collected(path: Path, batches: Iterable[Batch], limits: Limits) -> EntryCollector:
    collector = EntryCollector(limits)
    for batch in batches:
        if batch.positions:
            limits.check_events(path, batch.positions[-1] + 1)
        collector.add(batch)
    return collector
