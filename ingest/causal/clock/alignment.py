"""Puts the GPU's clock right, and joins calls with the GPU work that they launched or waited for."""

from dataclasses import dataclass

from tracegraph.ingest.causal.clock.clock import GpuClock, gpu_clock
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.launches.awaited_work import (
    HostWaits,
    SyncRows,
    find_host_waits,
    find_sync_rows,
)
from tracegraph.ingest.causal.launches.launches import Launches, Streams, match_launches, order_streams
from tracegraph.ingest.integrity_findings import Integrity


@dataclass(frozen=True)
class Aligned:
    """Events on the CPU's clock, and which GPU work calls launched or waited for; `clock`: what was added."""

    events: Events
    launches: Launches
    streams: Streams
    sync_rows: SyncRows
    host_waits: HostWaits
    clock: GpuClock


def align(events: Events, since_ns: int, integrity: Integrity) -> Aligned:
    """Match launches and waits, and put the GPU's clock right by them; its drift counts from `since_ns`."""
    launches, rows = match_launches(events), find_sync_rows(events)
    found = _on_clock(GpuClock(), events, launches, rows)
    clock = gpu_clock(events, launches, found.host_waits, since_ns, integrity)
    # Which work a call can have waited for depends on the clock, so the waits are found again.
    return found if clock == GpuClock() else _on_clock(clock, clock.put_right(events), launches, rows)


def _on_clock(clock: GpuClock, events: Events, launches: Launches, rows: SyncRows) -> Aligned:
    streams = order_streams(events, launches)
    host_waits = find_host_waits(events, launches, streams, rows, clock.moves(events.end))
    return Aligned(events, launches, streams, rows, host_waits, clock)
