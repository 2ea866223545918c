"""From the batches of any document to a `TraceFile`."""

import numpy as np

from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.kineto.device_lanes import read_device_lanes
from tracegraph.ingest.readers.kineto.document import Document
from tracegraph.ingest.readers.kineto.entries import collect_entries
from tracegraph.ingest.readers.kineto.event_table import build_events
from tracegraph.ingest.readers.kineto.host_layers import read_layers
from tracegraph.ingest.readers.kineto.lane_facts import foreign_rows
from tracegraph.ingest.readers.source_file import SourceFile
from tracegraph.ingest.trace import TraceFile


def build_trace(source: SourceFile, document: Document, integrity: Integrity) -> TraceFile:
    """Build the columns of a document; InputError if it holds too many entries."""
    collector = collect_entries(source.path, document, integrity.limits)
    facts = document.facts()
    collector.state_odd(integrity)
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
