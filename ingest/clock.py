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
    50 µs and near 0, its middle (its known bound where only one is known); a wide or an empty interval leaves
    the clock as it is. `integrity` is told either way.
    """
    work = np.flatnonzero(launches.call >= 0)
    early = events.start[launches.call[work]] - events.start[work]
    late = (events.end[waits.call] - events.end[waits.work])[waits.certain]
    least = int(early.max()) if len(early) else min(0, int(late.min(initial=0)))
    most = int(late.min()) if len(late) else max(0, least)
    if least <= 0 <= most:
        return 0
    count = int((early > 0).sum() + (late < 0).sum())
    if least <= most < least + NARROW_NS and abs(least) < NARROW_NS:
        offset = (least + most) // 2
        message = f"GPU rows contradict the CPU's order of events: all are moved by {offset} ns"
        integrity.add("gpu_clock_shifted", "warning", count, message)
        return offset
    message = (
        f"GPU rows contradict the CPU's order of events; offsets from {least} to {most} ns would mend it"
    )
    integrity.add("gpu_clock_inconsistent", "warning", count, message)
    return 0
