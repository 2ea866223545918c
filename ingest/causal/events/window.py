"""The window of a run: what its critical path tiles."""

from dataclasses import dataclass

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.events.lanes import Lanes


@dataclass(frozen=True)
class Window:
    """The stretch of time that the critical path tiles; ns."""

    start: int
    end: int


def find_window(events: Events, lanes: Lanes) -> Window:
    """Find the window: from the first start to the last end of events that last, on lanes that matter.

    If no such event is on a lane that matters, those of all lanes count.

    Raises
    ------
    InputError
        No event of the trace has a duration.
    """
    lasting = (events.on_thread | events.is_gpu) & (events.end > events.start)
    counted = lasting & lanes.matters[events.lane]
    if not counted.any():
        counted = lasting
    if not counted.any():
        raise InputError("the trace holds no event with a duration", "record at least one profiled step")
    return Window(int(events.start[counted].min()), int(events.end[counted].max()))
