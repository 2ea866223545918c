"""From the batches of any document to a `TraceFile`."""

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tracegraph.ingest.integrity import Integrity
from tracegraph.ingest.readers import kinds
from tracegraph.ingest.readers.checks import check_trace
from tracegraph.ingest.readers.decode import decode_events
from tracegraph.ingest.readers.document import Batch, Document
from tracegraph.ingest.readers.durations import DurationCollector
from tracegraph.ingest.readers.events import build_events
from tracegraph.ingest.readers.flows import PHASES, FlowCollector, NameCollector
from tracegraph.ingest.trace import TraceFile
from tracegraph.store.errors import InputError


class _Collector:
    """Sorts the entries of each batch by their phase."""

    def __init__(self) -> None:
        self.durations = DurationCollector()
        self.flows = FlowCollector()
        self.names = NameCollector()
        self.others: Counter[str] = Counter()
        self.no_objects: list[int] = []

    def add(self, batch: Batch) -> None:
        """Append the entries of a batch."""
        events = decode_events(batch.texts)
        durations, flows = [], []
        for k, event in enumerate(events):
            if event is None:
                self.no_objects.append(batch.positions[k])
            elif event.ph in ("X", "B", "E"):
                if event.cat != kinds.SPAN:
                    durations.append((k, event))
            elif event.ph in PHASES:
                flows.append((k, event))
            else:
                self.others[event.ph or ""] += 1
                if event.ph == "M":
                    self.names.add(event)
        positions = np.array(batch.positions, dtype=np.int64)
        self.durations.add(
            [event for _, event in durations],
            [batch.texts[k] for k, _ in durations],
            positions[np.array([k for k, _ in durations], dtype=np.int64)],
        )
        self.flows.add([event for _, event in flows], [batch.texts[k] for k, _ in flows])


def build_trace(path: Path, sha256: str, document: Document, integrity: Integrity) -> TraceFile:
    """Columns of a document; InputError when no event with a duration is left."""
    collector = _Collector()
    with _collection_paused():
        for batch in document.batches():
            collector.add(batch)
    facts = document.facts()
    lost = collector.no_objects
    if lost:
        message = f"entries that are no objects are skipped, the first at source index {lost[0]}"
        integrity.add("entry_not_object", "warning", len(lost), message)
    events = build_events(collector.durations.finish(), integrity)
    if not events.num_rows:
        raise InputError(
            f"{path} holds no event with a duration", "record the trace again with at least one active step"
        )
    trace = TraceFile(
        path=str(path),
        sha256=sha256,
        rank=facts.rank or 0,
        events=events,
        flows=collector.flows.finish(integrity),
        thread_names=collector.names.threads,
        process_names=collector.names.processes,
        devices=facts.devices,
        versions=facts.versions,
        other_phases=dict(sorted(collector.others.items())),
    )
    check_trace(trace, facts.rank is not None, integrity)
    return trace


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Millions of young objects that hold no cycles: collecting them is time lost."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
