"""The work of a rank's GPUs with its clock put right: launches, queues, and what calls wait for."""

from dataclasses import dataclass

from tracegraph.ingest.causal.clock import GpuClock, gpu_clock
from tracegraph.ingest.causal.events import Events
from tracegraph.ingest.causal.launches import Launches, Streams, match_launches, order_streams
from tracegraph.ingest.causal.rules.synchronization import (
    HostWaits,
    SyncRows,
    find_host_waits,
    find_sync_rows,
)
from tracegraph.ingest.integrity.findings import Integrity


@dataclass(frozen=True)
class Aligned:
    """`events` on the CPU's clock, and what calls have to do with GPU work; `clock`: what was added."""

    events: Events
    launches: Launches
    streams: Streams
    rows: SyncRows
    host_waits: HostWaits
    clock: GpuClock


def align(events: Events, since_ns: int, integrity: Integrity) -> Aligned:
    """Match launches and waits, and put the GPU's clock right by them; it is told from `since_ns` on."""
    rows = find_sync_rows(events)
    found = _match(events, rows, GpuClock())
    clock = gpu_clock(events, found.launches, found.host_waits, since_ns, integrity)
    # What work a call launched or can have waited for depends on the clock.
    return found if clock == GpuClock() else _match(clock.put_right(events), rows, clock)


def _match(events: Events, rows: SyncRows, clock: GpuClock) -> Aligned:
    launches = match_launches(events)
    streams = order_streams(events, launches)
    host_waits = find_host_waits(events, launches, streams, rows)
    return Aligned(events, launches, streams, rows, host_waits, clock)
