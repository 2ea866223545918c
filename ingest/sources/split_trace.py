"""A file of several ranks as a trace for each."""

import pyarrow as pa
import pyarrow.compute as pc

from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.sources.merged_ranks import Merged
from tracegraph.ingest.trace import TraceFile


def split(trace: TraceFile, merged: Merged) -> list[TraceFile]:
    """A file for each rank: its rows, and of what stands beside them what is of its processes."""
    assert merged.of_row is not None
    return [_part(trace, merged, merged.of_row == k, k) for k in range(len(merged.numbers))]


def _part(trace: TraceFile, merged: Merged, mine: Flags, place: int) -> TraceFile:
    events = trace.events.filter(pa.array(mine))
    processes = pa.array(events["pid"].unique().cast(pa.string()).to_pylist(), pa.string())
    flows, memory = (
        table.filter(pc.is_in(table["pid"].cast(pa.string()), processes))
        for table in (trace.flows, trace.memory)
    )
    known = pc.is_in(trace.counters["source_index"], events["source_index"].combine_chunks())
    count = len(merged.numbers)
    return TraceFile(
        path=trace.path,
        sha256=trace.sha256,
        rank=merged.numbers[place],
        events=events,
        flows=flows,
        memory=memory,
        thread_names=trace.thread_names,
        process_names=trace.process_names,
        devices=trace.devices,
        device_memory=trace.device_memory,
        versions=trace.versions,
        other_phases={},
        rank_stated=True,
        world_size=trace.world_size if trace.world_size is None or trace.world_size >= count else None,
        counters=trace.counters.filter(known),
        part=merged.names[place],
    )
