"""Calls of a report into the operating system: those in which a thread waits, and those that are work."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.intervals import Spans, covered
from tracegraph.ingest.readers.event_rows import EventRows
from tracegraph.ingest.readers.nsight.report import SYSTEM_CALLS, Report, thread_of
from tracegraph.vocabulary.categories import Role, names_of
from tracegraph.vocabulary.runtime_calls import waits_in_system

(_WORK,), (_WAIT,) = names_of(Role.SYSTEM_CALL), names_of(Role.SYSTEM_WAIT)


def read_system_calls(report: Report, calls: Sequence[EventRows]) -> list[EventRows]:
    """Read what threads called besides CUDA; what calls into CUDA do in the system belongs to them."""
    rows = report.rows(SYSTEM_CALLS, "globalTid", ("start", "end", "globalTid", "nameId"))
    pid = np.full(rows.count, report.pid)
    thread = thread_of(rows["globalTid"])
    name = report.names(rows["nameId"])
    found = EventRows(_WORK, name, rows["start"], rows["end"], pid, thread)
    found = found.take(~_inside(found, calls))
    waits = found.name.matching(
        np.array([waits_in_system(text or "") for text in found.name.values], dtype=bool)
    )
    return [found.take(~waits), replace(found.take(waits), category=_WAIT)]


def _inside(found: EventRows, calls: Sequence[EventRows]) -> Flags:
    """Tell which rows lie within the calls into CUDA of their thread."""
    mine = Spans(found.inner, found.start, found.end)
    columns = [np.concatenate([getattr(one, name) for one in calls]) for name in ("inner", "start", "end")]
    usable = (columns[1] != NONE) & (columns[2] >= columns[1])
    theirs = Spans(*(column[usable] for column in columns))
    lasting = (found.start != NONE) & (found.end > found.start)
    inside: Flags = lasting & (covered(mine, theirs) == found.end - found.start)
    return inside
