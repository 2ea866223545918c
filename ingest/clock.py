"""Rule 7: the GPU's clock against the CPU's, within one rank, by causality."""

import numpy as np

from tracegraph.ingest.dependencies.synchronization import HostWaits
from tracegraph.ingest.events import Events
from tracegraph.ingest.integrity import Integrity
from tracegraph.ingest.launches import Launches

NARROW_NS = 50_000


def gpu_clock_offset(events: Events, launches: Launches, waits: HostWaits, integrity: Integrity) -> int:
    """ns to add to all GPU rows so that no work precedes its call and no awaited end follows the return.

    0 where the file is consistent. Where it is not and the interval of consistent offsets is narrower than
    50 µs, its middle; a wide or an empty one leaves the clock as it is. `integrity` is told either way.
    """
    work = np.flatnonzero(launches.call >= 0)
    early = events.start[launches.call[work]] - events.start[work]
    late = (events.end[waits.call] - events.end[waits.work])[waits.recorded]
    least = int(early.max()) if len(early) else None
    most = int(late.min()) if len(late) else None
    if (least is None or least <= 0) and (most is None or most >= 0):
        return 0
    count = int((early > 0).sum() + (late < 0).sum())
    if least is not None and most is not None and least <= most < least + NARROW_NS:
        offset = (least + most) // 2
        integrity.add("gpu_clock_shifted", "info", count, f"GPU rows contradict the CPU's: moved by {offset} ns")
        return offset
    extent = f"offsets from {least} to {most} ns would be consistent"
    integrity.add("gpu_clock_inconsistent", "warning", count, f"GPU rows precede their calls; {extent}")
    return 0
